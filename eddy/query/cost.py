"""What a row costs at a filter, where users know better than the clock.

A cost is a time, "20 milliseconds", which counts beside what the clock says of all other operators; or a number in any
unit, tokens or money. Nobody knows what a second is worth in that unit, so with numbers every function has to have one.
SQL without a cost, probes and routing itself then count as next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eddy.errors import QueryError, quote, write_repr
from eddy.observe.tariff import NO_TARIFF, Tariff
from eddy.query.validation import duration

if TYPE_CHECKING:
    from eddy.query.filter import Filter

MICROSECOND = 1e-6
"""Seconds of one; durations are whole numbers of them."""

USUAL_ROW = 1e-3
"""Seconds that a row is taken for at the mean of the filters whose costs are in a unit of the user's: a hundred times
what routing takes for a row, so that only costs decide; and no more, so that rounds stay as large as they would be."""


def check_cost(cost: object, where: str) -> None:
    """Refuse what is neither a time nor a number that adds up."""
    if isinstance(cost, str):
        duration(cost, where=f"{where}: cost")
    elif cost is not None and (
        isinstance(cost, bool) or not isinstance(cost, int | float) or not math.isfinite(cost) or cost < 0
    ):
        raise QueryError(
            f'{where}: cost: expected a number of 0 or more in any unit, or a time such as "20 milliseconds", for one '
            f"row, got {write_repr(cost)}"
        )


def read_tariff(filters: Sequence[Filter]) -> Tariff:
    """Read the costs of a query's filters; refuses those that cannot be compared."""
    times = {f.name: duration(f.cost, where="cost") * MICROSECOND for f in filters if isinstance(f.cost, str)}
    numbers = {f.name: float(f.cost) for f in filters if isinstance(f.cost, int | float)}
    if not numbers:
        return Tariff(seconds=times) if times else NO_TARIFF
    if times:
        raise QueryError(
            f"cost: expected times, or numbers in one unit, got a time of filter {quote(times)} and a number of filter "
            f"{quote(numbers)}; nobody can tell what a second is worth: write all of them as times, or all as numbers"
        )
    if lacking := [f.name for f in filters if f.where is None and f.name not in numbers]:
        raise QueryError(
            f"cost: expected a number for every function, since filter {quote(numbers)} has one, got none for filter "
            f"{quote(lacking)}; give it one in the same unit, 0 if it costs nothing, or write costs as times, such as "
            '"20 milliseconds", which are compared with what the clock says'
        )
    return _scale({f.name: numbers.get(f.name, 0.0) for f in filters})


def write_cost(asked: Filter) -> str:
    """Write what a filter costs, for explanations."""
    return "" if asked.cost is None else f", cost {asked.cost}"


def _scale(numbers: Mapping[str, float]) -> Tariff:
    # Divided first: their sum may be larger than any number.
    mean = sum(number / len(numbers) for number in numbers.values())
    unit = USUAL_ROW / mean if mean else USUAL_ROW
    return Tariff(seconds={name: number * unit for name, number in numbers.items()}, unit=unit)
