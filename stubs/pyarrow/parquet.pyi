from collections.abc import Iterator
from pathlib import Path

from pyarrow import RecordBatch, Schema, Table

class ParquetLogicalType:
    type: str

class ColumnSchema:
    path: str
    logical_type: ParquetLogicalType

class ParquetSchema:
    def __len__(self) -> int: ...
    def column(self, i: int) -> ColumnSchema: ...

class ParquetFile:
    schema: ParquetSchema
    schema_arrow: Schema
    def __init__(self, source: str | Path) -> None: ...
    def iter_batches(self, batch_size: int) -> Iterator[RecordBatch]: ...

def read_table(source: str | Path, *, columns: list[str] | None = None) -> Table: ...
def read_schema(where: str | Path) -> Schema: ...
def write_table(
    table: Table,
    where: str | Path,
    *,
    row_group_size: int | None = None,
    compression: str = "snappy",
    use_deprecated_int96_timestamps: bool = False,
) -> None: ...
