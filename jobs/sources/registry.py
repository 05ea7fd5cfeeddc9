"""The registry of sources.

A new one is its file, its section in `eddy.jobs.config.connectors`, and one line here.
"""

from __future__ import annotations

from collections.abc import Callable

from eddy.jobs.config.connectors import SOURCE_GROUP
from eddy.jobs.sources.files import Files
from eddy.jobs.sources.kafka import Kafka
from eddy.jobs.sources.rate import Rate
from eddy.jobs.sources.select import SelectedSource
from eddy.jobs.sources.source import JobSource, SourceValues
from eddy.jobs.sources.spark_format import SparkFormat
from eddy.jobs.sources.workload import FromWorkload
from eddy.plug_ins import PlugIns

SOURCES: dict[str, Callable[[str, SourceValues], JobSource]] = {
    "parquet": Files,
    "csv": Files,
    "json": Files,
    "kafka": Kafka,
    "rate": Rate,
    "workload": FromWorkload,
    "spark": SparkFormat,
}

ALL_SOURCES = PlugIns(SOURCES, group=SOURCE_GROUP, kind="source")
"""Those above, and those of other packages: each a class with `section`, made of a name and the file's values."""


def make_source(name: str, values: SourceValues) -> JobSource:
    """Make the source that the file describes, with what it selects."""
    made = ALL_SOURCES[values["format"]](name, values)
    select = values.get("select")  # a source of another package may know no such key
    return SelectedSource(name, made, select) if select else made
