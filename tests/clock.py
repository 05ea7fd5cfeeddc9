"""Says what a run takes, while it runs: files, slow tests, and what is not over yet.

A log that somebody watches, or that ends in the middle, then tells where it is and where the time went.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol

import pytest

TOLD = 1.0
"""Seconds from which on a file's time stands at the end of its line."""

SLOW = 5.0
"""Seconds from which on a test has a line of its own."""

SILENT = 60.0
"""Seconds without a word, after which the test that runs is named."""


class Terminal(Protocol):
    """What is needed of pytest's own reporter: both write in its order, and know where its line stands."""

    def write_line(self, line: str) -> None:
        """Write a line of its own."""

    def write_fspath_result(self, nodeid: str, res: str) -> None:
        """Go on with the line of a file, or begin it."""


class Timed(Protocol):
    """What is needed of a report: each test has one for its beginning, itself, and its end."""

    @property
    def duration(self) -> float:
        """Seconds."""


class Clock:
    """A plug-in of pytest's, which writes between the lines that pytest writes."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._begun = self._heard = time.monotonic()
        self._file = self._running = ""
        self._in_file = self._in_test = 0.0
        self._over = threading.Event()

    def watch(self) -> None:
        """Name what runs whenever nothing has been said for long, until the run is over."""
        # While a test runs, pytest catches what is written; a copy goes where the terminal's own lines go.
        threading.Thread(target=self._watch, args=(os.dup(1),), daemon=True).start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        file = nodeid.partition("::")[0]
        if file != self._file:
            self._end_file()
            self._file = file
        self._in_test = 0.0
        self._running, self._heard = nodeid, time.monotonic()

    def pytest_runtest_logreport(self, report: Timed) -> None:
        self._in_test += report.duration

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._in_file += self._in_test
        self._running = ""
        if self._in_test >= SLOW:
            self._terminal.write_line(f"{self._in_test:6.0f} s  {nodeid}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._end_file()
        self._over.set()

    def silence(self, now: float) -> str:
        """What to say at some time: nothing, or which test runs."""
        if not self._running or now - self._heard < SILENT:
            return ""
        self._heard = now
        return f"{now - self._begun:6.0f} s  still runs: {self._running}"

    def _end_file(self) -> None:
        if self._in_file >= TOLD:
            self._terminal.write_fspath_result(self._file, f" {self._in_file:.0f} s")
        self._in_file = 0.0

    def _watch(self, out: int) -> None:
        while not self._over.wait(1.0):
            said = self.silence(time.monotonic())
            if said:
                os.write(out, f"\n{said}\n".encode())
