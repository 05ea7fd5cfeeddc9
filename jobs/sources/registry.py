"""Every kind of source; a new one is its file, its section in `eddy.connectors`, and one line here."""

from __future__ import annotations

from collections.abc import Callable

from jobs.sources.files import Files
from jobs.sources.kafka import Kafka
from jobs.sources.rate import Rate
from jobs.sources.source import Source, Values
from jobs.sources.workload import FromWorkload

SOURCES: dict[str, Callable[[str, Values], Source]] = {
    "parquet": Files,
    "csv": Files,
    "json": Files,
    "kafka": Kafka,
    "rate": Rate,
    "workload": FromWorkload,
}
