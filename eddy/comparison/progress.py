"""How far a comparison has come."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 24
"""Characters of the bar: with the counts and a name it fits into a line of a terminal."""

LINES = 10
"""Lines where there is no terminal: enough to see that it moves, too few to fill a log."""

MINUTE = 60


class Bar:
    """A bar on a terminal, and plain lines elsewhere; nothing when it is to be quiet."""

    def __init__(self, total: int, *, quiet: bool = False, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._quiet = quiet
        self._live = self._out.isatty()
        self._total = total
        self._done = self._kept = self._width = 0
        self._started = time.monotonic()

    def step(self, what: str, *, kept: bool = False) -> None:
        """A run is over, or was there before."""
        self._done += 1
        self._kept += kept
        if self._quiet:
            return
        if self._live:
            line = f"[{self._bar()}] {self._counts()}  {what}"
            self._out.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        elif self._done * LINES // self._total > (self._done - 1) * LINES // self._total:
            self._out.write(f"{self._counts()}  {what}\n")
        self._out.flush()

    def close(self) -> None:
        """Leave the line of the bar."""
        if self._live and self._width:
            self._out.write("\n")
            self._out.flush()

    def _bar(self) -> str:
        return f"{'#' * (self._done * WIDTH // self._total):-<{WIDTH}}"

    def _counts(self) -> str:
        own = self._done - self._kept
        left = (time.monotonic() - self._started) / own * (self._total - self._done) if own else 0
        soon = f"{left / MINUTE:.0f} min left" if left > MINUTE else f"{left:.0f} s left"
        kept = f", {self._kept} kept" if self._kept else ""
        return f"{self._done}/{self._total} runs{kept}, {soon}"
