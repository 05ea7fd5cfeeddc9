"""All kinds of indexes find the same results, and what they cost is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks import index_calls, indexes, joins, workloads
from benchmarks.contenders import make_engine
from benchmarks.indexes import CONTROL, FIVE, KINDS, OURS, PAIR, QUICK, UNLIMITED, UNTIL
from benchmarks.workloads import COMPLETE, Workload
from eddy.kernels.choice import choose_kernels

LITTLE, SMALL = 80, 150


@pytest.mark.parametrize("workload", [COMPLETE, FIVE, PAIR], ids=lambda workload: workload.name)
@pytest.mark.parametrize("policy", ["fixed", "random"])
def test_all_kinds_find_the_same_results(workload: Workload, policy: str) -> None:
    short = replace(workload, window=SMALL)
    parts = workloads.batches(short.data(3 * LITTLE), LITTLE)
    contenders = {name: indexes.contender(short, parts[0], policy, name) for name in KINDS}
    found = 0
    for batch in parts:
        answers: dict[str, Any] = {name: run(batch) for name, run in contenders.items()}
        joins.agree(answers)
        found += answers[UNTIL].num_rows
    assert found > 0


def test_only_one_contender_keeps_all_indexes() -> None:
    # Of fewer rows all indexes fit into the room of a few hundred bytes that each of them has at least.
    short = replace(FIVE, window=1_500)
    parts = workloads.batches(short.data(2_000), 500)
    nbytes = {}
    for name in (UNTIL, UNLIMITED):
        engine = make_engine(short, parts[0], "random", KINDS[name])
        if name == UNLIMITED:
            indexes.remove_limit(engine)
        for batch in parts:
            indexes._drain(engine, batch)
        nbytes[name] = sum(count.nbytes for count in engine.read_counters().streams.values())
    assert nbytes[UNLIMITED] > 1.3 * nbytes[UNTIL]


def test_candidates_and_costs_are_told() -> None:
    table = [str(line) for line in indexes.table(keys=2_000, count=5)]
    assert [line.split("  ")[0] for line in table[1:7]] == [UNTIL, CONTROL, OURS] * 2
    assert table[-1].startswith("goal: at most 1.5 candidates a probe: ")
    cost = [str(line) for line in indexes.cost(rows=300, graphs=(PAIR,))]
    assert len(cost) == (2 + len(KINDS) - 2) + (2 + len(QUICK) - 2)
    assert all(line.endswith("%") for line in cost if line.startswith(UNLIMITED))


def test_a_restored_engine_goes_on_beside_the_one_that_went_on() -> None:
    lines = [str(line) for line in indexes.restored(rows=1_500, turns=1, graphs=(PAIR,))]
    assert len(lines) == 1 + 2 * 3
    assert all(float(line.split()[-1]) > 0 for line in lines[1:])


def test_looks_of_a_catalog_and_of_a_tuner_are_measured() -> None:
    short = replace(COMPLETE, window=SMALL)
    calls = [str(line) for line in index_calls.calls(rows=2_000, turns=3, workload=short)]
    assert calls[1].startswith("a tuple looks into a part")
    looks = [str(line) for line in index_calls.looks(rows=20_000, workload=replace(COMPLETE, window=2_000))]
    assert looks[1].endswith(" us")


def test_prices_are_held_against_times() -> None:
    lines = [str(line) for line in indexes.ranks(rows=300, graphs=(PAIR,))]
    assert len(lines) == 2 * (1 + len(indexes.RANKED)) + 1
    assert lines[-1].startswith("in the right order: ")


@pytest.mark.skipif(choose_kernels().kernels.chains is None, reason="chains need compiled kernels")
def test_rows_of_chains_and_decisions_have_prices() -> None:
    head, windows, *lines = [str(line) for line in index_calls.links(windows=(512, 1_024), turns=2)]
    assert head.startswith("chains, ")
    assert windows.split() == ["512", "1,024"]
    assert [line[:30].strip() for line in lines] == [
        "a tuple that finds one",
        "a row that lacks a key",
        "a row that shares the head",
        "a row that is linked",
    ]
    assert "decisions" in str(next(index_calls.decisions(rows=200, workload=PAIR)))
