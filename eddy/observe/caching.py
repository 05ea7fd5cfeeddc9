"""What is counted of caches, which have parts of a join ready-made, and where they stand in pipelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

from eddy.observe.insight import CacheNote

STANDING = ("keys", "combinations", "nbytes")
"""What a cache has at the end of a micro-batch; all else is counted in it."""

NAMES = ("cache", "key")

ARROW = " > "


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheCount:
    """One cache in one micro-batch.

    `cache` names the inputs that it has combinations of, and `key` the columns by which tuples look them up. Of its
    `look_ups` as many as there are `hits` found a key that was held. `filled` keys were found anew, and `refused` ones
    had too many candidates. `fresh` rows came that it was kept up with, in `seconds`; the combinations of `tapped` ones
    of these had passed anyway. `keys` are held at the end, with so many `combinations`, in `nbytes`.
    """

    cache: str
    key: str
    look_ups: int = 0
    hits: int = 0
    filled: int = 0
    refused: int = 0
    fresh: int = 0
    tapped: int = 0
    seconds: float = 0.0
    keys: int = 0
    combinations: int = 0
    nbytes: int = 0


def write_caches(counts: Sequence[CacheCount]) -> list[list[Any]]:
    """Write counts as plain values."""
    return [list(astuple(count)) for count in counts]


def read_caches(rows: Sequence[Sequence[Any]]) -> list[CacheCount]:
    """Read what `write_caches` wrote; versions without caches wrote nothing."""
    names = [field.name for field in fields(CacheCount)]
    return [CacheCount(**dict(zip(names, row, strict=True))) for row in rows]


def sum_caches(came: Collection[Sequence[CacheCount]], known: Collection[Sequence[CacheCount]]) -> list[CacheCount]:
    """Add up the caches of cells: what was done in those that were called, and what stands in all.

    >>> one = CacheCount(cache="b, c", key="b.k", hits=2, keys=5)
    >>> [(sum.hits, sum.keys) for sum in sum_caches([[one]], [[one], [one]])]
    [(2, 10)]
    """
    sums: dict[tuple[str, str], CacheCount] = {}
    work = [field.name for field in fields(CacheCount) if field.name not in (*STANDING, *NAMES)]
    for counts, names in ((known, STANDING), (came, tuple(work))):
        for count in (count for part in counts for count in part):
            own = sums.setdefault((count.cache, count.key), CacheCount(cache=count.cache, key=count.key))
            more = {name: getattr(own, name) + getattr(count, name) for name in names}
            sums[count.cache, count.key] = replace(own, **more)
    return list(sums.values())


def write_notes(notes: Iterable[CacheNote]) -> list[list[Any]]:
    """Write notes as plain values."""
    return [[*note[:4], list(note.route), *note[5:]] for note in notes]


def read_notes(rows: Sequence[Sequence[Any]]) -> list[CacheNote]:
    """Read what `write_notes` wrote."""
    return [CacheNote._make([*row[:4], tuple(row[4]), *row[5:]]) for row in rows]


def sum_notes(parts: Iterable[Sequence[CacheNote]]) -> list[CacheNote]:
    """Add up the notes of cells: what a cache saves and costs in all, and the state that it is in most often.

    >>> note = CacheNote("t", "cached_r_s", "r, s", "s.k", ("probe_s", "probe_r"), "used", 2.0, 1.0, "it saves")
    >>> [(sum.benefit, sum.cost) for sum in sum_notes([[note], [note]])]
    [(4.0, 2.0)]
    """
    known: dict[tuple[str, str, str], list[CacheNote]] = {}
    for note in (note for part in parts for note in part):
        known.setdefault((note.stream, note.operator, note.key), []).append(note)
    return [_sum_note(notes) for notes in known.values()]


def _sum_note(notes: Sequence[CacheNote]) -> CacheNote:
    (state, _), *_ = Counter(note.state for note in notes).most_common(1)
    usual = next(note for note in notes if note.state == state)
    benefit, cost = (sum(values) for values in zip(*((note.benefit, note.cost) for note in notes), strict=True))
    return usual._replace(benefit=benefit, cost=cost)


def judge_cache(count: CacheCount, notes: Sequence[CacheNote]) -> dict[str, Any]:
    """Say what a policy thinks of a cache, over all streams that may ask it."""
    own = [note for note in notes if (note.cache, note.key) == (count.cache, count.key)]
    return {
        "state": ", ".join(f"{note.stream}: {note.state}" for note in own),
        "benefit": float(sum(note.benefit for note in own)),
        # Whoever asks it, it is kept up once.
        "cost": float(max((note.cost for note in own), default=0.0)),
        "why": "; ".join(dict.fromkeys(note.why for note in own)),
    }


def list_pipelines(
    routes: Mapping[str, Sequence[str]], notes: Sequence[CacheNote], counts: Sequence[CacheCount]
) -> Iterator[str]:
    r"""Draw the pipeline of each stream, and below it the caches that may stand in it.

    >>> note = CacheNote("t", "cached_r_s", "r, s", "s.k", ("probe_s", "probe_r"), "used", 2.0, 1.0, "it saves")
    >>> count = CacheCount(cache="r, s", key="s.k", look_ups=8, hits=4, nbytes=2_000)
    >>> print("\n".join(list_pipelines({"t": ["cached_r_s"]}, [note], [count])))
    <BLANKLINE>
    pipelines and their caches
      t > cached_r_s
        cached_r_s by s.k, for probe_s > probe_r: used, it saves; 8 look-ups, 50% hits, 2,000 bytes
    """
    yield from ("", "pipelines and their caches")
    for stream in dict.fromkeys([*routes, *(note.stream for note in notes)]):
        yield f"  {ARROW.join([stream, *routes.get(stream, ())])}"
        for note in (note for note in notes if note.stream == stream):
            known = next((c for c in counts if (c.cache, c.key) == (note.cache, note.key)), None)
            done = "" if known is None or not known.look_ups else f"; {_describe(known)}"
            stands = ARROW.join(note.route)
            yield f"    {note.operator} by {note.key}, for {stands}: {note.state}, {note.why}{done}"


def _describe(count: CacheCount) -> str:
    return f"{count.look_ups:,} look-ups, {count.hits / count.look_ups:.0%} hits, {count.nbytes:,} bytes"
