"""Filters that Spark evaluates before rows come.

Rows that came while a filter was not there were never judged. Once it is added nobody would ask about them, so they are
asked when they are restored, all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from eddy import sql
from eddy.errors import QueryError
from eddy.sql import Column
from eddy.sql.bind.expression import Find
from eddy.tuples.arrays import Mask

INSTEAD = {
    "after": "Spark evaluates its text before the eddy sees a row; put the guard into the text, as in `x <> 0 AND ...`",
    "on_error": "an error in its text is one of Spark's, and of the query; use try_cast, try_divide and the like",
}
"""What to do in place of keys that Spark knows nothing of."""


@dataclass(frozen=True, kw_only=True)
class SparkText:
    """A text over one input, and the reason for which it is none of ours.

    Which columns it reads only Spark knows, which finds them by their names.
    """

    text: str
    reason: str = field(compare=False)
    columns: Sequence[sql.Column] = ()

    def is_spelled(self, find: Find) -> bool:
        """Tell that nothing is to be done: Spark finds columns in any case."""
        return True

    def respell(self, find: Find) -> str:
        """Give the text as it is."""
        return self.text

    def refuse_key(self, key: str, where: str) -> None:
        """Refuse a key that says something of how the eddy evaluates a filter."""
        raise QueryError(f"{where}: {key}: {INSTEAD[key]}\n{self.reason}")


@dataclass(frozen=True, kw_only=True)
class PushedFilter:
    """A filter on one stream, in SQL that has an answer for every row.

    `schema` has all columns of the stream: what a text means depends on the time zones in them.
    """

    name: str
    stream: str
    where: sql.Expression
    schema: pa.Schema

    @property
    def reads(self) -> pa.Schema:
        """The columns that it reads."""
        read = {column.name for column in self.where.columns}
        return pa.schema([field for field in self.schema if field.name in read])

    def ask(self, rows: pa.RecordBatch) -> Mask:
        """Tell which rows pass.

        >>> where = sql.parse("v > 1", where="where").qualify(lambda column: Column("a", column.name))
        >>> big = PushedFilter(name="big", stream="a", where=where, schema=pa.schema({"v": pa.int64()}))
        >>> big.ask(pa.record_batch({"v": [1, 2, None]})).tolist()
        [False, True, False]
        """
        bound = self.where.condition({Column(self.stream, field.name): field.type for field in self.schema})
        return sql.truth(bound.evaluate({c: rows.column(c.name) for c in self.where.columns}, rows.num_rows))
