"""What every policy must do; each check is crossed with every registered policy."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Policy, Setting
from eddy.local import Run
from policies.registry import POLICIES
from tests import reference

ROWS = 3_000
"""Thirty micro-batches of a hundred: enough for a policy to learn, and to change its mind halfway."""


def steady_clock() -> Callable[[], float]:
    """Time that passes by one millisecond a look, so that what a policy learns of costs is the same every time."""
    ticks = itertools.count()
    return lambda: next(ticks) * 0.001


def stream() -> pa.Table:
    """A class in `k`, and three filters whose selectivities depend on it and swap halfway."""
    rng = np.random.default_rng(7)
    late = np.arange(ROWS) >= ROWS // 2
    k = rng.integers(0, 3, ROWS)
    values = {f"v{i}": (rng.random(ROWS) + 0.4 * ((k + late) % 3 == i)) for i in range(3)}
    return pa.table({"ts": np.arange(ROWS), "k": k, **values})


def query() -> eddy.Query:
    """Three filters over the stream."""
    filters = [eddy.Filter(f"f{i}", on="a", where=f"v{i} > 0.7e0") for i in range(3)]
    return eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.ts"])


def run(name: str, *, seed: int = 0, batch_rows: int = 100) -> Run:
    """A run whose clock is steady."""
    return eddy.run_local(query(), {"a": stream()}, policy=name, seed=seed, batch_rows=batch_rows, clock=steady_clock())


def new(name: str) -> Policy:
    """A policy as the engine builds it."""
    return wiring.make_policy(name, Setting(operators=("f0", "f1", "f2")))


def routes(found: Run) -> list[list[Any]]:
    """What was routed where, with everything but the seconds."""
    frame = found.report.operators(by_batch=True).drop(columns="seconds")
    rows: list[list[Any]] = frame.to_numpy().tolist()
    return rows


def check_the_answer_is_right(name: str) -> None:
    """Whatever it learns, the naive answer."""
    records = stream().to_pylist()
    conditions = [_above(f"v{i}", 0.7) for i in range(3)]
    question = reference.Question(
        streams={"a": reference.Source(time="ts")},
        conditions=conditions,
        select=[("a", "ts")],
    )
    expected = reference.answer(question, [{"a": records}])
    for batch_rows in (1_000, 100, 7):
        results = run(name, batch_rows=batch_rows).results
        assert sorted(results["ts"].to_pylist()) == sorted(row[0] for row in expected.elements())


def _above(column: str, least: float) -> reference.Condition:
    return lambda found: bool(found["a"][column] > least)


def check_a_seed_fixes_the_routes(name: str) -> None:
    """The same seed routes the same way, so that a retried task does as the first try did."""
    assert routes(run(name, seed=3)) == routes(run(name, seed=3))


def check_counts_add_up(name: str) -> None:
    """Nothing is lost between steps, and nobody is asked without need."""
    frame = run(name).report.operators()
    assert (frame["rows_out"] <= frame["rows_in"]).all()
    assert (frame["evaluated"] <= frame["rows_in"]).all()
    assert ROWS <= frame["rows_in"].sum() <= 3 * ROWS


def check_a_snapshot_is_plain(name: str) -> None:
    """JSON and arrays: nothing that would have to be unpickled."""
    policy = new(name)
    for part in _leaves(policy.snapshot()):
        assert isinstance(part, np.ndarray) or json.dumps(part) is not None


def check_a_snapshot_can_be_restored(name: str) -> None:
    """What is restored says the same of itself."""
    first, second = new(name), new(name)
    second.restore(first.snapshot())
    assert str(second.snapshot()) == str(first.snapshot())


def check_an_unknown_parameter_is_refused(name: str) -> None:
    """A slip in a config file is an error, not a default."""
    with pytest.raises(eddy.QueryError, match=f'policy "{name}": unknown parameter "no_such_parameter"'):
        wiring.make_policy({"name": name, "no_such_parameter": 1}, Setting(operators=()))


def check_one_operator_is_routed_to(name: str) -> None:
    """With nothing to choose there is one way."""
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=[eddy.Filter("f", on="a", where="v0 > 0.7e0")])
    found = eddy.run_local(asked, {"a": stream()}, policy=name)
    assert found.report.operators()["rows_in"].sum() == ROWS


def _leaves(state: Any) -> Iterator[Any]:
    if isinstance(state, dict):
        for value in state.values():
            yield from _leaves(value)
    else:
        yield state


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
POLICY_NAMES = sorted(POLICIES)
