"""The registry of sources.

A new one is its file, its section in `eddy.jobs.config.connectors`, and one line here.
"""

from __future__ import annotations

from collections.abc import Callable

from eddy.jobs.sources.files import Files
from eddy.jobs.sources.kafka import Kafka
from eddy.jobs.sources.rate import Rate
from eddy.jobs.sources.select import Selected
from eddy.jobs.sources.source import JobSource, SourceValues
from eddy.jobs.sources.spark_format import SparkFormat
from eddy.jobs.sources.workload import FromWorkload

SOURCES: dict[str, Callable[[str, SourceValues], JobSource]] = {
    "parquet": Files,
    "csv": Files,
    "json": Files,
    "kafka": Kafka,
    "rate": Rate,
    "workload": FromWorkload,
    "spark": SparkFormat,
}


def make_source(name: str, values: SourceValues) -> JobSource:
    """Make the source that the file describes, with what it selects."""
    made = SOURCES[values["format"]](name, values)
    return Selected(name, made, values["select"]) if values["select"] else made
