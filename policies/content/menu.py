"""The routes that the rows of a stream may take, for a while, and which rows take which.

Where few cells are told apart a table says the route of each. Where operators go by attributes of their own, the cells
would soon be as many as the rows: there the routes are chosen for a part of the rows, and each row takes the cheapest
of them. While all rows take one route nobody looks at their buckets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.contracts import Leg, Prices, Task
from eddy.policies.content.knowledge import Knowledge
from eddy.policies.content.lifts import Fitted
from eddy.policies.content.profile import NO_ATTRIBUTE
from eddy.policies.shared.merit import Costs, greedy_route, row_price, step_price
from eddy.policies.shared.orders import (
    MOST_ORDERS,
    STEPS_PER_ORDER,
    choose_orders,
    find_cheapest,
    list_orders,
    number_cells,
    order_by_merit,
    split_ways,
)
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

Route = tuple[Hop, ...]

MOST_CELLS = 1_024
"""Cells of a table: each is priced for each route when the table is made, which takes as long as for so many rows."""

ROWS_WEIGHED = 512
"""Rows that say how many each class has: a class that is rarer than a hundredth pays for no route of its own."""

MOST_GROWN = 16
"""Routes that are grown where operators wait for others: each is built hop by hop."""


class Beliefs:
    """What is known of the operators of one stream, by class and over all rows."""

    def __init__(self, known: Knowledge, prices: Prices, costs: Costs) -> None:
        self._known, self._prices, self._costs = known, prices, costs
        self.cells = known.cells

    def list_attributes(self, hops: Sequence[Hop]) -> tuple[int, ...]:
        """List the attributes that tell classes apart, the one that tells most first."""
        telling: dict[int, float] = {}
        for hop in hops:
            profile = self._known.profile(hop)
            telling[profile.attribute] = telling.get(profile.attribute, 0.0) + profile.gain
            if (cost := self._known.find_costs(hop)) is not None:
                telling[cost.attribute] = telling.get(cost.attribute, 0.0) + cost.skill
        telling.pop(NO_ATTRIBUTE, None)
        return tuple(sorted(telling, key=lambda attribute: (-telling[attribute], attribute)))

    def rank(self, hop: Hop) -> float:
        """The smaller, the sooner, over all rows."""
        return float(self._known.estimate_whole([hop])[0] - 1) / row_price(hop, self._prices, self._costs)

    @property
    def refined(self) -> Set[int]:
        """The attributes whose values are told apart one by one."""
        return self._known.refined

    def find_buckets(self, attributes: Sequence[int], numbers: ValueNumbers) -> Buckets:
        """Find the buckets of some rows, given the numbers of their values, by which classes are named."""
        columns = [self._known.find_buckets(a, column) for a, column in zip(attributes, numbers.T, strict=True)]
        found: Buckets = np.array(columns, np.uint8).T
        return found

    def estimate(self, hops: Sequence[Hop], used: Sequence[int], buckets: ValueNumbers) -> tuple[Floats, Floats]:
        """Estimate rates and costs, a line for each row of `buckets`.

        They are the buckets of the attributes `used`, or the numbers of their values.
        """
        columns = [self._find_column(hop, used, buckets) for hop in hops]
        rates = self._known.rates(hops, columns, len(buckets))
        prices = np.array([row_price(hop, self._prices, self._costs) for hop in hops])
        costs: Floats = np.repeat(prices[:, None], len(buckets), axis=1).T
        for i, hop in enumerate(hops):
            own = self._known.find_costs(hop)
            if own is not None and own.attribute in used:
                column = buckets[:, used.index(own.attribute)]
                costs[:, i] = own.seconds.take(self._known.find_buckets(own.attribute, column))
        return rates, costs

    def _find_column(self, hop: Hop, used: Sequence[int], buckets: ValueNumbers) -> ValueNumbers | None:
        attribute = self._known.profile(hop).attribute
        return None if attribute not in used else buckets[:, used.index(attribute)]

    def fit(self, hops: Sequence[Hop]) -> Fitted | None:
        """Fit what hops pass of rows that others have passed; none where they are independent."""
        return self._known.fit_lifts(hops)

    def price_step(self, hops: Sequence[Hop]) -> float:
        """Price a step more."""
        return step_price(hops, self._prices, self._costs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Menu:
    """The routes of rows that arrive; the first is the common one.

    `hops` are those of all routes, and `orders` the routes as places in them. `used` are the attributes that classes go
    by; `choice` has for each cell of a table over them the number of its route, and `saved` what a row of it saves.
    Where there would be too many cells, or values are told apart one by one, there is no table.
    """

    ready: Route
    hops: Route
    orders: Integers
    used: tuple[int, ...] = ()
    choice: Integers | None = None
    saved: Floats | None = None

    @property
    def routes(self) -> list[Route]:
        """The routes, hop by hop."""
        return [tuple(self.hops[place] for place in order) for order in self.orders.tolist()]

    @property
    def is_single(self) -> bool:
        """Whether all rows take one route."""
        return len(self.orders) == 1

    def choose(self, buckets: ValueNumbers, beliefs: Beliefs) -> tuple[Integers, float]:
        """Choose a route for each row; says what they save in all."""
        if self.choice is None or self.saved is None:
            numbers, saved = find_cheapest(*beliefs.estimate(self.hops, self.used, buckets), self.orders)
            return numbers, float(saved.sum())
        codes = number_cells(buckets, beliefs.cells)
        counts = np.bincount(codes, minlength=len(self.saved))
        return self.choice.take(codes), float(counts @ self.saved)

    def make_legs(self, numbers: Integers, rows: Integers, buckets: ValueNumbers, beliefs: Beliefs) -> list[Leg]:
        """Make a leg for each route that some row takes."""
        # Reports name classes by all attributes where there is a table, and by the one that tells most elsewhere.
        told, cells = self.used if self.choice is not None else self.used[:1], beliefs.cells
        buckets = beliefs.find_buckets(told, buckets[:, : len(told)])
        routes = self.routes
        return [
            Leg(route=routes[number], rows=part, classes=classes)
            for number, part, classes in split_ways(numbers, rows, told, buckets, cells)
        ]

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "ready": [list(hop) for hop in self.ready],
            "hops": [list(hop) for hop in self.hops],
            "orders": self.orders.tolist(),
            "used": list(self.used),
            "choice": None if self.choice is None else self.choice.tolist(),
            "saved": None if self.saved is None else self.saved.tolist(),
        }

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Menu:
        """From a snapshot."""
        return Menu(
            ready=tuple(Hop(*hop) for hop in state["ready"]),
            hops=tuple(Hop(*hop) for hop in state["hops"]),
            orders=np.array(state["orders"], np.int64),
            used=tuple(state["used"]),
            choice=None if state["choice"] is None else np.array(state["choice"], np.int64),
            saved=None if state["saved"] is None else np.array(state["saved"], np.float64),
        )


def make_menu(task: Task, ready: Route, beliefs: Beliefs, known: Sequence[Hop]) -> Menu:
    """Choose the routes for rows that arrive, and a table of them if it is small.

    `known` are all hops that rows of the stream have met.
    """
    used = beliefs.list_attributes(ready if task.independent else known)
    is_refined = not beliefs.refined.isdisjoint(used)
    fitted = beliefs.fit(ready) if task.independent and len(used) <= 1 and not is_refined else None
    # Classes that lifts do not tell apart yet save more than lifts do.
    if fitted is not None and used == fitted.attributes:
        return _make_fitted_menu(task, ready, beliefs, fitted)
    common = greedy_route(task, ready, beliefs.rank)
    if not used:
        return Menu(ready=ready, hops=common, orders=np.arange(len(common))[None])
    # Rows from all over the task stand for all of them.
    some = np.arange(0, task.rows, -(-task.rows // ROWS_WEIGHED))
    buckets, each = task.buckets.numbers(used, beliefs.refined, some), task.rows / len(some)
    is_table = not is_refined and beliefs.cells ** len(used) <= MOST_CELLS
    if is_table:
        buckets, counts = _list_cells(buckets, beliefs.cells)
        rows = apart = counts * each
    else:
        rows = np.full(len(some), each)
        # A row that is priced by itself is believed to have as many of its kind beside it as a route has.
        apart = np.full(len(some), task.rows / MOST_ORDERS)
    step = beliefs.price_step(common)
    hops, orders = (
        _order_hops(ready, common, beliefs, used, buckets, apart, step)
        if task.independent
        else _grow_routes(task, common, beliefs, used, buckets)
    )
    rates, costs = beliefs.estimate(hops, used, buckets)
    orders = choose_orders(orders, rates, costs, rows, STEPS_PER_ORDER * step)
    if len(orders) == 1 or not is_table:
        return Menu(ready=ready, hops=hops, orders=orders, used=used)
    choice, saved = find_cheapest(rates, costs, orders)
    return Menu(ready=ready, hops=hops, orders=orders, used=used, choice=choice, saved=saved)


def _make_fitted_menu(task: Task, ready: Route, beliefs: Beliefs, fitted: Fitted) -> Menu:
    """Choose the routes where operators depend on each other: by what each passes of the rows that others have left."""
    used = fitted.attributes
    some = np.arange(0, task.rows, -(-task.rows // ROWS_WEIGHED))
    cells, counts = _list_cells(task.buckets(used, some), beliefs.cells)
    rows = counts * (task.rows / len(some))
    rates, lifts = fitted.rates.T[: len(cells)], fitted.lifts[:, :, : len(cells)]
    _, costs = beliefs.estimate(ready, used, cells)
    common = _order_all(rates, costs, lifts, rows)
    if not used:
        return Menu(ready=ready, hops=ready, orders=common[None])
    step = beliefs.price_step(ready)
    own = order_by_merit(rates, costs, common, rows, step, lifts)
    orders = choose_orders(list_orders(own, common, rows), rates, costs, rows, STEPS_PER_ORDER * step, lifts)
    if len(orders) == 1:
        return Menu(ready=ready, hops=ready, orders=orders, used=used)
    choice, saved = find_cheapest(rates, costs, orders, lifts)
    return Menu(ready=ready, hops=ready, orders=orders, used=used, choice=choice, saved=saved)


def _order_all(rates: Floats, costs: Floats, lifts: Floats, rows: Floats) -> Integers:
    """Order operators by merit for all cells together, of which each has so many rows."""
    order: list[int] = []
    left = rows
    for _ in rates.T:
        among = np.minimum(rates * lifts[sum(1 << place for place in order)].T, 1.0)
        merits = left @ (among - 1) / np.maximum(left @ costs, np.finfo(np.float64).tiny)
        merits[order] = np.inf
        order.append(int(merits.argmin()))
        left = left * among[:, order[-1]]
    return np.array(order)


def _order_hops(
    ready: Route,
    common: Route,
    beliefs: Beliefs,
    used: Sequence[int],
    examples: ValueNumbers,
    rows: Floats,
    step: float,
) -> tuple[Route, Integers]:
    """List the orders by merit, where hops may be taken in any."""
    usual = np.array([ready.index(hop) for hop in common])
    rates, costs = beliefs.estimate(ready, used, examples)
    return ready, list_orders(order_by_merit(rates, costs, usual, rows, step), usual, rows)


def _grow_routes(
    task: Task, common: Route, beliefs: Beliefs, used: Sequence[int], examples: ValueNumbers
) -> tuple[Route, Integers]:
    """Grow the routes by merit where some hops wait for others.

    Classes part where another hop is better for them.
    """
    growing: list[tuple[Route, Integers]] = [((), np.arange(len(examples)))]
    routes = [common]
    while growing:
        route, members = growing.pop()
        ready = task.after(route)
        if not ready:
            routes.append(route)
            continue
        rates, costs = beliefs.estimate(ready, used, examples[members])
        merits = (rates - 1) / costs
        if len(routes) + len(growing) >= MOST_GROWN:
            merits = np.broadcast_to(merits.mean(axis=0), merits.shape)
        best = merits.argmin(axis=1)
        growing += [((*route, ready[place]), members[best == place]) for place in np.unique(best).tolist()]
    different = [route for route in dict.fromkeys(routes) if len(route) == len(common)]
    hops = tuple(dict.fromkeys(hop for route in different for hop in route))
    return hops, np.array([[hops.index(hop) for hop in route] for route in different])


def _list_cells(buckets: Buckets, cells: int) -> tuple[Buckets, Floats]:
    """List all cells of a table over some rows' buckets, and count the rows in each."""
    width = buckets.shape[1]
    listed: Buckets = np.indices((cells,) * width, np.uint8).reshape(width, cells**width).T
    return listed, np.bincount(number_cells(buckets, cells), minlength=len(listed)).astype(np.float64)
