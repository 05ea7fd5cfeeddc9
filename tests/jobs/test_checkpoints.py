"""What `eddy inspect` and `eddy explain --checkpoint` say of a checkpoint with several streams in it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import eddy
from eddy.engine.snapshot import unpack
from eddy.jobs import cli
from eddy.jobs.commands import inspect
from eddy.jobs.config.config import load
from eddy.jobs.run import run_job
from eddy.jobs.run.checkpoints import MOST_REASONS, CellState, Checkpoint, describe_learned
from eddy.jobs.run.sinks import write_answer
from eddy.jobs.workloads.web import QUERY, requests
from eddy.observe.indexing import latest_indexing
from eddy.observe.regret import sum_over_batches, tell_adapting
from eddy.policies.shared.account import Account
from eddy.tuples.arrow import one_batch
from eddy.wiring import engine
from tests.accounts import REASONS, Accounted
from tests.eddy.test_indexing import COUNT, TUNING
from tests.house import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACES = ('"../build/checkpoints/orders_of_clicks"', '"../build/orders_of_clicks"')


@pytest.fixture(scope="module")
def job(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with two streams, after a run."""
    place = tmp_path_factory.mktemp("job")
    text = (ROOT / "conf" / "two_streams.toml").read_text("utf-8")
    for old, new in zip(PLACES, (f'"{place}/checkpoint"', f'"{place}/out"'), strict=True):
        assert old in text
        text = text.replace(old, new)
    text = text.replace("per_trigger = 1_000", "per_trigger = 3_000").replace(
        "per_trigger = 400", "per_trigger = 1_200"
    )
    text = text.replace('name = "auto"', 'name = "content"\nattributes = ["clicks.page"]')
    (place / "job.toml").write_text(text, "utf-8")
    asked = load(place / "job.toml")
    write_answer(run_job.answer(asked, spark), asked).start().awaitTermination()
    return place


def test_inspect_shows_cells_stems_statistics_and_policy(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(job / "checkpoint")]) == 0
    told = capsys.readouterr().out
    for part in (
        'join "clicks.id = orders.click": a join',
        "cells: 4, of which 4 have had rows",
        "policy of cells 0, 1, 2, 3: ",
        "operator      searched by",
        "how stored rows were found",
    ):
        assert part in told
    for stream, other in (("clicks", "orders"), ("orders", "clicks")):
        assert re.search(rf'routes of "{stream}", as taken last\n  class .*\n  .* probe_{other} ', told)
    assert len([line for line in told.splitlines() if line.count(" rows, ") == 2]) == 4


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("content", ["agent=curl/8.5 (script)", "agent=Mozilla/5.0 (person)"]),
        ("query_mesh", ['who takes which way of "web", cell 3', "  -> "]),
    ],
)
def test_classes_and_trees_are_shown_by_name(policy: str, expected: list[str]) -> None:
    data = {"web": requests(12_000)}
    found = engine(
        QUERY,
        {"web": data["web"].schema},
        {"name": policy, "costs": "unit", "attributes": ["web.agent"]},
        tables={},
        clock=float,
        seed=0,
    )
    for start in range(0, 12_000, 1_000):
        for _ in found.run({"web": one_batch("web", data["web"].slice(start, 1_000))}):
            pass
    cell = CellState(number=3, meta=unpack(found.snapshot())[0], stems={}, nbytes=0)
    told = "\n".join(describe_learned([cell]))
    assert [part for part in expected if part not in told] == []
    assert "policy of cell 3: " in told


def test_inspect_shows_one_cell_alone(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(job / "checkpoint"), "--cell", "2"]) == 0
    assert "policy of cell 2: " in capsys.readouterr().out
    assert cli.main(["inspect", str(job / "checkpoint"), "--cell", "9"]) == cli.FAILED
    assert "--cell: expected one of 0, 1, 2, 3, got 9" in capsys.readouterr().err


def test_explain_shows_what_has_been_learned(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", str(job / "job.toml")]) == 0
    assert f"eddy explain {job}/job.toml --checkpoint" in capsys.readouterr().out
    assert cli.main(["explain", str(job / "job.toml"), "--checkpoint"]) == 0
    told = capsys.readouterr().out
    assert f'learned in "{job}/checkpoint"' in told
    assert 'routes of "clicks", as taken last' in told


def test_explain_tells_what_a_restart_would_change(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The filter that Spark has evaluated would be the eddy's."""
    override = ["--set", "engine.pushdown=false"]
    assert cli.main(["explain", str(job / "job.toml"), "--checkpoint", *override]) == 0
    assert 'a restart of this job: filters changed: "bought"; stored rows are asked' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("streams.clicks.window=1 minute", "the checkpoint has \"Range('2 minutes')\""),
        ("engine.cells=3", "cells: the checkpoint has 4, this start has 3"),
    ],
)
def test_explain_refuses_the_checkpoint_of_another_job(
    override: str, message: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", str(job / "job.toml"), "--checkpoint", "--set", override]) == cli.FAILED
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_checkpoint_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(tmp_path)]) == cli.FAILED
    assert "expected a folder with the state of a query in it" in capsys.readouterr().err
    example = str(ROOT / "conf" / "quickstart.toml")
    assert cli.main(["explain", example, "--checkpoint"]) == cli.FAILED
    assert "the job names no checkpoint.location" in capsys.readouterr().err


def cell(number: int, state: Any) -> CellState:
    return CellState(number=number, meta={"policy": "{}", "statistics": [], "state": state}, stems={}, nbytes=0)


def left_behind(saved: float, *reasons: str, state: str = "in charge", arm: str = "content") -> dict[str, Any]:
    """What `auto` leaves in a cell about a stream."""
    account = Account(regret=0.02, allowance=0.5)
    account.pay_rows(written=10.0, spent=10.0 - saved)
    account.pay("sampling", 0.25)
    return {"state": state, "arm": arm, "account": account.snapshot(), "reasons": list(reasons)}


def test_the_account_and_the_last_reasons_are_read_from_the_state_of_a_policy() -> None:
    cells = [
        cell(0, {"streams": {"a": left_behind(4.0, "first", "then"), "b": left_behind(0.0, state="idle", arm="")}}),
        cell(2, {"streams": {"a": left_behind(2.0, "other", state="in a duel")}, "rest": 1}),
    ]
    told = list(describe_learned(cells))
    place = told.index(
        "adapting: 750 ms spent on samples, duels, control and learning; 6 s saved, of 30 s in the written order"
    )
    assert [line.split() for line in told[place + 2 : place + 4]] == [
        ["a", "in", "a", "duel,", "in", "cha…", "content", "14.5", "s", "20", "s", "6", "s", "500", "ms", "-27.5", "%"],
        ["b", "idle", "10.2", "s", "10", "s", "0", "s", "250", "ms", "+2.5", "%"],
    ]
    place = told.index('last decisions about "a"')
    assert told[place + 1 : place + 4] == ["  cell 0: first", "  cell 0: then", "  cell 2: other"]
    assert 'last decisions about "b"' not in told
    assert list(describe_learned([cell(0, {"a": left_behind(1.0)})]))[2].startswith("adapting: 250 ms spent")


def test_a_snapshot_tells_what_the_report_tells() -> None:
    rows = {"web": requests(2_000)}
    found = engine(QUERY, {"web": rows["web"].schema}, Accounted, tables={}, clock=float, seed=0)
    counters = []
    for start in range(0, 2_000, 400):
        for _ in found.run({"web": one_batch("web", rows["web"].slice(start, 400))}):
            pass
        counters.append(found.read_counters())
    left = CellState(number=3, meta=unpack(found.snapshot())[0], stems={}, nbytes=0)
    told = list(describe_learned([left]))
    assert tell_adapting(sum_over_batches(counters)) in told
    place = told.index('last decisions about "web"')
    assert told[place + 1 : place + 4] == [f"  cell 3: {reason}" for reason in REASONS]


def test_of_many_cells_each_tells_its_last_reason() -> None:
    cells = [cell(n, {"streams": {"a": left_behind(1.0, "old", f"new {n}")}}) for n in range(MOST_REASONS + 3)]
    told = list(describe_learned(cells))
    place = told.index('last decisions about "a"')
    shown = told[place + 1 : place + 2 + MOST_REASONS]
    assert shown == [*(f"  cell {n}: new {n}" for n in range(MOST_REASONS)), "  3 more cells"]


@pytest.mark.parametrize(
    ("kind", "newest"),
    [
        (pa.timestamp("us", "UTC"), "1970-01-01 00:00:09+00:00"),
        (pa.timestamp("ms"), "1970-01-01 00:00:09"),
        (pa.int64(), "9000000"),
    ],
)
def test_inspect_says_how_far_each_stream_has_come(kind: pa.DataType, newest: str) -> None:
    schema = pa.schema([("at", kind), ("k", pa.int64())])
    streams = [eddy.Stream(name, time="at", window=eddy.Range(10**9), delay=10**6) for name in "ab"]
    if not pa.types.is_integer(kind):
        streams = [eddy.Stream(name, time="at", window=eddy.Range("1 hour"), delay="1 second") for name in "ab"]
    query = eddy.Query(streams=streams, joins=["a.k = b.k"], select=["a.k"])
    cells = []
    for number, seconds in enumerate((4, 9)):
        found = engine(query, dict.fromkeys("ab", schema), "fixed", tables={}, clock=float, seed=0)
        ticks = pa.array([seconds * 10**6], pa.int64())
        at = ticks if pa.types.is_integer(kind) else ticks.cast(pa.timestamp("us")).cast(kind)
        rows = pa.record_batch([at, pa.array([1])], schema=schema)
        list(found.run({"a": rows, "b": rows.slice(0, 0)}))
        cells.append(CellState(number=number, meta=unpack(found.snapshot())[0], stems={}, nbytes=0))
    checkpoint = Checkpoint(query=cells[0].meta["query"], layout={"cells": 2}, cells=cells)
    told = list(inspect.describe(checkpoint, None))
    place = told.index("rows that came, and those that took no part")
    assert [line.split() for line in told[place + 1 : place + 4]] == [
        ["stream", "rows", "late", "newest", "bad"],
        ["a", "2", "0", *newest.split(), "0"],
        ["b", "0", "0", "0"],
    ]


def test_indexes_of_all_cells_are_one_and_decisions_are_those_of_a_cell() -> None:
    left = [
        CellState(
            number=number,
            meta={
                "policy": "{}",
                "statistics": [],
                "indexed": latest_indexing({}, [COUNT], [replace(TUNING, why=f"reason {number}")], number),
            },
            stems={},
            nbytes=0,
        )
        for number in range(2)
    ]
    told = [line.split() for line in describe_learned(left)]
    assert "a hash(a.k) 12 bits, time a.k 4 200 2,000 20 80 60".split() in told
    assert [line[:6] for line in told if "reason" in line] == [
        ["0", "a,", "cell", "0", "reason", "0"],
        ["1", "a,", "cell", "1", "reason", "1"],
    ]


@pytest.mark.parametrize(
    "state",
    [{}, {"streams": []}, {"a": 3}, {"streams": {"a": {"account": None}}}, {"a": {"account": {"written": 1.0}}}],
)
def test_what_other_policies_have_left_is_no_account(state: Any) -> None:
    plain = list(describe_learned([CellState(number=0, meta={"policy": "{}", "statistics": []}, stems={}, nbytes=0)]))
    assert list(describe_learned([cell(0, state)])) == plain


def test_classes_that_are_many_are_told_by_the_routes_they_take() -> None:
    routes = [[f"k={n}", ["f", "g"] if n % 4 else ["g", "f"], 10] for n in range(128)]
    taken = {"a": {"batch": 0, "routes": [["k=big", ["f", "g"], 240], *routes], "tree": []}}
    cell = CellState(number=0, meta={"policy": "{}", "taken": taken, "statistics": []}, stems={}, nbytes=0)
    told = [line.split() for line in describe_learned([cell])]
    assert ["k=big", "16%", "f", ">", "g", "100%"] in told
    assert ["others", "84%", "f", ">", "g", "75%"] in told
    assert ["g", ">", "f", "25%"] in told
    assert [line for line in told if "more" in line] == []


def test_pipelines_are_drawn_with_their_caches() -> None:
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(100), delay=0) for name in "rst"]
    query = eddy.Query(streams=streams, joins=["r.x = s.x", "s.k = t.k"], select=["r.ts"])
    schema = pa.schema([("ts", pa.int64()), ("x", pa.int64()), ("k", pa.int64())])
    policy = {"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}
    found = engine(query, dict.fromkeys("rst", schema), policy, tables={}, clock=float, seed=0)
    rows = pa.record_batch({"ts": [1, 2, 3], "x": [1, 1, 2], "k": [5, 5, 6]}, schema=schema)
    list(found.run(dict.fromkeys("rst", rows)))
    told = list(describe_learned([CellState(number=0, meta=unpack(found.snapshot())[0], stems={}, nbytes=0)]))
    begin = told.index("pipelines and their caches")
    drawn = told[begin + 1 : told.index("", begin)]
    assert "  t > cached_r_s" in drawn
    assert "    cached_r_s by s.k, for probe_s > probe_r: used, it was asked for" in drawn
