"""A filter that Spark evaluates before rows come, as stored rows are asked about it.

Rows that came while it was not there were never judged. Once it is added nobody would ask about them, so they are asked
when they are restored, all at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from eddy import sql
from eddy.sql import Column
from eddy.tuples.arrays import Mask


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
