from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

class PeriodicExportingMetricReader:
    def __init__(self, exporter: OTLPMetricExporter, *, export_interval_millis: float) -> None: ...
