"""What is told of micro-batches while a query runs: logs, and metrics for Prometheus and OpenTelemetry."""

from eddy.spark.monitoring.otel import SentMetrics
from eddy.spark.monitoring.prometheus import ServedMetrics

__all__ = ["SentMetrics", "ServedMetrics"]
