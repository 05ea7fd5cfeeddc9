"""How far a comparison has come, on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest

from eddy.comparison.turns import MOST_PROGRESS_LINES, Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("total", [1, 7, 100])
def test_without_a_terminal_it_is_a_few_plain_lines(total: int) -> None:
    out = io.StringIO()
    bar = Bar(total, out=out)
    for number in range(total):
        bar.step(f"run {number}")
    bar.close()
    lines = out.getvalue().splitlines()
    assert len(lines) == min(total, MOST_PROGRESS_LINES)
    assert lines[-1].startswith(f"{total}/{total} runs, 0 s left")
    assert "\r" not in out.getvalue()


def test_on_a_terminal_it_is_a_bar_in_one_line() -> None:
    out = Terminal()
    bar = Bar(2, out=out)
    bar.step("a long name of a run", kept=True)
    bar.step("short")
    bar.close()
    first, second = out.getvalue().strip("\r\n").split("\r")
    assert "[############------------] 1/2 runs, 1 kept" in first
    assert "[########################] 2/2 runs, 1 kept" in second
    assert len(second) >= len(first.rstrip())
    assert out.getvalue().endswith("\n")


def test_quiet_is_quiet() -> None:
    out = Terminal()
    bar = Bar(1, quiet=True, out=out)
    bar.step("x")
    bar.close()
    assert out.getvalue() == ""
