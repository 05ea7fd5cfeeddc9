"""A line of progress in a notebook, which is written anew; nothing is shown elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from eddy.contracts import Clock

PATIENCE_SECONDS = 0.5
"""Seconds before a first line: what is over by then needs none."""

PAUSE_SECONDS = 0.2
"""Seconds from one line to the next: as often as a person reads."""


class LiveLine:
    """One line in the output of a notebook's cell.

    `display` shows a text, and gives a handle by which it is shown anew. If nothing is said it is IPython's where a
    notebook is open. Elsewhere, and in a terminal of IPython, nothing is shown.
    """

    def __init__(self, display: Callable[..., Any] | None = None, clock: Clock = time.monotonic) -> None:
        self._display = display or _find_display()
        self._clock = clock
        self._next = clock() + PATIENCE_SECONDS
        self._handle: Any = None

    @property
    def is_live(self) -> bool:
        """Whether there is somebody to see it."""
        return self._display is not None

    def show(self, write: Callable[[], str], *, last: bool = False) -> None:
        """Show a text in place of the one before, if it is time.

        The `last` one is always shown, if there was one before.
        """
        now = self._clock()
        if self._display is None or (now < self._next and not (last and self._handle)):
            return
        self._next = now + PAUSE_SECONDS
        bundle = {"text/plain": write()}
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def _find_display() -> Callable[..., Any] | None:
    """Find how a notebook shows things. Where nobody has imported IPython there is none, so it is not imported here."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    # A terminal has a shell without a kernel.
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    display: Callable[..., Any] = sys.modules["IPython"].display.display
    return display
