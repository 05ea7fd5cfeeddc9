"""What functions are handed that is no column of the frame: fields of structs, and Columns that Spark computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from eddy.errors import QueryError
from eddy.query.shorthand import find_free, list_ways
from eddy.spark.before.own_sql import ask_spark
from eddy.sql.values.name_case import fold_case


class Arguments(NamedTuple):
    """A frame with columns for what it has not, the predicates that name them, and their names."""

    frame: DataFrame
    predicates: Sequence[Any]
    added: Sequence[str]


def add_arguments(
    frame: DataFrame, predicates: Sequence[Any], tables: Sequence[str], *, case_sensitive: bool
) -> Arguments:
    """Have Spark compute what is no column; of that nothing is in the answer."""
    own, computed, named = frame.columns, dict[str, Column](), list[Any]()
    for one in predicates:
        function, *parts = one if isinstance(one, tuple) and one else (one,)
        for place, part in enumerate(parts):
            if isinstance(part, Column):
                # It is called as Spark would call it.
                asked = ask_spark(partial(frame.select, part), f'where: "{part}"')
                parts[place] = find_free(asked.columns[0], [*own, *computed])
                computed[parts[place]] = part
        named.append((function, *parts) if parts else one)
    ways = list_ways(named, [*own, *computed], tables, case_sensitive=case_sensitive)
    computed |= {text: F.col(text) for text, way in ways.items() if _can_resolve(frame, text, way[0])}
    if not computed:
        return Arguments(frame, named, ())
    return Arguments(frame.select("*", *(made.alias(name) for name, made in computed.items())), named, [*computed])


def _can_resolve(frame: DataFrame, text: str, root: str) -> bool:
    """Tell whether Spark finds it; what begins with no column may be a mistake that others can tell more about."""
    try:
        return bool(frame.select(F.col(text)).columns)
    except AnalysisException as error:
        if fold_case(root) in map(fold_case, frame.columns):
            raise QueryError(f'where: column "{text}": Spark finds no such field in column "{root}"') from error
        return False
