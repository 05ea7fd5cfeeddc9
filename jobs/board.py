"""A table that lives on a terminal, and a few lines of fields where there is none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from jobs.racing import Lap

UP, CLEAR = "\x1b[{lines}F", "\x1b[K"
"""What a terminal understands: go up some lines, to the first column; and empty the rest of the line."""

QUARTERS = 4
"""Lines for each policy where there is no terminal: enough to see that it goes on."""

HEAD = ("policy", "rows", "results", "calls", "calls saved", "most rows go now")
LINE = "{:<11} {:>8} {:>8} {:>9} {:>11}  {}"


class Board:
    """Shows how far policies have come, in place."""

    def __init__(self, rows: int, out: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._live = self._out.isatty()
        self._rows = rows
        self._lines = 0
        self._told: dict[str, int] = {}

    def show(self, laps: Sequence[Lap]) -> None:
        """The newest of all of them; the first one is what the others are held against."""
        if self._live:
            self._draw(laps)
        else:
            for lap in laps:
                self._tell(lap, laps[0])
        self._out.flush()

    def end(self, laps: Sequence[Lap]) -> None:
        """The whole table for the last time."""
        self._draw(laps)
        self._out.flush()

    def _draw(self, laps: Sequence[Lap]) -> None:
        if self._lines:
            self._out.write(UP.format(lines=self._lines))
        width = shutil.get_terminal_size().columns - 1 if self._live else None
        lines = list(table(laps))
        for line in lines:
            self._out.write(f"{line[:width]}{CLEAR if self._live else ''}\n")
        self._lines = len(lines) if self._live else 0

    def _tell(self, lap: Lap, baseline: Lap) -> None:
        """A line each time that another quarter of the rows is done."""
        rows = sum(lap.rows)
        quarter = rows * QUARTERS // self._rows
        if quarter > self._told.get(lap.policy, 0):
            self._told[lap.policy] = quarter
            fields = f"policy={lap.policy} rows={rows} calls={sum(lap.calls)} saved={_share(lap.saved(baseline))}"
            self._out.write(f'{fields} route="{lap.route()}"\n')


def table(laps: Sequence[Lap]) -> Iterator[str]:
    """The head, and a line for each policy."""
    yield LINE.format(*HEAD)
    for lap in laps:
        counts = (f"{sum(lap.rows):,}", f"{lap.results:,}", f"{sum(lap.calls):,}")
        saved = "" if lap is laps[0] else _share(lap.saved(laps[0]))
        yield LINE.format(lap.policy, *counts, saved, lap.route()).rstrip()


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
