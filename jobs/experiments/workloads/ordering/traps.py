"""Traps: filters by which policies are caught that look at too little (examples 4.5.1 and 4.6.1 of Babu's thesis).

A tuple is a number, and a filter passes the numbers that it contains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_choice, check_whole
from eddy.jobs.experiments.workloads.burn import add_work, check_costs
from eddy.jobs.experiments.workloads.columns import DOMAIN, build_member, draw_keys
from eddy.jobs.experiments.workloads.ordering.exact import best_course, best_on_data, name_order
from eddy.tuples.arrays import Integers, Mask

TRAP_ROWS = 100_000

NUMBERS = 100
"""A tuple is one of so many numbers; in example 4.6.1 some fewer, so that all filters drop equally many."""

LOWER = 49
"""In example 4.5.1 all filters but the last pass the numbers up to here, and the last one the others."""

VALUE = "number"

Contents = list[Mask]
"""What the filters contain from the beginning, and after the change where there is one: [filter, number]."""


def pass_alike(filters: int) -> Contents:
    """Make filters that are alike but for the last (example 4.5.1).

    Each of them drops more than the last one, which alone drops what they leave: whoever takes filters as independent
    has it last, and asks all others for nothing.
    """
    lower = np.arange(NUMBERS) < LOWER
    return [np.array([*[lower] * (filters - 1), ~lower])]


def pass_all_but_one(filters: int) -> Contents:
    """Make filters that drop a stretch each, of which the last one changes (example 4.6.1).

    Then it passes what the last but one drops, and nothing else. The two of them are all that a tuple needs, but
    neither is better than the filter before it, after those in front of it: whoever swaps neighbours only leaves both
    behind.
    """
    stretch = np.repeat(np.arange(filters), NUMBERS // filters)
    before = stretch != np.arange(filters)[:, None]
    return [before, np.array([*before[:-1], ~before[-2]])]


EXAMPLES: dict[str, Callable[[int], Contents]] = {"4.5.1": pass_alike, "4.6.1": pass_all_but_one}
"""The examples, by their numbers in the thesis."""


def traps(
    example: str,
    *,
    filters: int = 8,
    rows: int = TRAP_ROWS,
    change: int | None = None,
    cost_us: float = 0,
    seed: int = 0,
) -> Workload:
    """Make a stream of numbers, and filters that are a trap.

    `example` is "4.5.1", where filters depend on each other, or "4.6.1", where the last one changes at the row
    `change`, after half of the rows unless given. The query does not read the number, which foretells every outcome.

    >>> traps("4.5.1", rows=10).tuples
    10
    """
    _check(example, filters)
    works = check_costs(cost_us, filters, where="traps")
    contents = EXAMPLES[example](filters)
    begins = _begins(contents, check_whole(rows, "rows", where="traps"), change)
    rng = np.random.default_rng([seed, 11])
    drawn = rng.integers(contents[0].shape[1], size=rows)
    passed = np.array(contents)[np.searchsorted(begins, np.arange(rows), side="right") - 1, :, drawn]
    numbers = [rng.permutation(DOMAIN) for _ in range(filters)]
    keys = {f"key{i + 1}": draw_keys(rng, known, passed[:, i]) for i, known in enumerate(numbers)}
    names, costs = [f"op{i + 1}" for i in range(filters)], np.ones(filters)
    return Workload(
        name="traps",
        query=_query(names, numbers, works),
        data={"s": pa.table({"ts": np.arange(rows), "id": np.arange(rows), VALUE: drawn + 1, **keys})},
        truth=_tell(names, contents, begins),
        attribute=f"s.{VALUE}",
        best=name_order(names, best_on_data(passed, costs)) if len(contents) == 1 else None,
        prices=dict.fromkeys(names, 1.0),
        course=best_course(passed, costs, begins),
        drift_points=tuple(begins[1:]),
        facts={"operators": filters, "example": example, "cost_us": cost_us},
    )


def _check(example: object, filters: object) -> None:
    check_choice(example, EXAMPLES, "example", where="traps")
    if check_whole(filters, "filters", 3, where="traps") > NUMBERS:
        raise QueryError(f"traps: expected at most {NUMBERS} filters, got {filters}")


def _begins(contents: Contents, rows: int, change: int | None) -> list[int]:
    """List the rows from which on the filters contain what they contain."""
    if len(contents) == 1:
        if change is not None:
            raise QueryError(f"traps: expected a change in example 4.6.1 only, got {change!r}")
        return [0]
    at = rows // 2 if change is None else check_whole(change, "change", where="traps")
    return [0, at] if 0 < at < rows else [0]


def _tell(names: list[str], contents: Contents, begins: list[int]) -> dict[str, Any]:
    """Write down what `knows` is told: what passes of each number."""
    told = {"attribute": f"s.{VALUE}", "values": list(range(1, contents[0].shape[1] + 1))}
    shares = [dict(zip(names, one.astype(np.float64).tolist(), strict=True)) for one in contents]
    if len(begins) == 1:
        return {**told, "selectivities": shares[0]}
    return {"phases": [{"from": at, **told, "selectivities": one} for at, one in zip(begins, shares, strict=True)]}


def _query(names: list[str], numbers: list[Integers], works: list[float]) -> eddy.Query:
    filters = [
        eddy.Filter(name, on="s", function=add_work(build_member(known), work), columns=[f"key{i + 1}"])
        for i, (name, known, work) in enumerate(zip(names, numbers, works, strict=True))
    ]
    return eddy.Query(name="traps", streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.id"])
