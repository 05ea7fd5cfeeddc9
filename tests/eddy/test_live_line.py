"""Progress in notebooks: one line that is written anew, and silence everywhere else."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy.comparison.turns import Bar
from eddy.live_line import PATIENCE_SECONDS, LiveLine


class Shown:
    """The output of a cell: what is displayed, and what takes its place."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.cells = 0

    def __call__(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Shown:
        assert raw
        assert display_id
        self.cells += 1
        return self.update(bundle, raw=raw)

    def update(self, bundle: dict[str, str], *, raw: bool) -> Shown:
        self.texts.append(bundle["text/plain"])
        return self


class Seconds:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """IPython as a kernel has it; it is none of ours."""
    shown = Shown()
    shell = SimpleNamespace(kernel=object())
    ipython: Any = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=shown))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr("eddy.live_line.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("eddy.live_line.PAUSE_SECONDS", 0.0)
    return shown


QUERY = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=[eddy.Filter("big", on="s", where="v > 1")])
ROWS = pa.table({"ts": range(10), "v": range(10)})


def test_a_line_takes_the_place_of_the_last_one_after_a_while() -> None:
    shown, clock = Shown(), Seconds()
    line = LiveLine(shown, clock)
    line.show(lambda: "too soon")
    clock.now += PATIENCE_SECONDS
    for text in ("First", "Too soon"):
        line.show(text.title)
    line.show(lambda: "last", last=True)
    assert (shown.cells, shown.texts) == (1, ["First", "last"])


def test_what_is_over_at_once_shows_nothing() -> None:
    shown = Shown()
    LiveLine(shown, Seconds()).show(lambda: "last", last=True)
    assert shown.texts == []


def test_a_local_run_tells_of_its_micro_batches(notebook: Shown) -> None:
    eddy.run_local(QUERY, {"s": ROWS}, batch_rows=4)
    assert notebook.cells == 1
    assert notebook.texts[0] == "micro-batch 1 of 3: 4 rows, 2 results"
    assert notebook.texts[-1] == "micro-batch 3 of 3: 10 rows, 8 results"
    notebook.texts.clear()
    eddy.run_local(QUERY, {"s": iter([ROWS, ROWS])})
    assert notebook.texts[-1] == "micro-batch 2: 20 rows, 16 results"
    notebook.texts.clear()
    list(eddy.iter_local(QUERY, {"s": ROWS}))  # whoever takes the parts has a loop of his own
    assert notebook.texts == []


def test_a_comparison_shows_its_bar(notebook: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar(2)
    bar.step("fixed")
    bar.step("auto")
    assert notebook.cells == 1
    assert "2/2 runs" in notebook.texts[-1]
    Bar(1, quiet=True).step("fixed")
    assert notebook.cells == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("shell", [None, SimpleNamespace(kernel=None)])
def test_elsewhere_it_is_silent(
    shell: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor in a terminal of IPython."""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert not LiveLine().is_live
    monkeypatch.delitem(sys.modules, "IPython")
    eddy.run_local(QUERY, {"s": ROWS})
    assert capsys.readouterr() == ("", "")
