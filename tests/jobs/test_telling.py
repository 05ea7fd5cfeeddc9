"""Progress: one line that is replaced on a terminal, lines of fields in a log, nothing when asked to be quiet."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest

import eddy
from eddy.jobs.run.progress_line import MOST_DECISIONS, Teller, Total, list_decisions
from eddy.observe import wire
from eddy.observe.counters import Counters
from eddy.spark.monitoring.news import NewDecisions
from eddy.wiring import PolicyChoice
from tests.accounts import REASONS, Accounted
from tests.eddy.comparison.worlds import data, query


def progress(batch: int, watermark: str = "2026-01-01T08:00:00.000Z") -> dict[str, Any]:
    return {
        "batchId": batch,
        "numInputRows": 20,
        "processedRowsPerSecond": 12.6,
        "durationMs": {"triggerExecution": 1_590, "addBatch": 1_200},
        "eventTime": {"watermark": watermark},
    }


def told(teller: Teller) -> None:
    teller.say_begun(0)
    for batch in (0, 0, 1):
        teller.tell(progress(batch))
        teller.say_begun(batch + 1)
    teller.say("stopped")


LINE = "batch={} rows=20 total={} rows_per_second=13 seconds=1.59 watermark=2026-01-01T08:00:00.000Z"


def test_a_log_has_a_line_of_fields_for_each_micro_batch() -> None:
    out = io.StringIO()
    told(Teller(quiet=False, live=False, out=out))
    assert out.getvalue().splitlines() == [LINE.format(0, 20), LINE.format(1, 40), "stopped"]


def test_a_micro_batch_that_comes_after_a_while_without_rows_is_told() -> None:
    """Spark speaks of the micro-batch that it waits for, and later, when it is over, once more by the same number."""
    out = io.StringIO()
    teller = Teller(quiet=False, live=False, out=out)
    idle = {**progress(1), "numInputRows": 0, "durationMs": {"latestOffset": 3, "triggerExecution": 3}}
    for one in (progress(0), idle, idle, progress(1), {**idle, "batchId": 2}):
        teller.tell(one)
    assert out.getvalue().splitlines() == [LINE.format(0, 20), LINE.format(1, 40)]


def test_a_terminal_has_one_line_with_the_micro_batch_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = io.StringIO()
    told(Teller(quiet=False, live=True, out=out))
    first, *_, last = out.getvalue().split("\r")[1:]
    assert first == "now=0"
    assert last.split("\n") == [f"{LINE.format(1, 40)} now=2", "stopped", ""]


def test_a_line_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()
    told(Teller(quiet=False, live=True, out=out))
    assert max(map(len, out.getvalue().replace("\n", "\r").split("\r"))) == 39


def accounted(batch: int, reports: dict[int, Counters]) -> dict[str, Any]:
    """A micro-batch, and what each cell has told of it."""
    told = [json.dumps({"cell": cell, **wire.to_plain(part)}) for cell, part in reports.items()]
    return {**progress(batch), "observedMetrics": {"eddy": {"reports": told}}}


def counters(policy: PolicyChoice = Accounted) -> Sequence[Counters]:
    return eddy.run_local(query(), data(), policy=policy, batch_rows=40).report.counters


def test_the_account_so_far_and_new_decisions_are_told() -> None:
    out = io.StringIO()
    teller = Teller(quiet=False, live=False, out=out)
    for batch, part in enumerate(counters()):
        teller.tell(accounted(batch, {3: part}))
    teller.end("finished")
    *lines, end = out.getvalue().splitlines()
    batches = [line for line in lines if line.startswith("batch=")]
    assert [line.rpartition(" ")[2] for line in batches] == [
        "adapting=spent:2,written:2,saved:0,regret:+0.0%",
        "adapting=spent:4.27,written:4,saved:0,regret:+6.7%",
        "adapting=spent:6.41,written:6,saved:0,regret:+6.8%",
        "adapting=spent:7.94,written:8,saved:0.5,regret:-0.7%",
        "adapting=spent:9.47,written:10,saved:1,regret:-5.3%",
    ]
    assert end.endswith("adapting=spent:9.47,written:10,saved:1,regret:-5.3%")
    assert [line for line in lines if line not in batches] == [
        f'decided stream=s cell=3 policy=auto reason="{REASONS[0]}"',
        f'decided stream=s cell=3 policy=auto reason="{REASONS[1]}"',
        'decided stream=s cell=3 policy=query_mesh reason="first rows"',
        f'decided stream=s cell=3 policy=auto reason="{REASONS[2]}"',
    ]
    assert lines.index(batches[2]) < lines.index('decided stream=s cell=3 policy=query_mesh reason="first rows"')


def test_decisions_of_many_cells_are_counted() -> None:
    first, second = counters()[:2]
    told = NewDecisions()
    reports = [{"cell": cell, **wire.to_plain(first)} for cell in range(5)]
    assert len(list(list_decisions(told, reports))) == MOST_DECISIONS + 1
    assert list(list_decisions(told, reports)) == []
    (line,) = list_decisions(told, [{"cell": 4, **wire.to_plain(second)}])
    assert line == f'decided stream=s cell=4 policy=auto reason="{REASONS[1]}"'
    reports = [{"cell": cell, **wire.to_plain(second)} for cell in range(5)]
    assert list(list_decisions(told, reports))[-1] == "decided more=1"


@pytest.mark.parametrize("policy", ["fixed", {"name": "query_mesh", "S": 20}])
def test_policies_without_an_account_have_the_lines_that_they_had(policy: PolicyChoice) -> None:
    out = io.StringIO()
    teller = Teller(quiet=False, live=False, out=out)
    for batch, part in enumerate(counters(policy)):
        teller.tell(accounted(batch, {0: part}))
    assert [line.partition("=")[0] for line in out.getvalue().splitlines()] == ["batch"] * 5
    assert "adapting" not in out.getvalue()


class InMemory:
    """A note that a later start can read."""

    def __init__(self, text: str = "") -> None:
        self.text = text

    def read(self) -> str:
        return self.text

    def write(self, text: str) -> None:
        self.text = text


def test_the_total_goes_on_after_a_restart_and_says_when_it_is_only_a_part() -> None:
    note = InMemory()
    first = Total(note)
    assert [first.add(batch, 20) for batch in (0, 1)] == ["20", "40"]
    assert Total(note).add(1, 20) == "40"
    assert Total(note).add(2, 20) == "60"
    assert Total(note).add(4, 20) == "80+"
    assert Total(note).add(5, 20) == "100+"
    assert [Total(InMemory(text)).add(7, 20) for text in ("", "{", "[]", '{"batch": null}')] == ["20+"] * 4


def test_quiet_ends_with_one_line() -> None:
    out = io.StringIO()
    teller = Teller(quiet=True, live=False, out=out)
    told(teller)
    teller.end("finished")
    assert out.getvalue() == "finished; rows=40\n"


def test_quiet_is_quiet() -> None:
    for live in (True, False):
        out = io.StringIO()
        told(Teller(quiet=True, live=live, out=out))
        assert out.getvalue() == ""


def test_there_is_no_watermark_before_every_stream_has_shown_a_row() -> None:
    out = io.StringIO()
    Teller(quiet=False, live=False, out=out).tell(progress(0, "1970-01-01T00:00:00.000Z"))
    assert out.getvalue().rstrip().endswith("watermark=none")
