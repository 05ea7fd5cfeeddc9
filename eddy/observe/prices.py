"""What steps cost: one price list for policies, accounts and reports.

A step of `rows` rows takes about `step + unit x work` seconds: a call costs something however few its rows are. Both
numbers are fitted for every hop, by least squares over its last steps. Where all steps are of one size nothing can
tell the two apart, and a usual price of a call is believed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from eddy.observe.statistics import Statistic
from eddy.tuples import Hop

USUAL_STEP = 30e-6
"""Seconds that a call takes beside its rows' where nothing else is known: a filter that looks up an array takes 25."""

BELIEF_IN_USUAL = 0.002
"""The weight of the usual step, in steps: so little that a few steps of unlike sizes overrule it."""

LEAST_OF_ROWS, USUAL_OF_ROWS = 0.01, 0.1
"""Steps of nearly one size that waver may make rows look free: what seems to be less than the first share of a step is
not known, and taken for the second. What is free would go before all else, however many rows come there then."""

STEPS_REMEMBERED = 32
"""Steps after which an older one counts half: a machine that gets busy shows after as many."""

KEPT = 0.5 ** (1 / STEPS_REMEMBERED)
"""The weight that a step keeps when another one comes."""

STEPS_WAITING = 16
"""Steps of a hop that wait to be fitted: where nobody asks for long the newest will do, and little is kept."""

MOST_ABOVE = 2.0
"""A step counts as at most so many times what was expected, while it is an accident."""

ACCIDENTS = 2
"""Slow steps in a row that are taken for accidents; with the next one the hop begins anew."""

STEPS_TO_TRUST = 3
"""Steps before anything is expected of the next."""

LEAST_SECONDS = 1e-9
"""Seconds below which a step is not told from nothing; keeps weights finite, and a clock that stands still harmless."""

ALONE, SHARED = Hop("", "alone"), Hop("", "shared")
"""What the router does itself for a step of one leg, and for one that several legs take together."""

PROBES = Hop("", "probes")
"""What a step of any probe takes: they do the same, on more rows or fewer."""

NEAR = 1.2
"""Times by which a usual price must differ from another one to be another one."""


class Price(NamedTuple):
    """Seconds of a call, of a unit of its work, and how much work a row is.

    >>> Price(step=1e-3, unit=1e-6, load=2.0).seconds(rows=500)
    0.002
    """

    step: float
    unit: float
    load: float

    @property
    def row(self) -> float:
        """Seconds of a row, besides the call's."""
        return self.unit * self.load

    def seconds(self, rows: float, steps: float = 1.0) -> float:
        """Seconds of some steps with so many rows in all."""
        return self.step * steps + self.row * rows


UNKNOWN = Price(0.0, 0.0, 1.0)


class Fit:
    """A line through a hop's steps: seconds over work, least squares of relative errors."""

    def __init__(self) -> None:
        # Weighted sums over steps: of 1, work, work squared, seconds, seconds x work; and steps, rows and work as such.
        self._sums = [0.0] * 8
        self._price: Price | None = UNKNOWN
        self._slow = 0
        self._usual = USUAL_STEP

    def add(self, rows: float, work: float, seconds: float) -> None:
        """Count a step; older ones fade."""
        seconds = expected = max(seconds, LEAST_SECONDS)
        if self._sums[5] > STEPS_TO_TRUST - 0.5:  # older ones have faded a little
            price = self.price
            expected = max(price.step + price.unit * work, LEAST_SECONDS)
            self._slow = self._slow + 1 if seconds > MOST_ABOVE * expected else 0
            if self._slow > ACCIDENTS:
                self._sums, self._slow, expected = [0.0] * 8, 0, seconds
            elif self._slow:
                seconds = MOST_ABOVE * expected
        weight = 1 / (expected * expected)
        weighed = weight * work
        ones, works, squares, sums, products, steps, all_rows, all_work = self._sums
        self._sums = [
            ones * KEPT + weight,
            works * KEPT + weighed,
            squares * KEPT + weighed * work,
            sums * KEPT + weight * seconds,
            products * KEPT + weighed * seconds,
            steps * KEPT + 1.0,
            all_rows * KEPT + rows,
            all_work * KEPT + work,
        ]
        self._price = None

    @property
    def price(self) -> Price:
        """What a step is expected to take."""
        if self._price is None:
            self._price = self._solve()
        return self._price

    def believe(self, usual: float) -> None:
        """Take another price of a call for the usual one."""
        if self._price is not UNKNOWN and not self._usual / NEAR < usual < self._usual * NEAR:
            self._usual, self._price = usual, None

    def _solve(self) -> Price:
        ones, works, squares, seconds, products, _, rows, work = self._sums
        # The belief: a step of no rows takes the usual time. Its weight is of relative errors, like that of the steps.
        belief = BELIEF_IN_USUAL / self._usual**2
        ones, seconds = ones + belief, seconds + belief * self._usual
        load = work / rows if rows else 1.0
        determinant = ones * squares - works * works
        step = (seconds * squares - products * works) / determinant if determinant > 0 else seconds / ones
        if step < 0:
            return Price(0.0, products / squares, load)
        unit = (products - step * works) / squares if squares else 0.0
        mean, size = self._sums[3] / self._sums[0], works / self._sums[0]
        if unit * size <= LEAST_OF_ROWS * mean:
            return Price((1 - USUAL_OF_ROWS) * mean, USUAL_OF_ROWS * mean / size if size else 0.0, load)
        return Price(step, unit, load)

    def snapshot(self) -> list[float]:
        """The sums, and how many steps have been slow."""
        return [*self._sums, self._slow]

    @staticmethod
    def restore(sums: Sequence[float]) -> Fit:
        """From a snapshot."""
        fit = Fit()
        *fit._sums, slow = (float(value) for value in sums)
        fit._slow = int(slow)
        fit._price = None if fit._sums[0] > 0 else UNKNOWN
        return fit


def _wait() -> deque[tuple[float, float, float]]:
    """Let the last steps of a hop wait to be fitted: their rows, work and seconds."""
    return deque(maxlen=STEPS_WAITING)


class Prices:
    """The price of every hop.

    `probes` are the operators whose work is more than their rows: each candidate that an index gives is looked at.
    """

    def __init__(self, probes: Collection[str] = ()) -> None:
        self.probes = frozenset(probes)
        self._fits: dict[Hop, Fit] = {}
        # Steps wait here until a price is asked for: where nobody asks, a step costs next to nothing.
        self._waiting: defaultdict[Hop, deque[tuple[float, float, float]]] = defaultdict(_wait)

    def add(self, hop: Hop, statistic: Statistic) -> None:
        """Take note of what a step took."""
        rows, work, _, seconds, _, _ = statistic
        if hop.operator in self.probes:
            work += rows
            self._waiting[PROBES].append((rows, work, seconds))
        self._waiting[hop].append((rows, work, seconds))

    def add_own(self, kind: Hop, rows: int, seconds: float) -> None:
        """Take note of what the router itself took for a step, `ALONE` or `SHARED`."""
        self._waiting[kind].append((rows, rows, seconds))

    def work(self, hop: Hop, statistic: Statistic) -> float:
        """Say how much a step looked at: a filter at the rows that it had not judged, a probe at candidates as well."""
        return statistic.evaluated + statistic.rows_in if hop.operator in self.probes else statistic.evaluated

    def __getitem__(self, hop: Hop) -> Price:
        """Give the price of a hop; that of nothing while it has taken no step."""
        fit = self._fits.get(hop)
        if waiting := self._waiting.get(hop):
            if fit is None:
                fit = self._fits[hop] = Fit()
            while waiting:
                fit.add(*waiting.popleft())
        if fit is None:
            return UNKNOWN
        if hop.operator in self.probes:
            # A probe's steps are often of one size, and those of all probes are not.
            fit.believe(max(self[PROBES].step, USUAL_STEP))
        return fit.price

    def seconds(self, hop: Hop, statistic: Statistic) -> float:
        """Price a step that was taken: its calls may have been slow or quick by chance."""
        price = self[hop]
        return price.step + price.unit * self.work(hop, statistic)

    def snapshot(self) -> list[list[Any]]:
        """Plain values, a row for each hop; steps that wait go on waiting, as they would without a restart."""
        hops = dict.fromkeys([*self._fits, *self._waiting])
        return [[*hop, self._save_fit(hop), [list(step) for step in self._waiting.get(hop, ())]] for hop in hops]

    def _save_fit(self, hop: Hop) -> list[float] | None:
        fit = self._fits.get(hop)
        return None if fit is None else fit.snapshot()

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self._waiting.clear()
        self._fits.clear()
        for operator, pattern, sums, steps in rows:
            hop = Hop(operator, pattern)
            if sums is not None:
                self._fits[hop] = Fit.restore(sums)
            self._waiting[hop] = deque(map(tuple, steps), maxlen=STEPS_WAITING)
