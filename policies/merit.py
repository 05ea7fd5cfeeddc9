"""The order of merit: who drops most for the least."""

from __future__ import annotations

from typing import Literal

from eddy.errors import QueryError
from eddy.observe import Statistic

Costs = Literal["time", "unit"]

INSTANT = 1e-9
"""Seconds below which an operator's cost is not told from nothing; it keeps a merit finite."""


def merit(statistic: Statistic, costs: Costs) -> float:
    """The smaller, the sooner: (outputs per input - 1) / cost of an input.

    With `costs` "unit" every operator costs the same, as in experiments that count routing calls.

    >>> merit(Statistic(rows_in=10, evaluated=10, rows_out=4, seconds=1.0), "unit")
    -0.6
    """
    return (statistic.rate - 1) / cost(statistic, costs)


def cost(statistic: Statistic, costs: Costs) -> float:
    """What one input costs: seconds, or one call."""
    return 1.0 if costs == "unit" else max(statistic.cost, INSTANT)


def check_costs(costs: object, *, where: str) -> None:
    """Refuse a slip in a config file."""
    if costs not in ("time", "unit"):
        raise QueryError(f'{where}: costs: expected "time" or "unit", got {costs!r}')


def check_share(share: object, name: str, *, where: str, least: float = 0.0) -> None:
    """Refuse a share that is none."""
    if not isinstance(share, int | float) or isinstance(share, bool) or not least < share <= 1:
        raise QueryError(f"{where}: {name}: expected a share above {least:g} and up to 1, got {share!r}")
