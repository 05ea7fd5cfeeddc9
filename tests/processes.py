"""A test that starts a process says so: those without the mark run in `make check`, which must stay quick.

A JVM for Spark is a process as well, so this also finds a test that starts Spark without asking for the session.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Protocol

import pytest

MARKS = ("spark", "process", "long")
"""Marks of tests that may start processes."""

STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")
"""What Python says when a process is started."""

LIBRARIES = ("fc-list", "lscpu", "uname")
"""Programs that libraries ask about the machine, once, when they are imported or have no notes of it yet."""


class Marked(Protocol):
    """What is needed of a test."""

    def get_closest_marker(self, name: str) -> object:
        """A mark that the test has, or None."""


class Watch:
    """A plug-in of pytest's that fails a test with none of the marks if a process is started while it runs."""

    def __init__(self) -> None:
        self._watching = False
        self._started: list[str] = []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """Take note of what Python does, for `sys.addaudithook`."""
        if self._watching and event in STARTS and program(event, arguments) not in LIBRARIES:
            self._started.append(f"{event}{arguments[:2]!r:.200}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: Marked) -> Generator[None, None, None]:
        self._started.clear()
        self._watching = not any(item.get_closest_marker(mark) for mark in MARKS)
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        yield
        self._watching = False
        if self._started:
            pytest.fail(
                f"a test without one of the marks {', '.join(MARKS)} has started a process: {self._started[0]}",
                pytrace=False,
            )


def program(event: str, arguments: tuple[object, ...]) -> str:
    """The name of what is started, where it is known.

    >>> program("subprocess.Popen", ("/usr/bin/uname", ["uname", "-p"], None, None)), program("os.fork", ())
    ('uname', '')
    """
    words = arguments[1] if event == "subprocess.Popen" and len(arguments) > 1 else None
    first = words[0] if isinstance(words, list | tuple) and words else ""
    return os.path.basename(os.fsdecode(first)) if isinstance(first, str | bytes | os.PathLike) else ""


def watch(config: pytest.Config) -> None:
    """Watch every test of a run."""
    watching = Watch()
    sys.addaudithook(watching.hear)
    config.pluginmanager.register(watching)
