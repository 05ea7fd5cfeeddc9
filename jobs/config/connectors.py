"""Descriptions of the sources and sinks that a job may have.

`eddy.jobs.sources` and `eddy.jobs.run.sinks` make them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.errors import QueryError, write_repr
from eddy.jobs.config.schema import ANYTHING, COUNT, FLAG, INDEX, ONE_OR_MORE, SCALAR, TEXTS, ConfigKey, Section
from eddy.plug_ins import PlugIns

OPTIONS = Section(
    text="Further options for Spark, as they are. They win over the keys above.",
    others=ConfigKey(text="an option", kind=SCALAR),
    flat=True,
)
SCHEMA = Section(
    text='Columns and their types as in Spark\'s SQL: `at = "timestamp"`, `tags = "array<string>"`.',
    others=ConfigKey(text="the type"),
)
PATH = ConfigKey(text="a folder, a file or a pattern", required=True, place=True)
SELECT = ConfigKey(
    text='columns that Spark makes of those of the source, and that take their place: `"*"`, '
    "`\"from_json(value, 'k bigint').k AS k\"`; what is no column name needs one by AS",
    kind=TEXTS,
    default=[],
    literal=True,
)
TABLE_NAME = ConfigKey(text='instead of `path`: a table that Spark knows, `"catalog.db.table"`')
BATCH = "batch"
MODE = ConfigKey(
    text="`batch` reads what is there in one pass, and ends: for one stream without a delay; there is no checkpoint",
    default="stream",
    choices=("stream", BATCH),
)
PER_TRIGGER = ConfigKey(text="the most files of a micro-batch", kind=COUNT)
ADDED = ConfigKey(
    text="columns of the file itself to add as `file_modified`, ...: `modified`, the time at which it was last written",
    kind=TEXTS,
    default=[],
)
SERVERS = ConfigKey(text="the brokers: `host:port`, with commas between them", required=True)
BYTES = "bytes"
VALUE = ConfigKey(text="how a message's value is written", default="json", choices=("json", "csv"))
READ_VALUE = ConfigKey(
    text="how a message's value is written; `bytes` reads none: the stream has the connector's own columns, such as "
    "`key`, `value` and `timestamp`, for `select`",
    default="json",
    choices=("json", "csv", BYTES),
)
WORKLOAD = {
    "kind": ConfigKey(text="which workload, of those listed below", required=True),
    "input": ConfigKey(text="which of its streams and tables; the one of this name when left out"),
    "seed": ConfigKey(text="what its chance is drawn from", kind=INDEX, default=0),
}
PARAMETERS = Section(text="Parameters of the workload, by name.", others=ConfigKey(text="a parameter", kind=ANYTHING))


def _files(text: str, keys: Mapping[str, ConfigKey], *, required: bool) -> Section:
    columns = Section(text=SCHEMA.text, others=SCHEMA.others, required=required)
    return Section(
        text=text, keys={"path": PATH, "select": SELECT, **keys}, parts={"schema": columns, "options": OPTIONS}
    )


OF_SPARK = Section(
    text="Whatever Spark reads, by the name that Spark has for it: Delta, Iceberg, ORC, Avro, JDBC, Kinesis, tables of "
    "catalogs. [connectors.md](connectors.md) has examples.",
    keys={
        "name": ConfigKey(text='Spark\'s name of the format, `"delta"`; a `table` needs none'),
        "path": ConfigKey(text=PATH.text, place=True),
        "table": TABLE_NAME,
        "select": SELECT,
    },
    parts={"schema": SCHEMA, "options": OPTIONS},
)


TABLE_SOURCES: dict[str, Section] = {
    "parquet": _files("Parquet files.", {}, required=False),
    "csv": _files(
        "Files of comma separated values.",
        {"header": ConfigKey(text="the first line of a file names the columns", kind=FLAG, default=True)},
        required=True,
    ),
    "json": _files("Files with a JSON object on every line.", {}, required=True),
    "workload": Section(
        text="A table of a workload that comes with the jobs.",
        keys={**WORKLOAD, "select": SELECT},
        parts={"parameters": PARAMETERS},
    ),
    "spark": OF_SPARK,
}
"""The sources of a table."""

STREAM_SOURCES: dict[str, Section] = {
    **{
        name: Section(
            text=f"{section.text} A file that is added later is read later.",
            keys={**section.keys, "mode": MODE, "files_per_trigger": PER_TRIGGER, "add": ADDED},
            parts=section.parts,
        )
        for name, section in TABLE_SOURCES.items()
        if name not in ("workload", "spark")
    },
    "spark": Section(text=OF_SPARK.text, keys={**OF_SPARK.keys, "mode": MODE}, parts=OF_SPARK.parts),
    "kafka": Section(
        text="Topics of Kafka, through Spark's own connector: `spark-submit --packages "
        "org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION`. What cannot be read of a value is null. "
        "[kafka.md](kafka.md) has more.",
        keys={
            "servers": SERVERS,
            "topic": ConfigKey(text="the topic, or several with commas between them", required=True),
            "starting": ConfigKey(
                text="where to begin when there is no checkpoint: `earliest`, `latest`, or offsets as the connector "
                "takes them in JSON",
                default="latest",
            ),
            "per_trigger": ConfigKey(text="the most messages of a micro-batch", kind=COUNT),
            "value": READ_VALUE,
            "select": SELECT,
            "add": ConfigKey(
                text="columns of the message itself to add as `kafka_key`, ...: `key`, `topic`, `partition`, `offset`, "
                "`timestamp`, `malformed`; the last is the text of a value that does not fit the schema, and else null",
                kind=TEXTS,
                default=[],
            ),
        },
        parts={
            "schema": Section(text=f"{SCHEMA.text} Needed unless the value is `bytes`.", others=SCHEMA.others),
            "options": OPTIONS,
        },
    ),
    "rate": Section(
        text="Rows made by Spark, with the columns `timestamp` and `value`, to try things.",
        keys={
            "per_second": ConfigKey(text="rows in a second", kind=COUNT, default=10),
            "partitions": ConfigKey(text="how many tasks make them", kind=COUNT),
            "select": SELECT,
        },
        parts={"options": OPTIONS},
    ),
    "workload": Section(
        text="A stream of a workload that comes with the jobs, with drift where it has any.",
        keys={
            **WORKLOAD,
            "select": SELECT,
            "mode": MODE,
            "per_trigger": ConfigKey(text="the most rows of a micro-batch", kind=COUNT, default=1_000),
        },
        parts={"parameters": PARAMETERS},
    ),
}
"""The sources of a stream."""

PARTITION_BY = ConfigKey(text="columns of the answer that become folders", kind=TEXTS, default=[])
PER_QUERY = ConfigKey(
    text="with `[queries]`: a folder for each query, `query=NAME`; a reader gets each row once from the folder around "
    "them, where Spark's log is",
    kind=FLAG,
    default=False,
)

SINKS: dict[str, Section] = {
    "console": Section(
        text="Prints the first rows of every micro-batch.",
        keys={
            "rows": ConfigKey(text="how many of them", kind=COUNT, default=20),
            "truncate": ConfigKey(text="cut long values", kind=FLAG, default=True),
        },
    ),
    "parquet": Section(
        text="Parquet files, each row exactly once. Needs a checkpoint, and in `batch` mode a folder that is not there "
        "yet.",
        keys={
            "path": ConfigKey(text="a folder", required=True, place=True),
            "partition_by": PARTITION_BY,
            "per_query": PER_QUERY,
        },
        parts={"options": OPTIONS},
    ),
    "kafka": Section(
        text="A topic of Kafka. Needs a checkpoint. Nothing is lost; after a failure some results of a micro-batch "
        "come again, alike in key and value, so let the key tell results apart: [kafka.md](kafka.md).",
        keys={
            "servers": SERVERS,
            "topic": ConfigKey(text="the topic; needed unless each of `[queries]` has its own"),
            "key": ConfigKey(
                text="the column of the answer that is the message's key, as a text; or a list of columns, which "
                "become a JSON object",
                kind=ONE_OR_MORE,
            ),
            "value": VALUE,
        },
        parts={"options": OPTIONS},
    ),
    "spark": Section(
        text="Whatever Spark writes, by the name that Spark has for it. Needs a checkpoint. Whether a row may come "
        "again after a failure is the format's business: [connectors.md](connectors.md).",
        keys={
            "name": ConfigKey(text='Spark\'s name of the format, `"delta"`; a `table` that exists needs none'),
            "path": ConfigKey(text="a folder, for formats that have one", place=True),
            "table": TABLE_NAME,
            "partition_by": PARTITION_BY,
            "per_query": PER_QUERY,
            "select": ConfigKey(
                text="columns that Spark makes of those of the answer, and that are written in their place: "
                '`"to_avro(struct(*)) AS value"`',
                kind=TEXTS,
                default=[],
                literal=True,
            ),
            "existing": ConfigKey(
                text="in `batch` mode: what becomes of rows that are there; `error` refuses to write beside them",
                choices=("error", "append", "overwrite"),
            ),
        },
        parts={"options": OPTIONS},
    ),
    "memory": Section(
        text="A table in the driver's memory, for tests and notebooks.",
        keys={"name": ConfigKey(text="what the table is called; the query's name when left out")},
    ),
    "noop": Section(text="Computes everything and keeps nothing: to measure."),
    "foreach_batch": Section(
        text="A function of yours, called in the driver with each micro-batch's DataFrame and its number. Needs a "
        "checkpoint. After a failure a micro-batch may come again, with the same number.",
        keys={
            "function": ConfigKey(text='its import path: `"package.module:name"`; needed unless there are `functions`')
        },
        parts={
            "functions": Section(
                text="With `[queries]`, in place of `function`: one for each query, by its name. It gets the rows of "
                "that query, with its own columns.",
                others=ConfigKey(text="its import path"),
            )
        },
    ),
}
"""The sinks of an answer."""

LASTING = ("parquet", "kafka", "spark", "foreach_batch")
"""Sinks that need a checkpoint: what they hold outlives the job."""

SOURCE_GROUP, SINK_GROUP = "eddy.sources", "eddy.sinks"
"""The groups of entry points under which other packages register sources and sinks."""


def read_section(found: Any) -> Section:
    """Give the section that a source or a sink of another package describes itself by."""
    section = getattr(found, "section", None)
    if not isinstance(section, Section):
        raise QueryError(
            f"expected a class with its keys as section = Section(...), got {write_repr(section)} as section"
        )
    return section


def is_lasting(name: str) -> bool:
    """Tell whether a sink needs a checkpoint: one of ours, or one of another package that says so."""
    if name in SINKS:
        return name in LASTING
    found = PlugIns[Any]({}, group=SINK_GROUP, kind="sink").get(name)
    return bool(getattr(found, "lasting", False))


ALL_TABLE_SOURCES = PlugIns(TABLE_SOURCES, group=SOURCE_GROUP, kind="source", take=read_section)
ALL_STREAM_SOURCES = PlugIns(STREAM_SOURCES, group=SOURCE_GROUP, kind="source", take=read_section)
ALL_SINKS = PlugIns(SINKS, group=SINK_GROUP, kind="sink", take=read_section)
"""Those above, and those of other packages."""
