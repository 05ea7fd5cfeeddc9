"""The demo runs as `make demo` runs it; what it shows is what the reports say."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import eddy
from eddy.jobs import cli
from eddy.jobs.commands.demo import DIFFER, POLICIES, verdict
from eddy.jobs.demo.page import Board, page, table
from eddy.jobs.demo.racing import Lap, write_calls
from eddy.jobs.workloads.web import QUERY, requests
from eddy.observe.regret import account_cells, sum_over_batches, tell_adapting
from tests.accounts import REASONS, Accounted
from tests.house import ROOT

DATA = {"web": requests(2_000)}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def laps() -> list[Lap]:
    runs = {p: eddy.run_local(QUERY, DATA, policy=choice, batch_rows=500) for p, choice in POLICIES.items()}
    return [Lap(policy=policy, report=run.report) for policy, run in runs.items()]


@pytest.fixture(scope="module")
def known() -> list[Lap]:
    return laps()


@pytest.mark.process
@pytest.mark.timeout(600)
def test_every_policy_gives_the_same_answer_on_spark(tmp_path: Path) -> None:
    report = tmp_path / "new" / "demo.html"
    command = [sys.executable, "-m", "eddy.jobs.cli", "demo", "--rows", "4000", "--report", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("policy "))
    shown = lines[first + 1 : first + 1 + len(POLICIES)]
    assert [line.split()[:2] for line in shown] == [[policy, "4,000"] for policy in POLICIES]
    assert "all 5 answers are the same" in done.stdout
    assert "</html>" in report.read_text("utf-8")


def test_answers_that_differ_are_a_failure(known: list[Lap]) -> None:
    answers = dict.fromkeys(POLICIES, requests(5))
    told, code = verdict(known, answers)
    assert code == 0
    assert "all 5 answers are the same, 5 rows" in told
    told, code = verdict(known, {**answers, "content": requests(5, seed=1)})
    assert code == DIFFER != 0
    assert 'THE ANSWERS OF "content" AND "fixed" DIFFER' in told


def test_what_is_saved_is_held_against_the_static_plan(known: list[Lap]) -> None:
    fixed, source = known[0], known[1]
    assert fixed.compute_saving(fixed) == 0
    assert source.compute_saving(fixed) == 1 - sum(source.calls) / sum(fixed.calls)
    half = Lap(policy="source", report=eddy.Report(source.report.counters[:2]))
    assert half.compute_saving(fixed) == 1 - sum(source.calls[:2]) / sum(fixed.calls[:2])
    assert Lap(policy="source", report=eddy.Report([])).compute_saving(fixed) is None
    assert fixed.route() == "signed > scripted > bad_token (100%)"


def test_a_terminal_shows_one_table_and_a_log_shows_lines(known: list[Lap]) -> None:
    terminal, log = Terminal(), io.StringIO()
    for out in (terminal, log):
        board = Board(2_000, out)
        for _ in range(3):
            board.show(known)
        board.end(known)
    shown = list(table(known))
    adapting = [line for line in shown if line.startswith("auto")][1:]
    assert terminal.getvalue().count(f"\x1b[{len(shown)}F") == 3
    lines = log.getvalue().splitlines()
    assert "\x1b" not in log.getvalue()
    assert lines[0].startswith("policy=fixed rows=2000 calls=")
    assert lines[-len(shown) :] == shown
    assert lines[: -len(shown)][-len(adapting) :] == adapting
    assert len(lines) == len(POLICIES) + len(adapting) + len(shown)
    assert len(shown) == 1 + len(POLICIES) + len(adapting)


def test_the_report_is_one_whole_page(known: list[Lap]) -> None:
    text = page(known, "verdict: 1 < 2")
    opened: list[str] = []

    class Check(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in ("meta", "!doctype"):
                opened.append(tag)
            assert tag not in ("script", "link", "img")

        def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag in {"line", "polyline"}

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Check().feed(text)
    assert opened == []
    assert "1 &lt; 2" in text
    assert text.count("<polyline") == len(POLICIES)
    assert [policy for policy in POLICIES if f"<h2>{policy}: who went where</h2>" not in text] == []


def test_what_adapting_has_cost_is_on_the_board_and_on_the_page(known: list[Lap]) -> None:
    run = eddy.run_local(QUERY, DATA, policy=Accounted, batch_rows=500)
    told = [*known, Lap(policy="<auto>", report=run.report)]
    line = f"<auto>: {tell_adapting(sum_over_batches(run.report.counters), write_calls)}"
    last = f"auto about web: {REASONS[2]}"
    assert list(table(told))[-2:] == [line, last]
    terminal, log = Terminal(), io.StringIO()
    for out in (terminal, log):
        board = Board(2_000, out)
        board.show(told)
        board.end(told)
    assert terminal.getvalue().count(f"\x1b[{len(list(table(told)))}F") == 1
    assert [log.getvalue().splitlines().count(text) for text in (line, last)] == [2, 2]
    text = page(told, "verdict")
    assert f"<p>{escape(line)}</p>" in text
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    assert account_cells(run.report.counters[-1].insight.regrets[0])[:3] in [row[:3] for row in rows]
    assert ["1", "auto", "web", REASONS[0]] in rows
    assert ["3", "query_mesh", "web", "first rows"] in rows


def test_the_demo_ends_with_what_the_default_has_cost_and_saved_in_calls(known: list[Lap]) -> None:
    *_, told, decided = table(known)
    assert re.fullmatch(
        r"auto: adapting: [\d,]+ calls spent on samples, duels, control and learning; "
        r"[\d,]+ calls (saved|lost), of [\d,]+ calls in the written order",
        told,
    )
    assert decided.startswith("auto about web: ")
    assert f"<p>{escape(told)}</p>" in page(known, "verdict")


def test_policies_without_an_account_show_their_reasons_alone(known: list[Lap]) -> None:
    known = [lap for lap in known if lap.policy != "auto"]
    text = page(known, "verdict")
    assert "adapting" not in text
    assert not [line for line in table(known) if "adapting" in line]
    assert text.count('<table class="reasons">') == 1
    (mesh,) = [lap.report for lap in known if lap.policy == "query_mesh"]
    *_, last = mesh.decisions()["reason"]
    assert text.count(f"<td>{last}</td>") == 1


def test_tables_line_up_and_add_up(known: list[Lap]) -> None:
    text = page(known, "verdict")
    assert "table-layout: fixed" in text
    tables = re.findall(r'<table class="routes">(.*?)</table>', text, re.DOTALL)
    assert len(tables) == len(POLICIES)
    for lap, shown in zip(known, tables, strict=True):
        halves = shown.split('<tr class="when">')[1:]
        totals = []
        for half in halves:
            *lines, whole = re.findall(r'<td class="n">([\d,]+)</td><td class="n">(\d+)%</td>', half)
            counts = [int(count.replace(",", "")) for count, _ in lines]
            assert sum(counts) == int(whole[0].replace(",", ""))
            assert sum(int(share) for _, share in lines) == int(whole[1]) == 100
            assert len(re.findall("<td", half)) == 4 * (len(lines) + 1)
            totals.append(sum(counts))
        assert totals == [sum(lap.rows[:2]), sum(lap.rows[2:])]


def test_the_axes_have_ticks_and_say_what_they_count(known: list[Lap]) -> None:
    chart = re.findall(r"<svg.*?</svg>", page(known, "verdict"), re.DOTALL)[0]
    ticks = re.findall(r'text-anchor="(end|middle)">([\d.]+)</text>', chart)
    most = max(calls / rows for lap in known for calls, rows in zip(lap.calls, lap.rows, strict=True))
    assert [float(text) for side, text in ticks if side == "end"] == [n / 2 for n in range(int(most * 2) + 1)]
    assert [int(text) for side, text in ticks if side == "middle"] == [1, 2, 3, 4]
    assert ">calls per request<" in chart
    assert ">micro-batch of 500 requests<" in chart


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--rows", "0"], "--rows: expected a whole number of 1 or more, got 0"),
        (["--report", "setup.cfg/demo.html"], '--report "setup.cfg/demo.html": cannot be written'),
    ],
)
def test_what_cannot_be_is_found_before_the_work(
    given: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert cli.main(["demo", *given]) == cli.FAILED
    assert message in capsys.readouterr().err
