"""What is counted of the indexes of joins, and of how they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from eddy.errors import clip
from eddy.observe.text import align_columns, plural

OTHERS = "others"
"""The name of key maps that are counted together."""

MOST_INDEXES = 32
"""Key maps of an input that are told apart in one micro-batch, those with the most probes; the others are one more."""

MOST_TUNINGS = 8
"""Decisions about an input that a state keeps for people: the latest."""

WORK = ("probes", "lookups", "ranges", "candidates", "matches", "sorted_rows", "predicted", "observed")
"""What is counted of a micro-batch; all else of a key map is as it stands at its end."""

MOST_LINES = 12
"""Lines of key maps, or of decisions, that people are shown."""

WIDEST = 48
"""Characters of a key map, or of the columns by which it is searched, in such a line."""

STANDING = ("segments", "parts", "rows", "nbytes")


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexCount:
    """One key map of one input in one micro-batch.

    `map` is the key map in words, or "scan". `segments` are those of the rows that it may serve, `parts` the indexes
    that they have become together. `patterns` are those that it has served, `probes` the tuples that searched by it,
    `lookups` those times the parts that each of them looked into, `ranges` the runs of rows that were found there,
    `candidates` their rows and `matches` those that were verified. `sorted_rows` is the rows put in order for it.
    `predicted` and `observed` are the price of its work, by what was expected and by what was counted. `by_pattern` are
    the candidates of each of the patterns.
    """

    input: str
    map: str
    segments: int = 0
    parts: int
    rows: int
    nbytes: int
    patterns: tuple[str, ...]
    probes: int
    lookups: int
    ranges: int
    candidates: int
    matches: int
    sorted_rows: int
    predicted: float
    observed: float
    # A state of an older version has none.
    by_pattern: tuple[int, ...] = ()


INDEX_FIELDS = tuple(field.name for field in fields(IndexCount))


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """A decision about the key maps of one input.

    `number` counts the decisions about it: one that is told again has the same, and what is known of it by then. `why`
    names the schedule that asked for it, or says that an earlier one is taken back. `predicted` and `observed`
    are shares of the work that it was to save, and has saved: `predicted` is None where there was no choice, since the
    kind of indexes was asked for or it is only a note, and `observed` as long as it is not known.
    `migrated` counts the rows put in order again, `patterns` those that were tracked.
    """

    input: str
    why: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    predicted: float | None
    observed: float | None
    migrated: int
    patterns: int
    number: int = 0


class LateCounts(Sequence[IndexCount]):
    """Counts that are written down when somebody reads them: most micro-batches are in no report."""

    def __init__(self, write: Callable[[], list[IndexCount]]) -> None:
        self._write = write
        self._written: list[IndexCount] | None = None

    def __len__(self) -> int:
        return len(self._list())

    def __getitem__(self, place: Any) -> Any:
        return self._list()[place]

    def _list(self) -> list[IndexCount]:
        if self._written is None:
            self._written = self._write()
        return self._written


class Indexed(NamedTuple):
    """What key maps have done in a micro-batch, and the decisions about them that are new or better known."""

    counts: Sequence[IndexCount] = ()
    tunings: Sequence[Tuning] = ()


def keep_largest(counts: Iterable[IndexCount]) -> list[IndexCount]:
    """Keep the key maps of each input that served most; the others are one."""
    kept: dict[str, list[IndexCount]] = {}
    rest: dict[str, list[IndexCount]] = {}
    for count in sorted(counts, key=lambda count: -count.probes):
        known = kept.setdefault(count.input, [])
        (known if len(known) < MOST_INDEXES else rest.setdefault(count.input, [])).append(count)
    added = {name: _add([replace(count, map=OTHERS) for count in counts]) for name, counts in rest.items()}
    return [count for name, known in kept.items() for count in (*known, *([added[name]] if name in added else []))]


def sum_indexes(came: Collection[Sequence[IndexCount]], known: Iterable[Sequence[IndexCount]]) -> list[IndexCount]:
    """Add up the counts of cells, by input and key map.

    `came` are those of the cells that had rows in the micro-batch; of all that are `known` the indexes still stand.
    """
    no_work: dict[str, Any] = {**dict.fromkeys(WORK, 0), "by_pattern": ()}
    no_rows: dict[str, Any] = dict.fromkeys(STANDING, 0)
    idle = [replace(count, **no_work) for part in known for count in part]
    busy = [replace(count, **no_rows) for part in came for count in part]
    found: dict[tuple[str, str], list[IndexCount]] = {}
    for count in (*idle, *busy):
        found.setdefault((count.input, count.map), []).append(count)
    return [_add(same) for same in found.values()]


def latest_indexing(
    before: Mapping[str, Any], indexes: Sequence[IndexCount], tunings: Sequence[Tuning], batch: int
) -> dict[str, Any]:
    """Give the last counts of each input, and its last decisions, as JSON can hold them.

    Decisions are told with the micro-batch in which they were first heard of.
    """
    found = dict(before)
    own: dict[str, list[IndexCount]] = {}
    for count in indexes:
        own.setdefault(count.input, []).append(count)
    for name, counts in own.items():
        rows = write_indexes(counts)
        found[name] = {"tunings": [], **found.get(name, {}), "batch": batch, "indexes": rows}
    for tuning in tunings:
        known = found.get(tuning.input, {"batch": batch, "indexes": [], "tunings": []})
        same = [when for when, row in known["tunings"] if _read_tuning(row).number == tuning.number]
        others = [[when, row] for when, row in known["tunings"] if _read_tuning(row).number != tuning.number]
        rows = [*others, [min(same, default=batch), *write_tunings([tuning])]]
        found[tuning.input] = {**known, "tunings": rows[-MOST_TUNINGS:]}
    return found


def read_latest(
    latest: Mapping[str, Any],
) -> tuple[list[IndexCount], list[tuple[int, Tuning]]]:
    """Read what `latest_indexing` gave: the counts, and the decisions with their micro-batches."""
    indexes = [count for known in latest.values() for count in read_indexes(known["indexes"])]
    tunings = [(when, _read_tuning(row)) for known in latest.values() for when, row in known["tunings"]]
    return indexes, tunings


def check_latest(latest: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a state has kept, if it can be read."""
    read_latest(latest)
    return dict(latest)


def write_indexes(counts: Iterable[IndexCount]) -> list[list[Any]]:
    """Write counts as JSON can hold them."""
    # The values are plain, so they need not be copied one by one, as `astuple` does.
    return [[getattr(count, name) for name in INDEX_FIELDS] for count in counts]


def read_indexes(rows: Iterable[Sequence[Any]]) -> list[IndexCount]:
    """Read what `write_indexes` wrote."""
    *names, by_pattern = INDEX_FIELDS
    found = []
    for row in rows:
        known = [*names, by_pattern] if len(row) > len(names) else names
        count = IndexCount(**dict(zip(known, row, strict=True)))
        found.append(replace(count, patterns=tuple(count.patterns), by_pattern=tuple(count.by_pattern)))
    return found


def write_tunings(tunings: Iterable[Tuning]) -> list[list[Any]]:
    """Write decisions as JSON can hold them."""
    return [list(astuple(tuning)) for tuning in tunings]


def read_tunings(rows: Iterable[Sequence[Any]]) -> list[Tuning]:
    """Read what `write_tunings` wrote."""
    return [_read_tuning(row) for row in rows]


def _read_tuning(row: Sequence[Any]) -> Tuning:
    read = Tuning(**dict(zip([field.name for field in fields(Tuning)], row, strict=True)))
    return replace(read, before=tuple(read.before), after=tuple(read.after))


def _add(same: Sequence[IndexCount]) -> IndexCount:
    sums: dict[str, Any] = {name: sum(getattr(one, name) for one in same) for name in (*STANDING, *WORK)}
    found: dict[str, int] = {}
    for one in same:
        for text, candidates in zip_longest(one.patterns, one.by_pattern[: len(one.patterns)], fillvalue=0):
            found[str(text)] = found.get(str(text), 0) + int(candidates)
    return replace(same[0], **sums, patterns=tuple(found), by_pattern=tuple(found.values()))


def total_indexes(batches: Iterable[Sequence[IndexCount]]) -> list[IndexCount]:
    """Add up what key maps have done in all micro-batches; how they stand is that of the last."""
    found: dict[tuple[str, str], IndexCount] = {}
    no_rows: dict[str, Any] = dict.fromkeys(STANDING, 0)
    for counts in batches:
        found = {key: replace(count, **no_rows) for key, count in found.items()}
        for count in counts:
            key = (count.input, count.map)
            found[key] = _add([count, found[key]]) if key in found else count
    return list(found.values())


def collect_tunings(batches: Iterable[tuple[int, Sequence[Tuning]]]) -> list[tuple[int, Tuning]]:
    """List decisions, each with its micro-batch and with all that became known of it."""
    found: dict[tuple[str, int], tuple[int, Tuning]] = {}
    for batch, tunings in batches:
        for tuning in tunings:
            key = (tuning.input, tuning.number)
            found[key] = (found[key][0] if key in found else batch, tuning)
    return list(found.values())


def list_indexes(counts: Sequence[IndexCount]) -> Iterator[str]:
    """Write the key maps of each input, those that served most first; nothing where there are none."""
    if not counts:
        return
    rows = [["input", "found by", "searched by", "parts", "rows", "bytes", "probes", "candidates", "matches"]]
    shown = sorted(counts, key=lambda count: (count.input, -count.probes))
    for c in shown[:MOST_LINES]:
        numbers = (c.parts, c.rows, c.nbytes, c.probes, c.candidates, c.matches)
        rows.append([c.input, clip(c.map, WIDEST), clip("; ".join(c.patterns), WIDEST), *(f"{n:,}" for n in numbers)])
    yield from ("", "how stored rows were found", *align_columns(rows, "<<<>>>>>>"))
    if len(shown) > MOST_LINES:
        yield f"  {plural(len(shown) - MOST_LINES, 'more index', 'more indexes')}"


def list_tunings(tunings: Sequence[tuple[int, Tuning]]) -> Iterator[str]:
    """Write the latest decisions about key maps; nothing where there are none."""
    if not tunings:
        return
    rows = [["micro-batch", "input", "why", "to save", "has saved", "found by, from then on"]]
    for batch, t in sorted(tunings, key=lambda told: told[0])[-MOST_LINES:]:
        to_save, saved = ("" if share is None else f"{share:.0%}" for share in (t.predicted, t.observed))
        after = clip("; ".join(t.after), 2 * WIDEST)
        rows.append([f"{batch}", t.input, clip(t.why, WIDEST), to_save, saved, after])
    last = f", the last {MOST_LINES} of {len(tunings)}" if len(tunings) > MOST_LINES else ""
    yield from ("", f"decisions about indexes{last}", *align_columns(rows, "><<>><"))
