"""Stream-Star: the paper's synthetic stream with N lookups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_choice, check_whole
from eddy.jobs.experiments.workloads.burn import add_work, check_costs
from eddy.jobs.experiments.workloads.columns import DOMAIN, KEYS, build_member, draw_keys, draw_numbers, make_noise
from eddy.jobs.experiments.workloads.drift import PERMUTED, Drift
from eddy.jobs.experiments.workloads.drift import drift as schedule
from eddy.jobs.experiments.workloads.ordering.exact import best_course, best_on_data, name_order
from eddy.jobs.experiments.workloads.ordering.groups import SAME, check_groups, draw_groups
from eddy.jobs.experiments.workloads.selectivities import Selectivities, best_calls, best_order, calls_of
from eddy.jobs.experiments.workloads.selectivities import selectivities as table_of
from eddy.jobs.experiments.workloads.spread import CLASSIFIER, SPREADS, Spread
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Floats, Integers, Mask

STAR_ROWS = 100_000
"""Rows of a stream, as in the paper."""

MOST_PHASES = 250
"""Phases that a policy can be told of; a stream that goes to and fro more often has no truth."""

WINDOW = 1_000
"""The stream's rows come in order and meet tables only, so any window will do; with none they are kept for ever."""


Form = tuple[eddy.Query, dict[str, pa.Table], list[str]]
MakeForm = Callable[[list[Integers], Sequence[float]], Form]
MakeSpread = Callable[[np.random.Generator, int, int], Spread]


@dataclass(frozen=True, kw_only=True)
class Star:
    """The tables of selectivities, their schedule, and how operators depend on each other.

    The stream goes from one table to the other by the schedule. `works` are the microseconds of each operator.
    """

    before: Selectivities
    after: Selectivities | None = None
    drift: Drift | None = None
    correlation: float
    groups: int
    same: float
    works: Sequence[float]

    @property
    def costs(self) -> Floats:
        """What a call of each operator costs, beside the others."""
        alike = len(set(self.works)) == 1
        return np.ones(len(self.works)) if alike else np.array(self.works, np.float64)

    def draw(self, rng: np.random.Generator, classes: Integers) -> Mask:
        """Draw what passes which operator, for tuples of some classes."""
        rows, operators = len(classes), self.before.values.shape[1]
        shares = self._mix(classes, np.arange(rows))
        if self.groups > 1:
            return draw_groups(rng, shares, self.groups, self.same)
        passed: Mask = draw_numbers(rng, rows, operators, self.correlation) < shares
        return passed

    def _mix(self, classes: Integers, positions: Integers) -> Floats:
        """Give the selectivities of some classes as they are at some tuples."""
        now = self.before.values[classes]
        if self.drift is None or self.after is None:
            return now
        return self.drift.mix(self.before.values, self.after.values, classes, positions)

    def facts(self, spread: Spread) -> dict[str, Any]:
        """Facts that figures are drawn over.

        The bounds and the aggregate hold where outcomes are independent.
        """
        cost = self.works[0] if len(set(self.works)) == 1 else ", ".join(map(str, self.works))
        told = {"operators": len(self.works), "cost_us": cost, "correlation": self.correlation}
        told |= {"groups": self.groups, "classes": self.before.classes}
        if self.groups > 1:
            return {**told, **self.before.facts}
        bounds = {"aggregate": self.before.aggregate, "best_calls": best_calls(self.before.values, spread.shares)}
        order = best_order(self.before.values, spread.shares)
        bounds |= {} if order is None else {"single_calls": calls_of(order, self.before.values, spread.shares)}
        rounded = {name: round(value, 4) for name, value in bounds.items()}
        return {**told, **rounded, **self.before.facts}

    def truth(self, operators: list[str], spread: Spread, rows: int) -> dict[str, Any] | None:
        """Give the truth that `knows` gets, phase by phase where it changes; None where no value tells it."""
        known = spread.of_value
        if known is None:
            return None
        told = {"attribute": f"s.{CLASSIFIER}", "values": list(range(len(known)))}
        begins = self.begins(rows)
        if len(begins) > MOST_PHASES:
            return None
        ends = [*begins[1:], rows]
        phases = [
            {"from": begin, **told, "selectivities": self._columns(operators, known, (begin + end) // 2)}
            for begin, end in zip(begins, ends, strict=True)
        ]
        return {"phases": phases} if self.drift is not None else {**told, "selectivities": phases[0]["selectivities"]}

    def begins(self, rows: int) -> list[int]:
        """List the numbers of the tuples at which a phase begins."""
        return [0] if self.drift is None else sorted({0, *self.drift.steps(rows)})

    def _columns(self, operators: list[str], known: Integers, position: int) -> dict[str, list[float]]:
        """Give each operator's selectivities by value, as they are at a tuple."""
        now = self._mix(known, np.full(len(known), position))
        return {name: column.tolist() for name, column in zip(operators, now.T, strict=True)}

    def best(self, spread: Spread, passed: Mask) -> list[int] | None:
        """Find the best single order, where nothing changes.

        Where operators depend on each other the data say it.
        """
        if self.drift is not None:
            return None
        if self.correlation or self.groups > 1:
            return best_on_data(passed, self.costs)
        return best_order(self.before.values, spread.shares, self.costs)

    def course(self, passed: Mask) -> Floats | None:
        """Give what each row costs in the best order of its phase."""
        begins = self.begins(len(passed))
        return best_course(passed, self.costs, begins) if len(begins) <= MOST_PHASES else None


def stream_star(  # noqa: PLR0913  what a config file may say
    operators: int,
    selectivities: object,
    *,
    rows: int = STAR_ROWS,
    seed: int = 0,
    drift: Mapping[str, Any] | None = None,
    correlation: float = 0.0,
    form: str = "filters",
    cost_us: float | Sequence[float] = 0,
    spread: str = "even",
    groups: int = 1,
    same: float = SAME,
) -> Workload:
    """Make a stream whose `attrC` foretells all outcomes.

    Eight others foretell nothing. `selectivities` is a table [class][operator] or a name with parameters, `drift` a
    schedule with the `selectivities` that it leads to, or "permuted". That share of tuples, `correlation`, passes or
    fails all operators by one draw; operators in `groups` of that size agree on the share `same`. `form` makes each
    operator a filter that looks a key up, or a join with a lookup table; `cost_us` is for filters, one for all or one
    for each. Classes are told by equally frequent values, or by `spread`: "poisson", or a "pair".

    >>> stream_star(2, [[0.1, 0.9], [0.9, 0.1]], rows=100).tuples
    100
    """
    _check(operators, rows, correlation, form, spread)
    check_groups(operators, groups, same, correlation, where="stream_star")
    works = check_costs(cost_us, operators, where="stream_star")
    if any(works) and form != "filters":
        raise QueryError(f'stream_star: expected cost_us of 0 or more, with form "filters" only, got {cost_us!r}')
    tables = _tables_of(operators, selectivities, drift, seed)
    star = Star(**tables, correlation=correlation, groups=groups, same=same, works=works)
    return _make(star, FORMS[form], SPREADS[spread], rows, seed)


def _check(operators: object, rows: object, correlation: float, form: object, spread: object) -> None:
    for name, number in (("operators", operators), ("rows", rows)):
        check_whole(number, name, where="stream_star")
    check_number(correlation, "correlation", where="stream_star", most=1)
    check_choice(form, FORMS, "form", where="stream_star")
    check_choice(spread, SPREADS, "spread", where="stream_star")


def _tables_of(operators: int, choice: object, drift: Mapping[str, Any] | None, seed: int) -> dict[str, Any]:
    before = table_of(choice, operators, seed)
    if drift is None:
        return {"before": before}
    parameters = dict(drift)
    if parameters.get("kind") == PERMUTED:
        return {"before": before, "after": before, "drift": schedule(parameters, operators, seed)}
    if "selectivities" not in parameters:
        raise QueryError("drift: expected the selectivities that it leads to, got none")
    after = table_of(parameters.pop("selectivities"), operators, seed)
    if after.classes != before.classes:
        raise QueryError(f"drift: expected as many classes as before, {before.classes}, got {after.classes}")
    return {"before": before, "after": after, "drift": schedule(parameters, operators, seed)}


def _make(star: Star, form: MakeForm, spread: MakeSpread, rows: int, seed: int) -> Workload:
    """Draw the stream."""
    rng = np.random.default_rng([seed, 2])
    shown = spread(rng, rows, star.before.classes)
    passed = star.draw(rng, shown.classes)
    numbers = [rng.permutation(DOMAIN) for _ in star.works]
    told = {**shown.columns, **_foreign(rng, numbers, passed), **make_noise(rng, rows)}
    query, tables, names = form(numbers, star.works)
    return Workload(
        name="stream_star",
        query=query,
        data={"s": pa.table({"ts": np.arange(rows), "id": np.arange(rows), **told}), **tables},
        truth=star.truth(names, shown, rows),
        attribute=None if shown.of_value is None else f"s.{CLASSIFIER}",
        best=name_order(names, star.best(shown, passed)),
        prices=dict(zip(names, star.costs.tolist(), strict=True)),
        course=star.course(passed),
        drift_points=star.drift.points(rows) if star.drift else (),
        facts=star.facts(shown),
    )


def _foreign(rng: np.random.Generator, numbers: list[Integers], passed: Mask) -> dict[str, Integers]:
    return {f"fkd{i + 1}": draw_keys(rng, known, passed[:, i]) for i, known in enumerate(numbers)}


def _filters(numbers: list[Integers], works: Sequence[float]) -> Form:
    names = [f"op{i + 1}" for i in range(len(numbers))]
    filters = [
        eddy.Filter(name, on="s", function=add_work(build_member(known), work), columns=[f"fkd{i + 1}"])
        for i, (name, known, work) in enumerate(zip(names, numbers, works, strict=True))
    ]
    return eddy.Query(name="stream_star", streams=[_stream()], filters=filters, select=["s.id"]), {}, names


def _tables(numbers: list[Integers], _works: Sequence[float]) -> Form:
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


FORMS: dict[str, MakeForm] = {"filters": _filters, "tables": _tables}
"""The forms that an operator may have."""
