"""What users say that a row costs at each filter, in place of what the clock says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eddy.observe.insight import Insight
from eddy.observe.statistics import Statistic
from eddy.observe.text import write_seconds
from eddy.tuples import Hop


@dataclass(frozen=True, kw_only=True)
class Tariff:
    """The seconds that a row is taken for at each filter with a cost.

    Costs may be in a unit of the user's, tokens or money: `unit` is how many seconds one of it is taken for, None where
    costs are times. Policies, prices and accounts count in seconds all the same; people are told in the unit.

    >>> Tariff(seconds={"f": 2e-3}, unit=1e-3).costs
    {'f': 2.0}
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    unit: float | None = None

    @property
    def costs(self) -> Mapping[str, float]:
        """What a row costs that a filter's function is asked about, as people are told of it."""
        return {name: seconds / (self.unit or 1.0) for name, seconds in self.seconds.items()}

    def charge(self, hop: Hop, timed: Statistic) -> Statistic:
        """Give a step's statistic with the seconds that it is to count for."""
        row = self.seconds.get(hop.operator)
        return timed if row is None else timed._replace(seconds=row * timed.asked)

    def tell(self, insight: Insight) -> Insight:
        """Write what a policy tells of costs in the unit in which people are told."""
        return insight if self.unit is None else insight.divide(self.unit)


NO_TARIFF = Tariff()


def choose_writer(in_seconds: bool) -> Callable[[float], str]:
    """Choose how costs are written: as times, or as numbers of whatever unit the user has.

    >>> choose_writer(True)(0.002), choose_writer(False)(1234.5678)
    ('2 ms', '1,235')
    """
    return write_seconds if in_seconds else lambda cost: f"{cost:,.4g}"
