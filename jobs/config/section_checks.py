"""Keys of several sections that do not go together, and metrics that cannot be had."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from eddy.errors import QueryError, need_package, unknown_name
from eddy.jobs.config.connectors import BATCH, is_lasting
from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.references import import_function
from eddy.predicates.faults import REJECT
from eddy.query.state_need import OF_CELLS
from eddy.query.validation import duration
from eddy.redaction import KeyPath, display
from eddy.spark.monitoring.otel import check_endpoint

METRICS_PACKAGES = {"prometheus": ("prometheus_client", "prometheus"), "otel": ("opentelemetry", "otel")}
"""The package that a kind of metrics needs, and the extra that has it."""


def check_sections(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note contradictions between two sections."""
    streams = read.get("streams", {}).items()
    batch = [name for name, one in streams if (one.get("source") or {}).get("mode") == BATCH]
    for place in ("sink", "rejected"):
        _check_sink(place, read.get(place, {}), mistakes)
        lasting = read.get(place, {}).get("format")
        if lasting and is_lasting(lasting) and not batch and not read.get("checkpoint", {}).get("location"):
            mistakes.add(
                ("checkpoint", "location"),
                f'expected a folder, since the sink "{lasting}" lasts and a restart must know what it has; add it',
            )
            break
    _check_trigger(read.get("trigger", {}), mistakes)
    if batch:
        _check_batch(batch[0], read, mistakes)
    rejecting = [name for name, one in read.get("filters", {}).items() if one.get("on_error") == REJECT]
    if read.get("rejected") and not rejecting:
        mistakes.add(("rejected",), f'expected a filter with on_error = "{REJECT}", got none, so no row would go there')
    for kind in ("sizes", "heavy"):
        for name in read.get("engine", {}).get(kind, {}):
            if name.partition(".")[0] not in read.get("streams", {}):
                error = unknown_name("stream", name.partition(".")[0], read.get("streams", {}), where="")
                mistakes.add(("engine", kind, name), str(error).removeprefix(": "))


def _check_sink(place: str, sink: Mapping[str, Any], mistakes: Mistakes) -> None:
    name = sink.get("name") if sink.get("format") == "memory" else None
    if name and not name.isidentifier():
        # Spark makes a folder of it, below the setting spark.sql.streaming.checkpointLocation.
        mistakes.add((place, "name"), f"expected a name of letters, digits and underscores, got {display((), name)}")
    if sink.get("format") == "foreach_batch" and sink.get("function"):
        import_function(sink["function"], (place, "function"), mistakes)


def _check_batch(stream: str, read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note settings that one pass over rows has no use for."""
    source = read["streams"][stream]["source"]
    wrong: dict[KeyPath, Any] = {
        ("trigger", "every"): read.get("trigger", {}).get("every"),
        ("checkpoint", "location"): read.get("checkpoint", {}).get("location"),
        ("streams", stream, "source", "files_per_trigger"): source.get("files_per_trigger"),
        **{("engine", name): read.get("engine", {}).get(name) for name in OF_CELLS},
    }
    for path, value in wrong.items():
        if value:
            mistakes.add(
                path, f'a source with mode = "{BATCH}" is read in one pass, and has no use for it; leave it out'
            )


def _check_trigger(trigger: Mapping[str, Any], mistakes: Mistakes) -> None:
    if trigger.get("every") and trigger.get("available_now"):
        mistakes.add(("trigger",), "expected either every or available_now, got both")
    if isinstance(trigger.get("every"), str):
        _check_every(trigger["every"], ("trigger", "every"), mistakes)


def check_metrics(metrics: Mapping[str, Any], given: Collection[KeyPath], mistakes: Mistakes) -> None:
    """Note what cannot be served or sent, packages that are missing included."""
    for kind, needed in (("prometheus", "port"), ("otel", "endpoint")):
        path, said = ("metrics", kind), metrics[kind]
        if said[needed] is None:
            if any(one[:2] == path for one in given) and not mistakes.has_within(path):
                mistakes.add((*path, needed), f"expected a value, got none; without {needed} there are no metrics")
            continue
        try:
            need_package(*METRICS_PACKAGES[kind], "metrics")
            if kind == "otel":
                check_endpoint(said[needed], "metrics")
        except QueryError as error:
            mistakes.add((*path, needed), str(error).removeprefix("metrics: "))
    _check_every(metrics["otel"]["every"], ("metrics", "otel", "every"), mistakes, least=1)


def _check_every(text: str, path: KeyPath, mistakes: Mistakes, least: int = 0) -> None:
    try:
        if duration(text, where="every") < least:
            mistakes.add(path, f'expected a duration above 0, got "{text}"')
    except QueryError as error:
        mistakes.add(path, str(error).removeprefix("every: "))
