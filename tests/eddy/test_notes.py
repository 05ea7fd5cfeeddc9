"""What a notebook shows of values: small, escaped, and with nothing from elsewhere."""

from __future__ import annotations

import datetime
import sys
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import eddy
from eddy.observe.notebook import MOST_NOTE_ROWS, NUMBER_LOOK, TEXT_LOOK, table
from tests.eddy.comparison.worlds import data, query

EVIL = '<img src="https://example.org/x" onerror="alert(1)">'


class Tags(HTMLParser):
    """The tags that are there, each closed in its turn; no more than a table needs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows = 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"p", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"}
        # No color: a notebook has its own, dark or light.
        looks = {TEXT_LOOK, NUMBER_LOOK} if tag in {"th", "td"} else {"line-height: 1.3"} if tag == "pre" else set()
        assert {name for name, _ in attrs} <= {"style"}
        assert {value for _, value in attrs} <= looks
        self.rows += tag == "tr"
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def run() -> eddy.Run:
    return eddy.run_local(query(), data(), batch_rows=50)


def test_a_run_shows_its_first_rows_and_its_report(run: eddy.Run) -> None:
    html = run._repr_html_()
    assert Tags(html).rows == 1 + MOST_NOTE_ROWS + 1 + 2 + 1 + 4
    assert f"{run.results.num_rows} results, the first {MOST_NOTE_ROWS}" in html
    assert run.report._repr_html_() in html


def test_a_report_shows_operators_with_what_they_did(run: eddy.Run) -> None:
    html = run.report._repr_html_()
    Tags(html)
    assert "4 micro-batches" in html
    assert f'<td style="{TEXT_LOOK}">big</td>' in html
    assert "pattern" not in html
    assert eddy.Report([])._repr_html_()


def test_a_query_shows_its_parts_and_escapes_them() -> None:
    def looks_bad(v: Any) -> Any:
        return v > 1

    streams = [eddy.Stream("a", time="ts", window=eddy.Range("1 minute")), eddy.Stream("b", time="ts")]
    filters = [
        eddy.Filter("evil", on="a", where=f"v <> '{EVIL}'"),
        eddy.Filter("bad", on="b", function=looks_bad, columns=["v"]),
    ]
    html = eddy.Query(streams=streams, joins=["a.k = b.k"], filters=filters, select=["a.v"])._repr_html_()
    assert Tags(html).rows == 1 + 2 + 1 + 2 + 1
    for part in ("a.k = b.k", "b: looks_bad(v)", "by ts, Range(", ">a.v</td>"):
        assert part in html


def test_values_of_every_kind_are_texts() -> None:
    values = [EVIL, "x" * 500, b"\xff", None, float("nan"), 1e9, {"a": [1]}, datetime.datetime(2026, 1, 1)]
    html = table(pd.DataFrame({EVIL: pd.Series(values, dtype=object)}))
    assert Tags(html).rows == len(values) + 1
    assert len(html) < 1_500
    rows = pa.table({"ts": range(20), "v": [EVIL] * 20})
    one = eddy.Query(streams=[eddy.Stream("s", time="ts")], select=["s.v"])
    Tags(eddy.run_local(one, {"s": rows})._repr_html_())


def test_none_of_it_needs_matplotlib(run: eddy.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "eddy.comparison.plots"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = eddy.compare(query(), data(), ["fixed", "random"], repeats=1, quiet=True)
    assert all("<table" in one._repr_html_() for one in (found, run, run.report, query()))
