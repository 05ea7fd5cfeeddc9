"""Counts of one micro-batch: steps, decisions, routes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from eddy.classes.divider import BucketName, NameClasses
from eddy.classes.value_names import OTHERS
from eddy.contracts import Classes, Leg
from eddy.observe.counters import VARIOUS, ClassRoute
from eddy.observe.statistics import Statistic
from eddy.tuples import Hop, Lineage

MOST_ROUTES = 256
"""Classes and their routes that are counted apart in a micro-batch: ten times as many as a classifier has buckets, and
few enough to be reported every time."""

MOST_OTHER_ROUTES = 32
"""Routes that are counted apart for all classes beyond those: where there are many classes, they say more than a
few."""


class TalliedRoutes(NamedTuple):
    """The rows of each class on each route, and the classes' names."""

    counted: Mapping[ClassRoute, int]
    names: Mapping[tuple[str, str], str]


class Started(NamedTuple):
    """Rows that began a route together."""

    stream: str
    label: str
    classes: Classes | None
    route: tuple[str, ...]
    rows: int

    def name_classes(self, least: int, names: NameClasses) -> Iterable[tuple[BucketName, int]]:
        """Name the classes with enough rows, and give their rows."""
        if self.classes is None:
            return [((self.label, self.label), self.rows)] if self.rows >= least else []
        large = [size for size in self.classes.sizes if size[1] >= least]
        named = names(self.stream, self.classes.attributes, [buckets for buckets, _ in large])
        return zip(named, [rows for _, rows in large], strict=True)


class RouteTally:
    """Counts the steps, decisions and routes of one micro-batch."""

    def __init__(self) -> None:
        self.operators: dict[Hop, Statistic] = {}
        self.steps: dict[Hop, int] = {}
        self.decisions = 0
        self.planning = 0.0
        self.learning = 0.0
        self._started: list[Started] = []

    def add(self, hop: Hop, statistic: Statistic) -> None:
        """Count a step."""
        known = self.operators.get(hop)
        if known is None:
            self.operators[hop], self.steps[hop] = statistic, 1
        else:
            self.operators[hop] = known + statistic
            self.steps[hop] += 1

    def start(self, lineage: Lineage, leg: Leg, rows: int) -> None:
        """Note the rows that begin a route.

        They are counted when the micro-batch is over.
        """
        # A route is counted where it sets out; decisions on the way belong to the same rows.
        if not lineage.done:
            route = tuple([hop.operator for hop in leg.route])
            self._started.append(Started(lineage.origin, leg.label, leg.classes, route, rows))

    def routes(self, names: NameClasses) -> TalliedRoutes:
        """Count the rows of each class on each route.

        No more than the `MOST_ROUTES` largest are told apart; of the others only the `MOST_OTHER_ROUTES` largest
        routes are.
        """
        counted: dict[ClassRoute, int] = {}
        called: dict[tuple[str, str], str] = {}
        others: dict[ClassRoute, int] = {}
        least = self._find_least()
        for started in self._started:
            stream, left = started.stream, started.rows
            for (key, name), rows in started.name_classes(least, names):
                called[stream, key] = name
                _count(counted, (stream, key, started.route), rows)
                left -= rows
            if left:
                _count(others, (stream, OTHERS, started.route), left)
        for place, (route, rows) in enumerate(sorted(others.items(), key=lambda item: -item[1])):
            _count(counted, route if place < MOST_OTHER_ROUTES else (route[0], OTHERS, VARIOUS), rows)
        return TalliedRoutes(counted, called)

    def _find_least(self) -> int:
        """Find the rows that a class must have to be told apart.

        No more than `MOST_ROUTES` classes have so many.
        """
        sizes: list[int] = []
        for started in self._started:
            sizes += [started.rows] if started.classes is None else [rows for _, rows in started.classes.sizes]
        # One more than the largest class that must not be told apart: classes of equal size then go the same way.
        return 1 if len(sizes) <= MOST_ROUTES else max(sorted(sizes)[-MOST_ROUTES - 1] + 1, 1)


def _count(counted: dict[ClassRoute, int], route: ClassRoute, rows: int) -> None:
    counted[route] = counted.get(route, 0) + rows
