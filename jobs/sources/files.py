"""Files: parquet, csv, json."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, json

from eddy.errors import QueryError, unknown_name
from eddy.jobs.config.config import text_of
from eddy.jobs.config.file_paths import find_local
from eddy.jobs.config.references import read_schema as schema_of
from eddy.jobs.sources.source import JobSource, SourceValues
from eddy.sql.values import types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


CORRUPT = "_corrupt_record"
"""The column in which Spark tells what it could not read, unless an option says another; no file has it."""

SAMPLED = {"header", "sep", "delimiter", "quote", "mode", "columnNameOfCorruptRecord", "maxFilesPerTrigger"}
"""Options with which a file is known to be what Spark would read; what others say, Spark alone knows."""

READ_ROWS = 1 << 16
"""Rows of a Parquet file that are read in one go."""


NANOSECONDS, MICROSECONDS = 1_000_000, 1_000
"""In a millisecond."""

FILE_COLUMNS = {"modified": ("_metadata.file_modification_time", types.TIMESTAMP)}
"""The columns of a file that a stream may have besides those in it, as SQL, and their types."""


class Files(JobSource):
    """Files of one format, in a folder that may grow."""

    def __init__(self, name: str, values: SourceValues) -> None:
        self._name = name
        self._values = values
        self._added: list[str] = values.get("add", [])
        self._options = {key: text_of(value) for key, value in values["options"].items()}
        for added in self._added:
            if added not in FILE_COLUMNS:
                raise unknown_name("column", added, FILE_COLUMNS, where=f'source of "{name}": add')
        if values["format"] == "csv":
            self._options = {"header": text_of(values["header"]), **self._options}

    def schema(self) -> pa.Schema | None:
        """Give the columns in the files, and those that are added."""
        schema = self._inner()
        added = [pa.field(f"file_{name}", FILE_COLUMNS[name][1]) for name in self._added]
        return None if schema is None else pa.schema([*schema, *added])

    def _inner(self) -> pa.Schema | None:
        """The file's schema, or else that of the first parquet file.

        Folders may add columns.
        """
        if self._values.get("schema"):
            return schema_of(self._values["schema"], where=f'source of "{self._name}"')
        found = self._find_files()
        if not found or self._in_folders(found) or not self._options.keys() <= SAMPLED:
            return None
        opened = _open(found[0])
        if fine := _list_nanoseconds(opened):
            raise QueryError(
                f'source of "{self._name}": "{found[0]}" has times in nanoseconds in "{fine[0]}", which Spark does not '
                'read; write microseconds: to_parquet(.., coerce_timestamps="us", allow_truncated_timestamps=True)'
            )
        return pa.schema([field.with_type(_spark(field.type)) for field in opened.schema_arrow])

    def sample(self, rows: int) -> pa.Table | None:
        """Read the first rows of the files, in the order of their names."""
        found, schema = self._find_files(), self._inner()
        if not found or schema is None or self._in_folders(found) or not self._options.keys() <= SAMPLED:
            return None
        if not all(len(mark) <= 1 and mark.isascii() for mark in (self._mark, self._options.get("quote", ""))):
            return None
        parts: list[pa.Table] = []
        for file in found:
            left = rows - sum(part.num_rows for part in parts)
            if left <= 0:
                break
            try:
                parts.append(self._add_columns(file, self._read(file, schema, left)))
            except (pa.ArrowException, KeyError, OSError) as error:
                raise QueryError(f'source of "{self._name}": "{file}" does not fit the schema: {error}') from None
        return pa.concat_tables(parts)

    def stream(self, spark: SparkSession) -> DataFrame:
        """The files that there are, oldest first, and those that come."""
        options = dict(self._options)
        if self._values["files_per_trigger"]:
            options = {"maxFilesPerTrigger": text_of(self._values["files_per_trigger"]), **options}
        reader = spark.readStream.format(self._values["format"]).options(**options)
        frame = reader.schema(self._spark_schema(spark)).load(self._values["path"])
        return frame.selectExpr("*", *(f"{FILE_COLUMNS[name][0]} as file_{name}" for name in self._added))

    def table(self, spark: SparkSession) -> Any:
        """Read the files that there are."""
        return self._reader(spark).schema(self._spark_schema(spark)).load(self._values["path"])

    def _reader(self, spark: SparkSession) -> Any:
        return spark.read.format(self._values["format"]).options(**self._options)

    def _spark_schema(self, spark: SparkSession) -> Any:
        columns = self._values.get("schema")
        if not columns:
            return self._reader(spark).load(self._values["path"]).schema
        return ddl(columns)

    def _find_files(self) -> list[str]:
        """Find the files on this machine that Spark reads, by name.

        None where only Spark can look.
        """
        place = find_local(self._values["path"])
        if place is None:
            return []
        given = [Path(one) for one in sorted(glob.glob(place))]
        inner = [sorted(_visible(one)) if one.is_dir() else [one] for one in given]
        return [str(file) for files in inner for file in files]

    def _in_folders(self, found: list[str]) -> bool:
        """Tell whether files stand in folders such as `country=at`."""
        depth = len(Path(find_local(self._values["path"]) or "").parts)
        return any("=" in folder for file in found[:1] for folder in Path(file).parts[depth:-1])

    def _read(self, file: str, schema: pa.Schema, rows: int) -> pa.Table:
        if self._values["format"] == "parquet":
            opened = _open(file)
            batches, count = [], 0
            for batch in opened.iter_batches(batch_size=min(rows, READ_ROWS)):
                batches.append(batch)
                count += batch.num_rows
                if count >= rows:
                    break
            read = pa.Table.from_batches(batches, opened.schema_arrow).slice(0, rows)
            return read.select(schema.names).cast(schema)
        if self._values["format"] == "json":
            options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
            return json.read_json(file, parse_options=options).slice(0, rows)
        try:
            return self._read_csv(file, schema, rows)
        except pa.ArrowInvalid as error:  # perhaps of times without a zone, which are read as those of UTC
            bare = [field.with_type(_bare(field.type)) for field in schema]
            try:
                return self._read_csv(file, pa.schema(bare), rows).cast(schema)
            except pa.ArrowInvalid:
                raise error from None

    def _add_columns(self, file: str, rows: pa.Table) -> pa.Table:
        """Add columns to rows of a file.

        Times are in milliseconds, as Spark has them.
        """
        modified = os.stat(file).st_mtime_ns // NANOSECONDS * MICROSECONDS
        for name in self._added:
            rows = rows.append_column(f"file_{name}", pa.array([modified] * rows.num_rows, FILE_COLUMNS[name][1]))
        return rows

    @property
    def _mark(self) -> str:
        """The text between two values."""
        return self._options.get("sep") or self._options.get("delimiter") or ","

    def _read_csv(self, file: str, schema: pa.Schema, rows: int) -> pa.Table:
        told = self._options.get("columnNameOfCorruptRecord", CORRUPT)
        names = [name for name in schema.names if name != told]
        read = csv.ReadOptions(column_names=None if self._options["header"] == "true" else names)
        convert = csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            include_missing_columns=told in schema.names,
            strings_can_be_null=True,
        )
        parse = csv.ParseOptions(delimiter=self._mark, quote_char=self._options.get("quote", '"') or False)
        return csv.read_csv(file, read_options=read, parse_options=parse, convert_options=convert).slice(0, rows)


def ddl(columns: SourceValues) -> str:
    """Write a schema as Spark reads it.

    >>> ddl({"at": "timestamp", "odd name": "array<int>"})
    '`at` timestamp, `odd name` array<int>'
    """
    return ", ".join(f"{quote(name)} {type}" for name, type in columns.items())


def quote(name: str) -> str:
    """Spell the name of a column as SQL does."""
    return f"`{name.replace('`', '``')}`"


def _bare(type: pa.DataType) -> pa.DataType:
    """The type of a time without its zone; any other as it is."""
    return pa.timestamp("us") if pa.types.is_timestamp(type) else type


def _visible(folder: Path) -> Iterator[Path]:
    """Give the files of a folder that Spark reads.

    It passes over those that begin with "_" or ".".
    """
    for file in folder.rglob("*"):
        inner = file.relative_to(folder).parts
        if file.is_file() and not any(part[0] in "_." and "=" not in part for part in inner):
            yield file


def _open(file: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise QueryError(f'"{file}" is no parquet file: {error}') from None


def _list_nanoseconds(opened: pq.ParquetFile) -> list[str]:
    """Name the times that Spark refuses: nanoseconds in 64 bits.

    Those in 96 bits, which Spark itself writes, it reads.
    """
    columns = [opened.schema.column(i) for i in range(len(opened.schema))]
    fine = [c for c in columns if c.logical_type.type == "TIMESTAMP" and "=nanoseconds" in str(c.logical_type)]
    return [column.path for column in fine]


def _spark(type: pa.DataType) -> pa.DataType:
    return types.logical(type) if not pa.types.is_nested(type) else type
