"""What an experiment runs; the comparison of policies knows it too."""

from eddy.comparison.workload import Workload

__all__ = ["Workload"]
