"""Stream-Star: the paper's synthetic stream with N lookups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_choice, check_whole
from eddy.jobs.workloads.burn import add_work
from eddy.jobs.workloads.columns import DOMAIN, KEYS, build_member, draw_keys, draw_numbers, make_noise
from eddy.jobs.workloads.drift import Drift
from eddy.jobs.workloads.drift import drift as schedule
from eddy.jobs.workloads.selectivities import Selectivities, best_calls, best_order, calls_of
from eddy.jobs.workloads.selectivities import selectivities as table_of
from eddy.jobs.workloads.spread import CLASSIFIER, SPREADS, Spread
from eddy.tuples.arrays import Floats, Integers

STAR_ROWS = 100_000
"""Rows of a stream, as in the paper."""

MOST_PHASES = 250
"""Phases that a policy can be told of; a stream that goes to and fro more often has no truth."""

WINDOW = 1_000
"""The stream's rows come in order and meet tables only, so any window will do; with none they are kept for ever."""


@dataclass(frozen=True, kw_only=True)
class Star:
    """The tables of selectivities, and their schedule.

    The stream goes from one to the other by it.
    """

    before: Selectivities
    after: Selectivities | None = None
    drift: Drift | None = None

    def passing(self, classes: Integers) -> Floats:
        """Give the share of its like that passes, for each tuple.

        There is one for each operator.
        """
        return self._mix(classes, np.arange(len(classes)))

    def _mix(self, classes: Integers, positions: Integers) -> Floats:
        """Give the selectivities of some classes as they are at some tuples."""
        now = self.before.values[classes]
        if self.drift is None or self.after is None:
            return now
        weights = self.drift.weights(positions)[:, None]
        return now * (1 - weights) + self.after.values[classes] * weights

    def facts(self, spread: Spread) -> dict[str, Any]:
        """Facts that figures are drawn over.

        The bound and the aggregate hold where outcomes are independent.
        """
        bounds = {"aggregate": self.before.aggregate, "best_calls": best_calls(self.before.values, spread.shares)}
        order = best_order(self.before.values, spread.shares)
        bounds |= {} if order is None else {"single_calls": calls_of(order, self.before.values, spread.shares)}
        rounded = {name: round(value, 4) for name, value in bounds.items()}
        return {"classes": self.before.classes, **rounded, **self.before.facts}

    def truth(self, operators: list[str], spread: Spread, rows: int) -> dict[str, Any] | None:
        """Give the truth that `knows` gets, phase by phase where it changes; None where no value tells it."""
        known = spread.of_value
        if known is None:
            return None
        told = {"attribute": f"s.{CLASSIFIER}", "values": list(range(len(known)))}
        begins = [0] if self.drift is None else sorted({0, *self.drift.steps(rows)})
        if len(begins) > MOST_PHASES:
            return None
        ends = [*begins[1:], rows]
        phases = [
            {"from": begin, **told, "selectivities": self._columns(operators, known, (begin + end) // 2)}
            for begin, end in zip(begins, ends, strict=True)
        ]
        return {"phases": phases} if self.drift is not None else {**told, "selectivities": phases[0]["selectivities"]}

    def _columns(self, operators: list[str], known: Integers, position: int) -> dict[str, list[float]]:
        """Give each operator's selectivities by value, as they are at a tuple."""
        now = self._mix(known, np.full(len(known), position))
        return {name: column.tolist() for name, column in zip(operators, now.T, strict=True)}

    def best(self, operators: list[str], spread: Spread, correlation: float) -> list[str] | None:
        """Find the best single order.

        Outcomes are independent within a class, and nothing changes.
        """
        order = best_order(self.before.values, spread.shares)
        return None if self.drift or correlation or order is None else [operators[number] for number in order]


def stream_star(  # noqa: PLR0913  what a config file may say
    operators: int,
    selectivities: object,
    *,
    rows: int = STAR_ROWS,
    seed: int = 0,
    drift: Mapping[str, Any] | None = None,
    correlation: float = 0.0,
    form: str = "filters",
    cost_us: float = 0,
    spread: str = "even",
) -> Workload:
    """Make a stream whose `attrC` foretells all outcomes.

    Eight others foretell nothing. `selectivities` is a table [class][operator] or a name with parameters, `drift` a
    schedule with the `selectivities` that it leads to. That share of tuples, `correlation`, passes or fails all
    operators by one draw. `form` makes each operator a filter that looks a key up, or a join with a lookup table;
    `cost_us` is for filters. Classes are told by equally frequent values, or by `spread`: "poisson", or a "pair".

    >>> stream_star(2, [[0.1, 0.9], [0.9, 0.1]], rows=100).tuples
    100
    """
    _check(operators, rows, correlation, form, cost_us, spread)
    rng = np.random.default_rng([seed, 2])
    star = _star(operators, selectivities, drift, seed)
    shown = SPREADS[spread](rng, rows, star.before.classes)
    passed = draw_numbers(rng, rows, operators, correlation) < star.passing(shown.classes)
    numbers = [rng.permutation(DOMAIN) for _ in range(operators)]
    told = {**shown.columns, **_foreign(rng, numbers, passed), **make_noise(rng, rows)}
    query, tables, names = FORMS[form](numbers, cost_us)
    return Workload(
        name="stream_star",
        query=query,
        data={"s": pa.table({"ts": np.arange(rows), "id": np.arange(rows), **told}), **tables},
        truth=star.truth(names, shown, rows),
        attribute=None if shown.of_value is None else f"s.{CLASSIFIER}",
        best=star.best(names, shown, correlation),
        drift_points=star.drift.points(rows) if star.drift else (),
        facts={"operators": operators, "cost_us": cost_us, "correlation": correlation, **star.facts(shown)},
    )


def _check(operators: object, rows: object, correlation: float, form: object, cost_us: float, spread: object) -> None:
    for name, number in (("operators", operators), ("rows", rows)):
        check_whole(number, name, where="stream_star")
    if not isinstance(correlation, int | float) or not 0 <= correlation <= 1:
        raise QueryError(f"stream_star: expected correlation to be a share from 0 to 1, got {correlation!r}")
    check_choice(form, FORMS, "form", where="stream_star")
    check_choice(spread, SPREADS, "spread", where="stream_star")
    if not isinstance(cost_us, int | float) or cost_us < 0 or (cost_us and form != "filters"):
        raise QueryError(f'stream_star: expected cost_us of 0 or more, with form "filters" only, got {cost_us!r}')


def _star(operators: int, choice: object, drift: Mapping[str, Any] | None, seed: int) -> Star:
    before = table_of(choice, operators, seed)
    if drift is None:
        return Star(before=before)
    parameters = dict(drift)
    if "selectivities" not in parameters:
        raise QueryError("drift: expected the selectivities that it leads to, got none")
    after = table_of(parameters.pop("selectivities"), operators, seed)
    if after.classes != before.classes:
        raise QueryError(f"drift: expected as many classes as before, {before.classes}, got {after.classes}")
    return Star(before=before, after=after, drift=schedule(parameters))


def _foreign(rng: np.random.Generator, numbers: list[Integers], passed: np.ndarray[Any, Any]) -> dict[str, Integers]:
    """Make a column of foreign keys for each lookup."""
    return {f"fkd{i + 1}": draw_keys(rng, known, passed[:, i]) for i, known in enumerate(numbers)}


Form = tuple[eddy.Query, dict[str, pa.Table], list[str]]


def _filters(numbers: list[Integers], cost_us: float) -> Form:
    """Make a filter for each lookup."""
    names = [f"op{i + 1}" for i in range(len(numbers))]
    filters = [
        eddy.Filter(name, on="s", function=add_work(build_member(known), cost_us), columns=[f"fkd{i + 1}"])
        for i, (name, known) in enumerate(zip(names, numbers, strict=True))
    ]
    return eddy.Query(name="stream_star", streams=[_stream()], filters=filters, select=["s.id"]), {}, names


def _tables(numbers: list[Integers], _cost_us: float) -> Form:
    """Make a table and a join for each lookup."""
    names = [f"d{i + 1}" for i in range(len(numbers))]
    query = eddy.Query(
        name="stream_star",
        streams=[_stream()],
        tables=[eddy.Table(name) for name in names],
        joins=[f"s.fk{name} = {name}.pk" for name in names],
        select=["s.id"],
    )
    tables = {name: pa.table({"pk": known[:KEYS]}) for name, known in zip(names, numbers, strict=True)}
    return query, tables, [f"probe_{name}" for name in names]


def _stream() -> eddy.Stream:
    return eddy.Stream("s", time="ts", window=eddy.Range(WINDOW), delay=0)


FORMS: dict[str, Callable[[list[Integers], float], Form]] = {"filters": _filters, "tables": _tables}
"""The forms that an operator may have."""
