"""Semi and anti joins: rows pass by whether a table has a match for them.

They add no row and no column to a combination, so they are filters that look into a table: they may be asked in any
order with all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from eddy import sql
from eddy.errors import LONGEST_NAME, QueryError, quote, shorten

SEMI, ANTI = "semi", "anti"


@dataclass(frozen=True, kw_only=True)
class Existence:
    """A question to a table: whether it has a row for which all conditions are true.

    A combination passes a semi join if there is one, an anti join if there is none. Null is not true, so a row without
    a key has no match.
    """

    kind: str
    table: str
    conditions: Sequence[sql.Expression]

    @property
    def name(self) -> str:
        """The name of its operator."""
        return exists_name(self.kind, self.table)

    @property
    def needs(self) -> frozenset[str]:
        """The inputs that it reads besides the table."""
        return frozenset[str]().union(*(one.inputs for one in self.conditions)) - {self.table}


def exists_name(kind: str, table: str) -> str:
    """Name the operator that asks a table.

    >>> exists_name(ANTI, "banned")
    'anti_banned'
    """
    return f"{kind}_{table}"


NO_COLUMNS = "which has no column and asks all rows the same"
"""What an error says of a constant."""


def read_existence(
    asked: Mapping[str, Sequence[sql.Expression]], tables: Collection[str], joined: Set[str]
) -> tuple[Existence, ...]:
    """Read which table each text asks; several texts of one kind about a table hold together.

    `asked` has the conditions of each kind, a whole text each, and `joined` the inputs that joins, filters and columns
    of the answer name: results have rows of those.
    """
    found: dict[tuple[str, str], list[sql.Expression]] = {}
    for kind, texts in asked.items():
        for text in texts:
            where = f'{kind} "{shorten(text.text, LONGEST_NAME)}"'
            table = _find_table(text, tables, joined, where)
            found.setdefault((kind, table), []).extend(_split(text, table, where))
    made = [Existence(kind=kind, table=table, conditions=tuple(parts)) for (kind, table), parts in found.items()]
    for one in made:
        if (ANTI if one.kind == SEMI else SEMI, one.table) in found:
            raise QueryError(
                f'query: table "{one.table}" is asked by semi and by anti; give a second table of the same rows, with '
                "a name of its own"
            )
        if not one.needs:
            raise QueryError(
                f'query: {one.kind}: expected a condition between "{one.table}" and a stream or another input, got '
                f'"{shorten(one.conditions[0].text, LONGEST_NAME)}" alone, which asks all rows the same'
            )
    return tuple(made)


def _find_table(text: sql.Expression, tables: Collection[str], joined: Set[str], where: str) -> str:
    """Find the table that a text asks: the one that nothing else names."""
    named = [name for name in tables if name in text.inputs]
    free = [name for name in named if name not in joined]
    if len(free) == 1:
        return free[0]
    if named and not free:
        raise QueryError(
            f"{where}: joins, filters or select name {quote(named)} as well, so results have its rows; leave one out, "
            "or give a second table of the same rows, with a name of its own"
        )
    got = f"of {quote(free)}" if free else f"of {quote(sorted(text.inputs))} alone"
    raise QueryError(
        f"{where}: expected a condition on one table that nothing else names, got one {got}; that table is asked "
        "whether it has a match"
    )


def _split(text: sql.Expression, table: str, where: str) -> Iterator[sql.Expression]:
    for part in text.conjuncts():
        if not part.inputs:
            raise QueryError(
                f'{where}: expected conditions on "{table}", got "{shorten(part.text, LONGEST_NAME)}", {NO_COLUMNS}; '
                "leave it out"
            )
        if table not in part.inputs:
            raise QueryError(
                f'{where}: expected conditions on "{table}", got "{shorten(part.text, LONGEST_NAME)}"; a condition on '
                "others is a filter"
            )
        yield part
