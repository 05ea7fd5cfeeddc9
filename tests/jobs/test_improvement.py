"""Gains over the baselines, and the page that shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eddy.errors import QueryError
from eddy.jobs.experiments import figures
from eddy.jobs.experiments.improvement import compute_improvement, summarize_rest
from eddy.jobs.experiments.tables import PLACE, csv_of, fill_tables, main, read_csv, tables
from tests.house import ROOT

CALLS = {"slow": (1_000, 2_000), "ours": (750, 1_400), "best": (500, 1_000)}
ROLES = {"slow": "baseline", "best": "bound"}


PAGES = "".join(page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
SHOWN = ROOT / "docs" / "figures"


def row(policy: str, seed: int, calls: int, **more: Any) -> dict[str, Any]:
    seconds = {"routing_seconds": 0.001, "learning_seconds": 0.001, "quiet_seconds": calls / 1_000, "seconds": 0.1}
    named = {"experiment": "tiny", "workload": "w", "policy": policy, "role": ROLES.get(policy, ""), "seed": seed}
    return {**named, "operators": 4, "tuples": 500, "routing_calls": calls, **seconds, **more}


ROWS = [row(policy, seed, calls) for policy, both in CALLS.items() for seed, calls in enumerate(both)]
PAGE = """# Page

<!-- begin tiny by operators -->
not run yet
<!-- end -->

<!-- begin other by A -->
old
<!-- end -->
"""


def test_gains_are_means_over_seeds() -> None:
    frame = compute_improvement(ROWS, by=["operators"]).set_index("policy")
    assert list(frame.index) == ["ours", "best"]
    ours = frame.loc["ours"]
    assert ours["calls %"] == "27.5 ± 4.9"
    assert ours["time %"] == "27.5 ± 4.9"
    assert ours["rate %"] == "38.1 ± 9.3"
    assert (ours["routing %"], ours["learning %"]) == ("1.0", "1.0")
    assert ours["spread of calls"] == "2.5"
    assert (ours["of bound %"], ours["of bound's rate %"]) == ("57", "69")
    assert ours["calls a tuple"] == "2.150"
    assert ours["overhead µs a call"] == "1.86"


def test_of_repeats_the_median_counts() -> None:
    repeated = [*ROWS, *(row("ours", 0, calls) for calls in (750, 9_000))]
    frame = compute_improvement(repeated, by=["workload"]).set_index("policy")
    assert frame.loc["ours", "calls %"] == "27.5 ± 4.9"


def test_cpu_seconds_are_compared_where_they_are_known() -> None:
    spent = [r | {"cpu_seconds": r["routing_calls"] / 500 + r["seed"]} for r in ROWS]
    frame = compute_improvement(spent, by=["operators"]).set_index("policy")
    assert frame.loc["ours", "cpu %"] == "24.5 ± 1.0"
    assert "cpu %" not in compute_improvement(ROWS, by=["operators"])


def test_one_seed_has_no_interval() -> None:
    frame = compute_improvement([r for r in ROWS if r["seed"] == 0], by=["workload"])
    assert frame["calls %"].tolist() == ["25.0", "50.0"]


def test_what_only_some_report_stands_where_it_is_known() -> None:
    rows = [r | ({"wrong": 0.02, "paper_calls": 21.2} if r["policy"] == "ours" else {}) for r in ROWS]
    frame = compute_improvement(rows, by=["workload"])
    assert frame["wrong"].tolist() == ["2.0%", ""]
    assert frame["paper: calls %"].tolist() == ["21.2", ""]


def test_the_columns_of_adapting_are_in_times_per_cent_and_rows() -> None:
    told = {"over_written": 1.0183, "regret": -0.0349, "adopted_after": 3_500.0}
    rows = [r | ({**told, "seed": r["seed"]} if r["policy"] == "ours" else {}) for r in ROWS]
    line = compute_improvement(rows, by=["workload"]).set_index("policy").loc["ours"]
    assert [line[name] for name in ("over written", "regret %", "adopted after, rows")] == ["1.018", "-3.5%", "3,500"]


def test_beside_a_summary_stands_only_what_it_does_not_say() -> None:
    more = summarize_rest(ROWS, by=["workload"])
    assert list(more.columns) == ["workload", "policy", "over", "of bound %", "of bound's rate %"]
    assert more["of bound %"].tolist() == ["57", "100"]
    assert summarize_rest([r | {"role": "baseline"} for r in ROWS if r["policy"] == "slow"], by=["workload"]).empty


def test_the_page_is_filled_where_it_says() -> None:
    found = tables(PAGE, ROWS)
    page = fill_tables(PAGE, found)
    assert "| 4 | ours | slow | 27.5 ± 4.9 |" in page
    assert "not run yet" not in page
    assert "old" in page
    assert fill_tables(page, found) == page


def test_a_place_with_a_column_that_no_row_has_is_named() -> None:
    with pytest.raises(QueryError, match=r'table of "tiny": unknown column "operator"; did you mean "operators"'):
        tables(PAGE.replace("by operators", "by operator"), ROWS)


def shown(chosen: str) -> str:
    return fill_tables(PAGE.replace("tiny by operators", f"tiny by operators; {chosen}"), tables(PAGE, ROWS))


def test_a_page_shows_the_lines_and_columns_that_it_asks_for() -> None:
    page = shown("only policy = ours; show calls % | of bound %")
    assert f"-->\n{table('operators over calls_% of_bound_%', '4 slow 27.5_±_4.9 57')}<!-- end -->\n" in page
    page = shown("only policy = ours | best; show of bound %")
    assert table("operators policy over of_bound_%", "4 ours slow 57", "4 best slow 100") in page


def table(head: str, *lines: str) -> str:
    rule = " ".join("---" for _ in head.split())
    return "".join(f"| {' | '.join(line.split())} |\n".replace("_", " ") for line in (head, rule, *lines))


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        ("only polic = ours", 'unknown column "polic"; did you mean "policy"'),
        ("show call %", 'unknown column "call %"; did you mean "calls %"'),
        ("hide calls %", 'expected "only COLUMN = VALUE" or "show COLUMNS", got "hide"'),
    ],
)
def test_what_a_place_asks_for_wrongly_is_named(chosen: str, complaint: str) -> None:
    with pytest.raises(QueryError, match=re.escape(complaint)):
        shown(chosen)


def test_the_page_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, rows = tmp_path / "page.md", tmp_path / "rows.json"
    page.write_text(PAGE, "utf-8")
    rows.write_text(json.dumps(ROWS), "utf-8")
    assert main([str(page), str(rows)]) == 0
    assert "27.5" in page.read_text("utf-8")
    lines = csv_of(page, "tiny").read_text("utf-8").splitlines()
    assert lines[0].startswith("operators,policy,over,calls %,calls % ±,")
    assert lines[1].startswith("4,ours,slow,27.5,4.9,")
    assert not csv_of(page, "other").exists()
    rows.write_text("{}", "utf-8")
    assert main([str(page), str(rows)]) == 2
    assert "expected the rows that `eddy compare` writes" in capsys.readouterr().err


def test_the_published_page_has_a_place_for_every_experiment_with_a_figure() -> None:
    for path in (ROOT / "conf" / "experiments").glob("*.toml"):
        assert f"conf/experiments/{path.name}" in PAGES
        assert path.stem == "quick" or f"<!-- begin {path.stem} by " in PAGES


def test_the_published_page_shows_what_its_csv_files_hold() -> None:
    for name in ("experiments", "flights", "airports", "baseball", "policies", "indexes"):
        page = ROOT / "docs" / f"{name}.md"
        text = page.read_text("utf-8")
        shown = {place["name"] for place in PLACE.finditer(text)}
        shown -= set(re.findall(r"<!-- begin (\w+) by [^\n]*-->\nnot run yet\n", text))
        found = {one: read_csv(csv_of(page, one)) for one in shown}
        assert found
        assert fill_tables(text, found) == text


def test_the_published_figures_are_of_the_csv_files(tmp_path: Path) -> None:
    for name in figures.CHARTS:
        shown = SHOWN / f"experiment_{name}.svg"
        assert figures.mark(name) in shown.read_text("utf-8")
        assert f"](figures/{shown.name})" in PAGES
    drawn = figures.draw("skew", figures=tmp_path).read_text("utf-8")
    assert figures.mark("skew") in drawn
    assert "8 operators" in drawn
