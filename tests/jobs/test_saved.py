"""What a job says that it has saved is what its filters have counted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import eddy
from eddy.jobs.config.config import load
from eddy.jobs.run.calls_saved import main_route, tell_saved_calls, tell_savings
from eddy.jobs.workloads.registry import build
from eddy.jobs.workloads.web import bad_token, has_session, looks_scripted, requests
from tests.accounts import Accounted
from tests.house import ROOT

ROWS = 4_000
FILTERS = [
    eddy.Filter("bad_token", on="web", function=bad_token, columns=["body"], rowwise=True),
    eddy.Filter("has_session", on="web", function=has_session, columns=["cookie"]),
    eddy.Filter("scripted", on="web", function=looks_scripted, columns=["agent"]),
]
WEB = eddy.Stream("web", time="at")


def query(filters: list[eddy.Filter]) -> eddy.Query:
    return eddy.Query(streams=[WEB], filters=filters, select=["web.at"])


def test_what_filters_looked_at_is_held_against_all_rows_and_the_change_is_told() -> None:
    content = {"name": "content", "costs": "unit"}
    run = eddy.run_local(query(FILTERS), {"web": requests(ROWS)}, policy=content, batch_rows=400)
    counts = run.report.operators().set_index("operator")["evaluated"].astype(int)
    first, second = tell_saved_calls(query(FILTERS), run.report)
    assert first.startswith(f'3 Python filters on "web" looked at {counts.sum():,} rows: ')
    assert f"bad_token {counts['bad_token']:,}, has_session {counts['has_session']:,}, scripted" in first
    assert first.endswith(f"each look at all 4,000, which is 12,000: {1 - counts.sum() / 12_000:.0%} fewer")
    assert counts.sum() < 6_000
    before, after = main_route(run.report.counters[:5])[0], main_route(run.report.counters[5:])[0]
    assert second == f'most rows of "web" went {before} in the first half of the micro-batches, {after} in the second'
    assert before.startswith("has_session > ")
    assert after.startswith("scripted > ")


def test_the_first_job_of_the_readme_shows_what_it_is_for(tmp_path: Path) -> None:
    """Most that its filters need not look at, and the way of most rows, which changes with the traffic."""
    file = tmp_path / "job.toml"
    file.write_text(re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0])
    job = load(str(file))
    source = job.sources["web"]
    data = build(source["kind"], source["parameters"], seed=source["seed"]).data
    policy = {**job.policy, "costs": "unit"}  # as on a machine whose clock nobody else disturbs
    run = eddy.run_local(job.query, data, policy=policy, batch_rows=source["per_trigger"])
    looked, moved = tell_saved_calls(job.query, run.report)
    assert "each look at all 10,000, which is 30,000: 6" in looked
    assert "went session > " in moved
    assert ", scripted > " in moved


def test_a_job_ends_with_what_adapting_has_cost_and_saved() -> None:
    run = eddy.run_local(query(FILTERS), {"web": requests(ROWS)}, policy=Accounted, batch_rows=400)
    *calls, last = tell_savings([query(FILTERS)], run.report)
    assert calls == list(tell_saved_calls(query(FILTERS), run.report))
    assert last == (
        "adapting: 620 ms spent on samples, duels, control and learning; 3.5 s saved, of 20 s in the written order"
    )
    plain = eddy.run_local(query(FILTERS), {"web": requests(ROWS)}, policy="content", batch_rows=400)
    assert list(tell_savings([query(FILTERS)], plain.report)) == list(tell_saved_calls(query(FILTERS), plain.report))


def test_a_static_plan_saves_and_does_not_move() -> None:
    run = eddy.run_local(query(FILTERS), {"web": requests(ROWS)}, policy="fixed", batch_rows=400)
    (line,) = tell_saved_calls(query(FILTERS), run.report)
    assert "bad_token 4,000" in line


def test_one_filter_in_python_and_what_spark_compiles_are_no_saving() -> None:
    filters = [FILTERS[0], eddy.Filter("big", on="web", where="size > 100")]
    run = eddy.run_local(query(filters), {"web": requests(ROWS)}, policy="content", batch_rows=400)
    assert list(tell_saved_calls(query(filters), run.report)) == []
    assert list(tell_saved_calls(query(FILTERS), eddy.Report([]))) == []


def test_streams_of_a_join_are_told_apart() -> None:
    def odd(v: pd.Series) -> pd.Series:
        return v % 2 == 1

    def low(v: pd.Series) -> pd.Series:
        return v < 3

    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "ab"]
    filters = [eddy.Filter(f.__name__, on="b", function=f, columns=["v"]) for f in (odd, low)]
    asked = eddy.Query(
        streams=streams, joins=["a.k = b.k"], filters=[*filters, eddy.Filter("x", on="a", where="v > 0")]
    )
    rng = np.random.default_rng(0)
    data = {s: pa.table({"ts": np.arange(200), "k": np.arange(200) % 9, "v": rng.integers(0, 6, 200)}) for s in "ab"}
    run = eddy.run_local(asked, data, policy="fixed", batch_rows=50)
    (line,) = tell_saved_calls(asked, run.report)
    assert line.startswith('2 Python filters on "b" looked at ')
    assert "each look at all 200, which is 400" in line
