"""A run says what takes long as soon as it is over, and what is not over yet."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tests.clock import SILENT, Clock


@dataclass
class Lines:
    """A terminal that keeps what is written."""

    written: list[str] = field(default_factory=list)

    def write_line(self, line: str) -> None:
        self.written.append(line.strip())

    def write_fspath_result(self, nodeid: str, res: str) -> None:
        self.written.append(f"{nodeid}{res}")


@dataclass(frozen=True)
class Took:
    duration: float


def run(clock: Clock, nodeid: str, *seconds: float) -> None:
    clock.pytest_runtest_logstart(nodeid)
    for part in seconds:
        clock.pytest_runtest_logreport(Took(part))
    clock.pytest_runtest_logfinish(nodeid)


def test_slow_tests_and_files_are_told_as_soon_as_they_are_over() -> None:
    lines = Lines()
    clock = Clock(lines)
    run(clock, "a.py::quick", 0.0, 0.1, 0.0)
    run(clock, "b.py::slow[x::y]", 2.0, 9.0, 1.0)
    assert lines.written == ["12 s  b.py::slow[x::y]"]
    run(clock, "b.py::quick", 0.0, 2.0)
    run(clock, "c.py::quick", 1.5)
    assert lines.written[1:] == ["b.py 14 s"]
    clock.pytest_sessionfinish()
    assert lines.written[2:] == ["c.py 2 s"]


def test_what_runs_is_named_once_a_minute() -> None:
    clock = Clock(Lines())
    begun = time.monotonic()
    assert clock.silence(begun + 2 * SILENT) == ""
    clock.pytest_runtest_logstart("a.py::endless")
    told = [clock.silence(begun + times * SILENT) for times in (0.5, 1.5, 2, 3)]
    assert [text.partition(" s  ")[2] for text in told] == ["", "still runs: a.py::endless"] * 2
    clock.pytest_runtest_logfinish("a.py::endless")
    assert clock.silence(begun + 9 * SILENT) == ""
