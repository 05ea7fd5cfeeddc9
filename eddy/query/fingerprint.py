"""The parts of a query that its saved state depends on, in one spelling for those that say the same.

A job may say its joins, filters and windows in other words, or as one statement, and goes on. An older checkpoint has
the texts that the query was written in: they are read and written anew before they are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from eddy import sql
from eddy.errors import CheckpointError, QueryError, quote, shorten
from eddy.predicates.function import Function
from eddy.query.binding import Binding
from eddy.query.emit import EMIT, list_parts
from eddy.query.existence import ANTI, SEMI
from eddy.query.filter import Filter
from eddy.query.inputs import Range
from eddy.query.pushed_filter import PushedFilter
from eddy.query.validation import duration
from eddy.sql.bind.writer import write_duration

_CONDITION = re.compile(r'(join|semi|anti) "(.*)"', re.DOTALL)
_FILTER = re.compile(r"(on (\w+)[^:]*: )(?!function )(.*)", re.DOTALL)
_RANGE = re.compile(r"Range\('(.*)'\)")
WHERE = "checkpoint"
"""What errors call the texts of a checkpoint."""

FILTER, COLUMN, WINDOW, SHARED = 'filter "', ': column "', ": window", ": rows"
"""How the names of some parts begin or go on."""

TOGETHER = "stored once for "
"""How the part of a stream begins that shares its rows with others; their names follow."""


@dataclass(frozen=True, kw_only=True)
class FilterChange:
    """The filters in which a query differs from the one that wrote its state.

    One that says something else under the same name is another filter.
    """

    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    changed: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.forgotten)

    @property
    def forgotten(self) -> frozenset[str]:
        """The filters of which nothing that is kept is true any more."""
        return frozenset((*self.added, *self.removed, *self.changed))

    def tell(self) -> str:
        """Say for people what is done about it."""
        told = []
        if new := (*self.added, *self.changed):
            told.append(f"stored rows are asked about {quote(new)} as well")
        if gone := (*self.removed, *self.changed):
            told.append(f"rows that {quote(gone)} had dropped stay dropped")
        kinds = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        what = "; ".join(f"{kind}: {quote(names)}" for kind, names in kinds if names)
        return f"filters {what}; {'; '.join(told)}; the policy learns anew, and what others cost and let pass is kept"


def of(binding: Binding) -> dict[str, str]:
    """List the parts that stored rows and verdicts depend on, in the one spelling of what they say.

    Each has a name for people.

    What is selected is not among them, nor is the policy: both may change from one start to the next, as long as the
    columns are stored. Where results wait for their end, what is selected may not.
    """
    query = binding.query
    parts: dict[str, str] = {}
    for stream in query.streams:
        place = f'stream "{stream.name}"'
        if stream.time is not None:
            parts[name_time(stream.name)] = stream.time
        parts[f"{place}{WINDOW}"] = str(stream.window)
        parts[f"{place}: delay"] = str(stream.delay)
        parts |= {name_column(stream.name, f.name): str(f.type) for f in binding.find_read(stream.name)}
    for several in query.sources.values():
        if len(several) > 1:
            told = f"{TOGETHER}{', '.join(sorted(stream.name for stream in several))}"
            parts |= {f'stream "{stream.name}"{SHARED}': told for stream in several}
    parts |= {f'table "{table.name}"': "a table" for table in query.tables}
    parts |= {f'join "{text}"': "a join" for text in query.joins}
    parts |= {f'{kind} "{text}"': f"a {kind} join" for kind in (SEMI, ANTI) for text in getattr(query, kind)}
    parts |= list_parts(query.emit, {name: str(column) for column, name in binding.outputs})
    parts |= {name_filter(f.name): _describe_filter(f) for f in query.filters}
    return spell_parts(parts)


def name_filter(name: str) -> str:
    """Name the part that is a filter."""
    return f'{FILTER}{name}"'


def name_time(stream: str) -> str:
    """Name the part that says which column has the event time."""
    return f'stream "{stream}": time'


def name_column(stream: str, column: str) -> str:
    """Name the part that is a stored column."""
    return f'stream "{stream}"{COLUMN}{column}"'


def check(saved: Mapping[str, str], wanted: Mapping[str, str], pushed: Sequence[PushedFilter] = ()) -> FilterChange:
    """Refuse state that another query has written, and give the filters that are others.

    The error says where they differ. Columns may be left unused. Columns that a new one of the `pushed`
    filters reads must be stored as well.
    """
    if saved == wanted:
        # So it is in nearly every micro-batch, and to read the texts takes milliseconds.
        return FilterChange()
    change = _compare_filters(saved, wanted)
    if change and EMIT in wanted:
        # Results that wait were found under the filters before, and would be told under others.
        _refuse(_find_differences(saved, wanted))
    new = {*change.added, *change.changed}
    read = {name: kind for one in pushed if one.name in new for name, kind in _list_columns(one)}
    _refuse(
        _find_differences(
            *({p: t for p, t in parts.items() if not p.startswith(FILTER)} for parts in (saved, {**wanted, **read}))
        )
    )
    return change


def check_same(saved: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Refuse what another query has written, also if only filters are others."""
    if saved != wanted:
        _refuse(_find_differences(saved, wanted))


def _refuse(differences: Sequence[str]) -> None:
    if differences:
        raise CheckpointError(
            "checkpoint: it belongs to another query; " + "; ".join(differences) + "; "
            "go back to the query that wrote it, or begin a new checkpoint"
        )


def _find_differences(saved: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Tell which parts differ; the same in other words is no difference, nor is one store where there were several."""
    before, now = spell_parts(_spread_columns(saved)), spell_parts(wanted)
    return [
        _tell_missing(part, wanted)
        if COLUMN in part and part not in before
        else f"{shorten(part)}: the checkpoint has {_quote_part(before.get(part))}, "
        f"the query has {_quote_part(now.get(part))}"
        for part in dict.fromkeys((*now, *before))
        if before.get(part) != now.get(part)
        and not (part not in now and COLUMN in part)
        and not (part not in before and part.endswith(SHARED))
    ]


def _spread_columns(parts: Mapping[str, str]) -> dict[str, str]:
    """Give streams that share their rows the columns of each other."""
    found = dict(parts)
    for place, told in parts.items():
        if place.endswith(SHARED) and told.startswith(TOGETHER):
            others = [f'stream "{name}"{COLUMN}' for name in told.removeprefix(TOGETHER).split(", ")]
            own = f"{place.removesuffix(SHARED)}{COLUMN}"
            columns = [(part, kind) for part, kind in parts.items() if part.startswith(own)]
            found |= {f"{other}{part.removeprefix(own)}": kind for other in others for part, kind in columns}
    return found


def _compare_filters(saved: Mapping[str, str], wanted: Mapping[str, str]) -> FilterChange:
    before, now = (
        {name.removeprefix(FILTER)[:-1]: text for name, text in parts.items() if name.startswith(FILTER)}
        for parts in (spell_parts(saved), spell_parts(wanted))
    )
    return FilterChange(
        added=[name for name in now if name not in before],
        removed=[name for name in before if name not in now],
        changed=[name for name, text in now.items() if before.get(name, text) != text],
    )


def _list_columns(one: PushedFilter) -> Iterator[tuple[str, str]]:
    """List the columns that a filter of Spark's reads, as parts."""
    return ((name_column(one.stream, field.name), str(field.type)) for field in one.reads)


def _tell_missing(part: str, wanted: Mapping[str, str]) -> str:
    """Say of a column since when it would be there."""
    window = wanted.get(f"{part.partition(COLUMN)[0]}{WINDOW}", "the window")
    return (
        f"{shorten(part)}: rows are stored without it, since the query that wrote them does not read it; those "
        f"that come from this start on would have it, and all rows once their window is over, {window} and the delay: "
        "begin a new checkpoint, and let the old query run so long beside it"
    )


def _describe_filter(asked: Filter) -> str:
    predicate = asked.predicate
    if isinstance(predicate, Function):
        return f"on {', '.join(asked.on)}: function {predicate.name} of {', '.join(map(str, predicate.columns))}"
    return f"on {', '.join(asked.on)}: {predicate.text}"


def _quote_part(text: str | None) -> str:
    return "nothing" if text is None else f'"{shorten(text)}"'


def spell_parts(parts: Mapping[str, str]) -> dict[str, str]:
    """Give all parts in the one spelling; texts that nobody can read stay as they are.

    >>> list(spell_parts({'join "a.k=b.k and a.v > b.v"': "a join"}))
    ['join "a.k = b.k"', 'join "a.v > b.v"']
    >>> list(spell_parts({'filter "f"': "on a: v>1", 'stream "a": delay': "60 seconds"}).values())
    ['on a: a.v > 1', '1 minute']
    """
    return dict(part for name, text in parts.items() for part in _spell(name, text))


# To read a text takes milliseconds, and each engine of a query has the same ones.
@lru_cache(maxsize=1024)
def _spell(name: str, text: str) -> list[tuple[str, str]]:
    try:
        return list(_spell_known(name, text))
    except QueryError:
        return [(name, text)]


def _spell_known(name: str, text: str) -> Iterator[tuple[str, str]]:
    if found := _CONDITION.fullmatch(name):
        for one in sql.parse(found[2], where=WHERE).conjuncts():
            yield f'{found[1]} "{one.write()}"', text
    elif name.startswith('filter "') and (found := _FILTER.fullmatch(text)):
        begin, stream, condition = found.groups()
        read = sql.parse(condition, where=WHERE).qualify(lambda c: sql.Column(c.stream or stream, c.name))
        yield name, f"{begin}{read.write()}"
    elif name.endswith(": window") and (found := _RANGE.fullmatch(text)):
        yield name, str(Range(write_duration(duration(found[1], where=WHERE))))
    elif name.endswith(": delay") and not _is_number(text):
        yield name, write_duration(duration(text, where=WHERE))
    else:
        yield name, text


def _is_number(text: str) -> bool:
    """Tell whether a delay is none, or in units of a numeric time."""
    return re.fullmatch(r"None|[\d.e+-]+", text) is not None
