"""What a cache has done since somebody asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Gauge:
    """Counts of one cache.

    Of `looked_up` keys `hits` were held; of the others `fills` were found, with `found` combinations in all, and some
    refused. `fresh` are the rows that it was kept up with.
    """

    looked_up: int = 0
    hits: int = 0
    fills: int = 0
    found: int = 0
    refused: int = 0
    fresh: int = 0

    def looked(self, keys: int, hits: int) -> None:
        """Count keys that were looked up, and those of them that were held."""
        self.looked_up += keys
        self.hits += hits

    def filled(self, keys: int, found: int, refused: int) -> None:
        """Count keys that were filled, their combinations, and keys that were refused."""
        self.fills += keys
        self.found += found
        self.refused += refused

    def kept_up(self, rows: int) -> None:
        """Count rows that came."""
        self.fresh += rows
