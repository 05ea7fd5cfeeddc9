"""Says what a run takes, while it runs: files, slow tests, and what is not over yet.

A log that somebody watches, or that ends in the middle, then tells where it is and where the time went.
"""

from __future__ import annotations

import os
import threading
import time

import pytest

TOLD = 1.0
"""Seconds from which on a file's time stands at the end of its line."""

SLOW = 5.0
"""Seconds from which on a test has a line of its own."""

SILENT = 60.0
"""Seconds without a word, after which the test that runs is named."""


class Clock:
    """A plug-in of pytest's, which writes between the lines that pytest writes."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal
        # While a test runs, pytest catches what is written; this goes where the terminal's own lines go.
        self._out = os.dup(1)
        self._begun = time.monotonic()
        self._file = ""
        self._in_file = 0.0
        self._in_test = 0.0
        self._running = ""
        self._over = threading.Event()
        self._heard = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        file = nodeid.partition("::")[0]
        if file != self._file:
            self._end_file()
            self._file = file
        self._in_test = 0.0
        self._running, self._heard = nodeid, time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
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

    def _end_file(self) -> None:
        if self._in_file >= TOLD:
            self._terminal.write_fspath_result(self._file, f" {self._in_file:.0f} s")
        self._in_file = 0.0

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            now, running = time.monotonic(), self._running
            if running and now - self._heard >= SILENT:
                self._heard = now
                os.write(self._out, f"\n{now - self._begun:6.0f} s  still runs: {running}\n".encode())
