"""A test that starts a process without saying so fails."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.processes import Watch

POPEN = ("/bin/x", ["x", "-y"], None, None)


@dataclass(frozen=True)
class Marked:
    """A test with a mark, or without one."""

    mark: str = ""

    def get_closest_marker(self, name: str) -> str | None:
        return name if name == self.mark else None


def ran(item: Marked, event: str, arguments: tuple[object, ...]) -> None:
    """What a run of a test does, in which one thing happens."""
    watch = Watch()
    next(watch.pytest_runtest_setup(item))
    watch.hear(event, arguments)
    teardown = watch.pytest_runtest_teardown()
    next(teardown)
    next(teardown, None)


@pytest.mark.parametrize(("event", "arguments"), [("subprocess.Popen", POPEN), ("os.fork", ()), ("os.system", ("x",))])
def test_a_test_without_a_mark_that_starts_a_process_fails(event: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(pytest.fail.Exception, match=event):
        ran(Marked(), event, arguments)


@pytest.mark.parametrize("mark", ["spark", "process", "long"])
def test_a_test_with_a_mark_may_start_one(mark: str) -> None:
    ran(Marked(mark), "subprocess.Popen", POPEN)


def test_what_is_no_process_is_no_fault() -> None:
    ran(Marked(), "open", ("x", "r", 0))
    ran(Marked(), "subprocess.Popen", ("/usr/bin/fc-list", ["/usr/bin/fc-list"], None, None))


@pytest.mark.process
def test_python_tells_of_every_process() -> None:
    watch = Watch()
    sys.addaudithook(watch.hear)
    next(watch.pytest_runtest_setup(Marked()))
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert os.waitstatus_to_exitcode(os.system("true")) == 0
    teardown = watch.pytest_runtest_teardown()
    next(teardown)
    with pytest.raises(pytest.fail.Exception, match=r"subprocess\.Popen"):
        next(teardown)
