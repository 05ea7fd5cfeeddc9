"""Metrics for Prometheus, which comes and reads them."""

from __future__ import annotations

from typing import Any

from eddy.errors import QueryError, check_whole, need_package
from eddy.spark.monitoring import news
from eddy.spark.monitoring.metrics import COUNTER, LAST, METRICS, SUM, WHOSE, list_values
from eddy.spark.monitoring.news import BatchNews

LOOPBACK = "127.0.0.1"
"""Nobody on another machine can read metrics unless somebody says so."""

LARGEST_PORT = 65_535

EXTRA = "prometheus"


class ServedMetrics:
    """Metrics of every query of this driver at `http://HOST:PORT/metrics`, until it is closed.

    Port 0 is any free one; `port` says which it is.
    """

    def __init__(self, port: int, host: str = LOOPBACK, *, where: str = "ServedMetrics") -> None:
        need_package("prometheus_client", EXTRA, where)
        from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server  # noqa: PLC0415  an extra

        check_whole(port, "port", 0, where=where, most=LARGEST_PORT)
        registry = CollectorRegistry()
        kinds = {COUNTER: Counter, SUM: Gauge, LAST: Gauge}
        self._kept: dict[str, Any] = {
            m.name: kinds[m.kind](m.name, m.text, (*WHOSE, *m.labels), namespace="eddy", unit=m.unit, registry=registry)
            for m in METRICS
        }
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except (OSError, OverflowError) as error:
            raise QueryError(
                f"{where}: metrics cannot be served at {host}:{port}: {getattr(error, 'strerror', None) or error}; "
                "take another port, or 0 for any free one, and a host of this machine"
            ) from error
        self.port = int(self._server.server_port)
        news.listen_to(self.hear)

    def hear(self, told: BatchNews) -> None:
        """Count a micro-batch."""
        for metric in METRICS:
            for labels, value in list_values(metric, told):
                kept = self._kept[metric.name].labels(*labels)
                (kept.set if metric.kind == LAST else kept.inc)(value)

    def close(self) -> None:
        """Serve no more."""
        news.leave(self.hear)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> ServedMetrics:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
