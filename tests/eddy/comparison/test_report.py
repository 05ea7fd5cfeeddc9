"""The report: in one file, in a browser, with nothing from elsewhere and nothing of data that acts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import eddy
from eddy.comparison.result import Comparison
from eddy.errors import QueryError
from eddy.observe.regret import account_cells, sum_over_batches
from eddy.wiring import PolicyChoice
from tests.accounts import REASONS, Accounted
from tests.eddy.comparison.browser import Browser, browser, found
from tests.eddy.comparison.worlds import POLICIES, STAR, comparison, data, query

EVIL = '<img src="https://example.org/x.png" onerror="document.title=1"></td></script><script>alert(1)</script> $x_{$'

needs_browser = pytest.mark.skipif(found() is None, reason="no chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def small() -> Comparison:
    workloads = [{**STAR, "label": "steady", "drift": None}, {**STAR, "label": f"drifting {EVIL}"}]
    workloads[0].pop("drift")
    policies = [*POLICIES, {"name": "source", "label": EVIL}]
    return comparison(workload=workloads, policies=policies, repeats=2)


@pytest.fixture(scope="module")
def page(small: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report") / "report.html"
    small.report(place)
    return place


@pytest.fixture(scope="module")
def shown(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.open(page)
        yield opened


@pytest.mark.process
@needs_browser
def test_it_renders_without_complaints_or_requests(shown: Browser, page: Path) -> None:
    assert shown.value("document.readyState") == "complete"
    assert shown.complaints() == []
    assert shown.requests() == [page.as_uri()]


@pytest.mark.process
@needs_browser
def test_the_verdict_comes_first_and_is_on_the_first_screen(shown: Browser, small: Comparison, tmp_path: Path) -> None:
    headline = shown.value("document.querySelector('.headline').textContent")
    assert small.verdict.startswith(headline)
    assert shown.value("document.querySelector('.verdict').getBoundingClientRect().top") < 400
    assert shown.value("document.querySelector('h2').compareDocumentPosition(document.querySelector('.verdict'))") == 2
    shown.picture(tmp_path / "first.png", 1280, 900)
    assert (tmp_path / "first.png").stat().st_size > 10_000


@pytest.mark.process
@needs_browser
def test_every_plot_is_there_and_drawn(shown: Browser, small: Comparison) -> None:
    names = shown.value("Array.from(document.querySelectorAll('figure'), f => f.id)")
    assert names == [f"plot-{name}" for name in small.plots]
    sizes = shown.value("Array.from(document.querySelectorAll('figure img'), i => Math.min(i.naturalWidth, i.width))")
    assert len(sizes) == len(names)
    assert min(sizes) > 300


@pytest.mark.process
@needs_browser
def test_tables_sort_up_and_down(shown: Browser) -> None:
    column = "Array.from(document.querySelectorAll('table.sorts')[1].tBodies[0].rows, r => r.cells[1].dataset.value)"
    press = "document.querySelectorAll('table.sorts')[1].tHead.rows[0].cells[1].querySelector('button').click()"
    numbers = []
    for direction in ("ascending", "descending"):
        shown.value(press)
        numbers.append([float(value) for value in shown.value(column)])
        said = "document.querySelectorAll('table.sorts')[1].tHead.rows[0].cells[1].getAttribute('aria-sort')"
        assert shown.value(said) == direction
    assert numbers[0] == sorted(numbers[0])
    assert numbers[1] == numbers[0][::-1]
    assert len(set(numbers[0])) > 1


@pytest.mark.process
@needs_browser
def test_text_of_data_is_text(shown: Browser) -> None:
    texts = shown.value("document.body.textContent")
    assert EVIL in texts
    assert shown.value("document.querySelectorAll('main script, img:not([src^=\"data:\"])').length") == 0


@pytest.mark.process
@needs_browser
def test_a_complaint_and_a_request_would_be_noticed(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='http://127.0.0.1:9/x.png'><script>console.error('x'); throw 1</script>", "utf-8")
    with browser(tmp_path / "profile") as opened:
        opened.open(bad)
        assert len(opened.complaints()) >= 2
        assert opened.requests() == [bad.as_uri(), "http://127.0.0.1:9/x.png"]


def test_nothing_in_the_file_is_fetched(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "<link" not in text
    assert re.findall(r'<(?:img|script|iframe)[^>]*\ssrc="(?!data:)', text) == []
    assert "default-src 'none'" in text
    assert "url(" not in text


def test_the_terminal_the_notebook_and_the_page_say_the_same_figures(small: Comparison, page: Path) -> None:
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page.read_text("utf-8"), re.DOTALL)
    shown = {word.strip(",") for cell in cells for word in re.sub("<[^>]*>", " ", cell).split()}
    for by_workload in (False, True):
        frame, text = small.summary(by_workload=by_workload), small.table(by_workload=by_workload)
        assert len(text.splitlines()) == len(frame) + 1
        for title in frame.columns.drop("role"):
            for value in frame[title].dropna():
                written = {f"{value:.1f}"} if title.endswith("%") or title.startswith("at ") else {f"{value:.3g}"}
                assert {*written, f"{value:,.0f}"} & shown & {word.strip() for word in text.split()}, title


def test_every_setting_and_the_command_are_there(page: Path, small: Comparison) -> None:
    text = page.read_text("utf-8")
    assert small.command in text
    for part in ("rows of a micro-batch", "[200]", "numpy", "seeds"):
        assert part in text


def test_what_adapting_cost_and_saved_is_shown_with_the_last_decisions(tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    policies: dict[str, PolicyChoice] = {
        "fixed": "fixed",
        "the mesh": {"name": "query_mesh", "S": 20, "costs": "unit"},
        "Accounted": Accounted,
    }
    # So many rows pay for a whole decision of the mesh.
    eddy.compare(query(), data(8_000), policies, repeats=1, batch_rows=2_000, quiet=True).report(place)
    text = place.read_text("utf-8")
    assert "<h2>What adapting cost and saved</h2>" in text
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    whole = sum_over_batches(eddy.run_local(query(), data(8_000), policy=Accounted, batch_rows=2_000).report.counters)
    assert ["orders", "Accounted", *account_cells(whole[0])] in rows
    decided = [row[1:] for row in rows if len(row) == 6 and row[0] == "orders"]
    own = [row[1:] for row in decided if row[0] == "Accounted"]
    assert own == [
        ["0", "s", "auto", REASONS[0]],
        ["1", "s", "auto", REASONS[1]],
        ["2", "s", "query_mesh", "first rows"],
        ["3", "s", "auto", REASONS[2]],
    ]
    mesh = eddy.run_local(query(), data(8_000), policy=policies["the mesh"], batch_rows=2_000).report.decisions()
    assert [row for row in decided if row[0] == "the mesh"] == [
        ["the mesh", str(batch), "s", "the mesh", reason]
        for batch, reason in zip(mesh["batch"], mesh["reason"], strict=True)
    ]
    assert len(mesh)


def test_where_nobody_decides_there_is_nothing_about_it(tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    eddy.compare(query(), data(), ["fixed", "random"], repeats=1, quiet=True).report(place)
    assert "What adapting cost" not in place.read_text("utf-8")
    assert "The last decisions" not in place.read_text("utf-8")


def test_secrets_are_not(small: Comparison, tmp_path: Path) -> None:
    settings = {"source": {"password": "hush1", "path": "s3://me:hush2@host/a"}, "token": "hush3"}
    few: dict[str, Any] = {"traced": (), "settings": settings, "command": "python -m x s3://me:hush4@host/b"}
    told = replace(small, **few)
    told.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "hush" not in text
    assert text.count("(hidden)") == 4


def test_a_place_that_cannot_be_written_is_an_error(small: Comparison, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r'expected a name that ends in "\.html", "\.htm", got "\.pdf"'):
        small.report(tmp_path / "r.pdf")
    with pytest.raises(QueryError, match="there is no such folder"):
        small.report(tmp_path / "nowhere" / "r.html")
