"""Data at hand as a workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from eddy.comparison.setting import data_text, query_text
from eddy.comparison.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Given:
    """A query and its data, which are the same for every seed."""

    given: Workload

    @property
    def label(self) -> str:
        """That of the query."""
        return self.given.name

    @property
    def varied(self) -> Mapping[str, Any]:
        """Nothing: there is one only."""
        return {}

    def describe(self) -> Mapping[str, Any]:
        """The query, every value of the data, and where it is known to change."""
        return self._described

    def workload(self, seed: int, rows: int | None = None) -> Workload:
        """The data, or the first rows of each stream."""
        if rows is None:
            return self.given
        streams = {stream.name for stream in self.given.query.streams}
        data = {name: t.slice(0, rows) if name in streams else t for name, t in self.given.data.items()}
        return replace(self.given, data=data)

    @cached_property
    def _described(self) -> dict[str, Any]:
        told = {"query": query_text(self.given.query), "data": data_text(self.given)}
        return told | {"drift points": list(self.given.drift_points)}
