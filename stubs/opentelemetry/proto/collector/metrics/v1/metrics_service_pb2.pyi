from typing import Any

class ExportMetricsServiceRequest:
    resource_metrics: Any
    def ParseFromString(self, serialized: bytes) -> int: ...
