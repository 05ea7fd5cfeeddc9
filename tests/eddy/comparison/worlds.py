"""Small things to compare policies on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.compare import run_comparison
from eddy.comparison.result import Comparison
from eddy.comparison.runner import Local
from eddy.jobs.experiments.experiment import parse

POLICIES: list[Any] = [{"name": "fixed", "role": "baseline"}, {"name": "content", "costs": "unit", "label": "content"}]

STAR: dict[str, Any] = {
    "kind": "stream_star",
    "operators": 3,
    "rows": 2_000,
    "selectivities": {"table": "random"},
    "drift": {"kind": "sudden", "at": 1_000, "selectivities": {"table": "random", "rotate": 1}},
}


def query(name: str = "orders") -> eddy.Query:
    """Two filters on one stream."""
    return eddy.Query(
        name=name,
        streams=[eddy.Stream("s", time="ts", window=eddy.Range(50), delay=0)],
        filters=[eddy.Filter("big", on="s", where="v > 10"), eddy.Filter("even", on="s", where="v % 2 = 0")],
        select=["s.ts", "s.v"],
    )


def data(rows: int = 200, seed: int = 0) -> dict[str, pa.Table]:
    """Rows for it."""
    values = np.random.default_rng(seed).integers(0, 20, rows)
    return {"s": pa.table({"ts": np.arange(rows), "v": values})}


def experiment(**changes: Any) -> Any:
    """A small experiment as a file would say it."""
    values = {"name": "small", "repeats": 2, "batch_rows": 200, "workload": STAR, "policies": POLICIES}
    return parse(values | changes)


def comparison(**changes: Any) -> Comparison:
    """It has been run."""
    return run_comparison(experiment(**changes), Local(), command="eddy compare small.toml", quiet=True)


def run(policy: str, seconds: float, calls: int = 100, **more: Any) -> dict[str, Any]:
    """A row as a run would give it."""
    role = {"fixed": "baseline", "fixed (again)": "control", "knows": "bound"}.get(policy, "")
    shares = {"operator_seconds": seconds / 2, "routing_seconds": 0.0, "learning_seconds": 0.0}
    own = {"policy": policy, "role": role, "seconds": seconds, "routing_calls": calls, "tuples": 50, **shares}
    return {"workload": "w", "runner": "local", "seed": 0, "repeat": 0, **own, **more}


def runs(**seconds: list[float]) -> list[dict[str, Any]]:
    """Rows of several repeats; `again` stands for the control."""
    names = {policy: "fixed (again)" if policy == "again" else policy for policy in seconds}
    return [run(names[policy], s, repeat=n) for policy, own in seconds.items() for n, s in enumerate(own)]
