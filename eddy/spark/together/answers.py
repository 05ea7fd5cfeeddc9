"""The answers of queries that were answered together, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from eddy.errors import QueryError, quote, unknown_name
from eddy.query.together.queries import QUERY
from eddy.sql import backtick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Taker = Callable[[DataFrame, int], Any]
    Takers = Mapping[str, Taker | None]

OWN_COLUMNS = "eddy.columns"
"""The metadata of the column that says whose row it is: the columns of each query."""


def of(frame: DataFrame, query: str) -> DataFrame:
    """Give one query's rows of a common answer, with its own columns.

    `frame` is what `eddy.attach(eddy.Queries([...]), ...)` gave, or what is made of it as long as it has the column
    `query`; or the frame of a micro-batch of it, in foreachBatch.
    """
    columns = list_columns(frame, "of")
    if query not in columns:
        raise unknown_name("query", str(query), columns, where="of")
    own = frame.where(frame[QUERY] == query)
    return own.select(*(backtick(name) for name in columns[query]))


def each(functions: Takers) -> Taker:
    """Make a function for foreachBatch that gives each query's rows to a function of its own.

    Each is called with a frame of the query's own columns and the number of the micro-batch, in the order of
    `functions`, also where there are no rows. Every query has one; None leaves its rows out.
    """
    if not isinstance(functions, Mapping) or not functions:
        raise QueryError(f'each: expected functions as {{"query": function, ...}}, got {functions!r}')
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise QueryError(f'each: "{name}": expected a function of a frame and a number, got {function!r}')

    def take(frame: DataFrame, batch: int) -> None:
        _check_names(functions, list_columns(frame, "each"))
        # All functions read the rows; without this Spark would answer the queries once for each.
        frame.persist()
        try:
            for name, function in functions.items():
                if function is not None:
                    _call(name, function, of(frame, name), batch)
        finally:
            frame.unpersist()

    return take


def _check_names(functions: Takers, known: Collection[str]) -> None:
    """Check that every query has a function, or None, and nobody else."""
    for name in functions:
        if name not in known:
            raise unknown_name("query", str(name), known, where="each")
    if missing := [name for name in known if name not in functions]:
        raise QueryError(
            f"each: expected a function for every query, got none for {quote(missing)}; give it None to leave its rows "
            "out"
        )


def _call(name: str, function: Taker, rows: DataFrame, batch: int) -> None:
    """Call a function of the user's; what it raises says of which query it is."""
    try:
        function(rows, batch)
    except Exception as error:
        error.add_note(f'each: the function of query "{name}", micro-batch {batch}')
        raise


def list_columns(frame: Any, where: str) -> dict[str, list[str]]:
    """List the columns of each query of a common answer."""
    found = getattr(getattr(frame, "schema", None), "fields", None)
    if found is None:
        raise QueryError(
            f"{where}: expected a DataFrame of Spark, got {type(frame).__name__}; what eddy.run_local gave has each "
            'query\'s rows by its name, as results["alerts"]'
        )
    fields = {field.name: field for field in found}
    told = fields[QUERY].metadata.get(OWN_COLUMNS) if QUERY in fields else None
    if not told:
        raise QueryError(
            f"{where}: expected a frame that eddy.attach(eddy.Queries([...]), ...) gave, with its column "
            f"{quote([QUERY])}, got one with {quote(fields) or 'no columns'}; of what was written and is read again, "
            "take the rows where query is the name"
        )
    return {name: list(columns) for name, columns in told.items()}
