"""Metrics for OpenTelemetry, which are sent to a collector."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from eddy.errors import QueryError, read_message
from eddy.redaction import hide_marked
from eddy.spark.monitoring import news
from eddy.spark.monitoring.metrics import COUNTER, LAST, METRICS, SUM, WHOSE, list_values
from eddy.spark.monitoring.news import BatchNews
from eddy.version import __version__

EVERY_SECONDS = 10.0
"""Seconds from one sending to the next: often enough for a chart, and few requests."""

CLOSING_SECONDS = 5.0
"""Seconds that a collector which does not answer may hold up the end of a job."""

UNITS = {"seconds": "s", "bytes": "By", "": "1"}
"""Units as OpenTelemetry writes them."""

EXTRA = "otel"


class SentMetrics:
    """Metrics of every query of this driver, sent by OTLP over HTTP until it is closed.

    `endpoint` is as in `http://localhost:4318/v1/metrics`. Headers, such as those of a login, are taken from the
    environment, `OTEL_EXPORTER_OTLP_HEADERS`, and the service's name from `OTEL_SERVICE_NAME`.
    """

    def __init__(self, endpoint: str, *, every: float = EVERY_SECONDS, where: str = "SentMetrics") -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
            from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
        except ImportError as error:
            missing = f'"opentelemetry-sdk" and its exporter, got none ({read_message(error)})'
            raise QueryError(f'{where}: expected the packages {missing}; pip install "eddy-spark[{EXTRA}]"') from error
        check_endpoint(endpoint, where)
        exporter = OTLPMetricExporter(endpoint=endpoint, timeout=CLOSING_SECONDS)
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=every * 1_000)
        # Its own: a program may have one for what is its own business.
        self._provider = MeterProvider([reader], shutdown_on_exit=False)
        meter = self._provider.get_meter("eddy", __version__)
        makers = {COUNTER: meter.create_counter, SUM: meter.create_up_down_counter, LAST: meter.create_gauge}
        self._kept: dict[str, Any] = {m.name: makers[m.kind](f"eddy.{m.name}", UNITS[m.unit], m.text) for m in METRICS}
        news.listen_to(self.hear)

    def hear(self, told: BatchNews) -> None:
        """Count a micro-batch."""
        for metric in METRICS:
            kept, names = self._kept[metric.name], (*WHOSE, *metric.labels)
            for labels, value in list_values(metric, told):
                (kept.set if metric.kind == LAST else kept.add)(value, dict(zip(names, labels, strict=True)))

    def close(self) -> None:
        """Send what is left, and no more."""
        news.leave(self.hear)
        self._provider.shutdown(timeout_millis=CLOSING_SECONDS * 1_000)

    def __enter__(self) -> SentMetrics:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_endpoint(endpoint: str, where: str) -> None:
    """Check that metrics can be sent to an address.

    >>> check_endpoint("box:4318", "SentMetrics")
    Traceback (most recent call last):
    eddy.errors.QueryError: SentMetrics: expected a URL such as "http://localhost:4318/v1/metrics", got "box:4318"
    """
    try:
        parts = urlsplit(endpoint)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        right = False
    if not right:
        raise QueryError(
            f'{where}: expected a URL such as "http://localhost:4318/v1/metrics", got "{hide_marked(endpoint)}"'
        )
