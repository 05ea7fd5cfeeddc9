"""Keys of several sections that do not go together, and metrics that cannot be had."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from eddy.errors import QueryError, need_package, unknown_name
from eddy.jobs.config.connectors import BATCH, is_lasting
from eddy.jobs.config.places import Mistakes
from eddy.predicates.faults import DROP, REJECT
from eddy.query.state_need import KEPT, NOT_KEPT, OF_CELLS
from eddy.query.validation import duration
from eddy.redaction import KeyPath
from eddy.spark.monitoring.otel import check_endpoint

METRICS_PACKAGES = {"prometheus": ("prometheus_client", "prometheus"), "otel": ("opentelemetry", "otel")}
"""The package that a kind of metrics needs, and the extra that has it."""


def check_sections(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note contradictions between two sections."""
    streams = read.get("streams", {}).items()
    batch = [name for name, one in streams if (one.get("source") or {}).get("mode") == BATCH]
    for place in ("sink", "rejected"):
        lasting = read.get(place, {}).get("format")
        if lasting and is_lasting(lasting) and not batch and not read.get("checkpoint", {}).get("location"):
            mistakes.add(
                ("checkpoint", "location"),
                f'expected a folder, since the sink "{lasting}" lasts and a restart must know what it has; add it',
            )
            break
    _check_trigger(read.get("trigger", {}), mistakes)
    if read.get("queries"):
        _check_together(read, batch, mistakes)
    elif batch:
        _check_batch(batch[0], read, mistakes)
    rejecting = [name for name, one in read.get("filters", {}).items() if one.get("on_error") == REJECT]
    if read.get("rejected") and not rejecting:
        mistakes.add(("rejected",), f'expected a filter with on_error = "{REJECT}", got none, so no row would go there')
    _check_weights(read, mistakes)


def _check_weights(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note weights of streams that are not there."""
    for kind in ("sizes", "heavy"):
        for name in read.get("engine", {}).get(kind, {}):
            if name.partition(".")[0] not in read.get("streams", {}):
                error = unknown_name("stream", name.partition(".")[0], read.get("streams", {}), where="")
                mistakes.add(("engine", kind, name), str(error).removeprefix(": "))


def _check_together(read: Mapping[str, Any], batch: Collection[str], mistakes: Mistakes) -> None:
    """Note what is for one query alone where there are several."""
    engine, sink = read.get("engine", {}), read.get("sink", {}).get("format")
    wrong: dict[KeyPath, str] = {
        ("streams", name, "source", "mode"): "one pass is for one query alone; read a stream, with "
        "trigger.available_now = true, or ask [query]"
        for name in batch
    }
    if read.get("rejected"):
        wrong["rejected",] = "rows are put aside for one query alone; leave it out, or ask [query]"
    if engine.get("state") == NOT_KEPT:
        wrong["engine", "state"] = f'expected "{KEPT}", since queries share a state store; leave it out'
    if engine.get("remember"):
        wrong["engine", "remember"] = "expected none, since the checkpoint has what was learned; leave it out"
    rejecting = [name for name, one in read.get("filters", {}).items() if one.get("on_error") == REJECT]
    told = f'rows are put aside for one query alone; say on_error = "{DROP}", or ask [query]'
    wrong |= {("filters", name, "on_error"): told for name in rejecting}
    told = f'the sink "{sink}" has no topics; leave it out'
    spoken = [name for name, one in read["queries"].items() if one.get("topic") and sink != "kafka"]
    wrong |= {("queries", name, "topic"): told for name in spoken}
    for path, text in wrong.items():
        mistakes.add(path, text)


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
