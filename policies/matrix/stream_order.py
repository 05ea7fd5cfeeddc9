"""The order of one stream, and what it is learned from.

`profiler` says which rows are profiled, `window` has what operators made of them, `order` finds what violates the
variant's invariant, and `watch` sees a change before profile rows do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eddy.contracts import UNSEEN, Hop, Leg, Observation, Prices, Task
from eddy.policies.matrix.hopeful import Along, find_hopeful
from eddy.policies.matrix.invariants import INVARIANTS, Conduct
from eddy.policies.matrix.order import Problem, Saving, compare_orders, find_order, is_better
from eddy.policies.matrix.profiler import Cost, Profiler
from eddy.policies.matrix.view import find_left
from eddy.policies.matrix.watch import Place, Watch
from eddy.policies.matrix.window import Window
from eddy.policies.shared.call_counts import SAMPLE
from eddy.policies.shared.legality import HopNumbers, Legality, bits
from eddy.policies.shared.merit import INSTANT, greedy_route, row_price, step_price
from eddy.policies.shared.standing_order import ROWS_TO_SETTLE, Known, follow_price, join_alike
from eddy.tuples.arrays import Floats, Integers

LEAST_SAVING = 0.01
"""What another order must save of a row's cost: below that it is not worth the change."""

SURE = 1.0
"""Standard errors that it must save. More would keep an order for long that is probably worse."""

FEWEST_ROWS = 30
"""Profile rows before an order is doubted."""

STAGE_ROWS = 200
"""Profile rows after which a stage of Sweep is over that has found nothing; the thesis prescribes some number."""

SECONDS_OF_A_LOOK, SECONDS_OF_A_TRY = 40e-6, 250e-6
"""What it takes, for each operator, to look at a round's counts, and to think of another order."""

THINKING_SHARE = 0.01
"""The share of what rows cost that thinking may take."""

MOST_PATIENCE = 10
"""Orders that may be thought of at once, when nothing was for long."""

ROWS_OF_A_TRY = 4_000
"""Rows for which a new order is thought about after each round: by then it is known what its places do."""

SURE_OF_DROPS = 2.0
"""Standard errors by which an operator may drop less than its rows say, where dear ones are left out of profiles."""

FEWEST_LEFT = 20.0
"""Rows that must have come to a place before dear operators are left out there."""

WRITTEN, FOREIGN = "first rows", "first rows; what was restored is for other operators"
ORDER_IS_BETTER = '"{}" comes at place {}: that saves {:.1%} of what a row costs'
ORDER_IS_TRIED = '"{}" is tried at place {}'
PLACE_CHANGED = '"{}" lets other rows pass than before; '
ROWS_CHANGED = "the newest profile rows are unlike the others; "


class StreamOrder:
    """One order for all rows of a stream."""

    along: Along | None = None
    """What operators wait for, where rows are profiled along paths."""

    def __init__(
        self, stream: str, legality: Legality, conduct: Conduct, prices: Prices, reason: str = WRITTEN
    ) -> None:
        self._stream, self._legality, self._conduct, self._prices = stream, legality, conduct, prices
        self._invariant = INVARIANTS[conduct.variant]
        self.operators = legality.operators
        self._numbers = {name: number for number, name in enumerate(legality.operators)}
        self._order: HopNumbers = ()
        while ready := legality.find_ready(self._order):
            self._order = (*self._order, ready[0])
        self._window = Window(len(self.operators), conduct.window)
        self._watch = Watch(self._list_places())
        self._profiler = Profiler(conduct.p, conduct.price)
        self._known: dict[int, Known] = {}
        self._costs = np.ones(len(self.operators))
        self._fresh = self._stood = self._number = 0
        # The place whose operator is profiled, where the variant has stages, and the profile rows of the stage.
        self._stage, self._staged = min(1, len(self._order) - 1), 0
        self._reason, self._noticed = reason, ""
        self._predicted: float | None = None
        # Seconds that may go into thinking; rows at which prices are looked at again, while there are none.
        self._patience = self._next_look = 0.0
        self._cost = Cost(0.0, 0.0, 0.0)
        self._asides: tuple[tuple[Hop, ...], ...] = ((),) * len(self._order)
        # The probes that get only tuples which were asked first; as long as there are any, steps tell of these alone.
        self.asked: frozenset[Hop] = frozenset()
        self._follow_route()

    def _list_places(self) -> list[Place]:
        """List the places of the order, as those that are watched."""
        return [(bits(self._order[:place]), number) for place, number in enumerate(self._order)]

    @property
    def is_trying(self) -> bool:
        """Tell whether steps should be of all tuples: where inputs are asked first, they say nothing of the order."""
        return self.along is not None and self._profiler.is_auto and self._stood < ROWS_OF_A_TRY

    def begin(self) -> None:
        """Begin without a snapshot."""
        self._refresh()

    def legs(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """All rows in one order; some of them are shown to operators that come after the one that drops them."""
        if task.lineage.done:
            places = {self.operators[number]: place for place, number in enumerate(self._order)}
            return [Leg(route=greedy_route(task, ready, lambda hop: places[hop.operator]))]
        self._stood += task.rows
        most = MOST_PATIENCE * SECONDS_OF_A_TRY * len(self._order)
        self._patience = min(self._patience + THINKING_SHARE * task.rows * self._cost.row, most)
        count = self._profiler.count(task.rows, len(self._window), self._cost, task.chance)
        if not count or len(self._order) == 1:
            return self._main
        (main,), profiled = self._main, self._make_profile()
        if count == task.rows:
            return [profiled]
        chosen = np.zeros(task.rows, np.bool_)
        chosen[task.chance().choice(task.rows, count, replace=False)] = True
        rest, drawn = np.flatnonzero(~chosen), np.flatnonzero(chosen)
        return [replace(main, rows=rest), replace(profiled, rows=drawn)]

    def _make_profile(self) -> Leg:
        """Make the leg of the rows that are profiled."""
        return replace(self._main[0], aside=self._asides, label=SAMPLE)

    def observe(self, observation: Observation) -> None:
        """Take note of a step, or of a profile."""
        if observation.is_profile:
            self.add(observation.hops, np.column_stack(observation.outcomes))
        elif observation.legs[0].tag == self._number and not self.asked:
            place = self._places.get(observation.hops[0])
            if place is not None:
                self._watch.count(place, observation.outcomes[0])

    def add(self, hops: Sequence[Hop], outcomes: Integers) -> None:
        """Keep profile rows; a sample that somebody else has taken is as good as our own."""
        rows = np.full((len(outcomes), len(self.operators)), UNSEEN, np.int64)
        for hop, made in zip(hops, outcomes.T, strict=True):
            if hop.operator in self._numbers:
                rows[:, self._numbers[hop.operator]] = made
        self._window.add(rows)
        self._fresh += len(rows)

    def begin_with(self, hops: Sequence[Hop], outcomes: Integers) -> None:
        """Begin with a sample that somebody else has taken: that many rows fewer are wanted."""
        self.add(hops, outcomes)
        self._profiler.wanted = max(self._profiler.wanted - len(outcomes), 0)
        self.learn()

    def learn(self) -> None:
        """Look at the round that is over, and take another order if there is a better one."""
        if not self._fresh and not self._may_think(SECONDS_OF_A_LOOK):
            return
        place = self._watch.look()
        if self._profiler.is_auto:
            if place is not None:
                self._begin_anew(PLACE_CHANGED.format(self.operators[self._order[place]]), self._fresh)
            elif self._fresh and (rows := self._window.find_break()):
                self._begin_anew(ROWS_CHANGED, rows)
        if self._fresh:
            self._decide()
            self._fresh = 0
            self._refresh()
        elif self._is_hopeful and self._stood < ROWS_OF_A_TRY and self._may_think(SECONDS_OF_A_TRY):
            self._try()
        elif not self._cost.row:
            self._refresh()

    def _may_think(self, seconds: float) -> bool:
        """Tell whether rows are dear enough to think about them; where only calls count, it costs nothing."""
        if self._conduct.costs == "unit":
            return True
        if not self._cost.row:
            # Nobody knows yet, or rows cost nothing: look again when there are twice as many.
            is_time = self._stood >= self._next_look
            self._next_look = 2.0 * self._stood if is_time else self._next_look
            return is_time
        seconds *= len(self._order)
        if self._patience < seconds:
            return False
        self._patience -= seconds
        return True

    def _begin_anew(self, noticed: str, rows: int) -> None:
        """The stream has changed: older rows tell nothing of it."""
        self._noticed = noticed
        self._window.cut(rows)
        self._watch.begin()
        self._profiler.want()

    @property
    def _is_hopeful(self) -> bool:
        """Tell whether orders are tried on rows of the stream."""
        conduct = self._conduct
        return (
            self._profiler.is_auto and conduct.variant == "a_greedy" and conduct.search == "greedy" and not self.asked
        )

    def _try(self) -> None:
        """Try an order that may be better."""
        if len(self._window) < FEWEST_ROWS and self.along is None:
            return
        problem = self._make_problem()
        other = find_hopeful(problem, self._order, self._watch.known, self._cost.row, self.along)
        if other != self._order:
            self._take(other, compare_orders(problem, self._order, other))
            self._refresh()

    def _decide(self) -> None:
        """Take another order, if it saves enough."""
        self._staged += self._fresh
        self._follow_prices()
        if self._is_hopeful:
            self._try()
            return
        if len(self._window) < FEWEST_ROWS:
            return
        problem, conduct, independent = self._make_problem(), self._conduct, self._invariant.by_first_row
        other = self._find_other(problem)
        saving = compare_orders(problem, self._order, other, by_first_row=independent)
        self._predicted = saving.cost
        if other != self._order and is_better(saving, least=LEAST_SAVING, sure=SURE):
            self._take(other, saving)
        elif self._invariant.has_stages and self._staged >= min(STAGE_ROWS, conduct.window):
            self._begin_stage()

    def _make_problem(self) -> Problem:
        return Problem.of(self._window.outcomes(), self._costs, self._legality)

    def _find_other(self, problem: Problem) -> HopNumbers:
        """Find the order that the variant asks for."""
        own = self._conduct
        return find_order(problem, self._order, own.variant, stage=self._stage, alpha=own.alpha, search=own.search)

    def _take(self, order: HopNumbers, saving: Saving) -> None:
        """Take another order, and say why; what was seen of the former goes where the variant cannot use it."""
        place = next(place for place, number in enumerate(order) if number != self._order[place])
        told = self.operators[order[place]], place + 1, saving.saved / max(saving.cost, INSTANT)
        is_better_now = is_better(saving, least=LEAST_SAVING, sure=SURE)
        self._reason = self._noticed + (ORDER_IS_BETTER if is_better_now else ORDER_IS_TRIED).format(*told)
        self._noticed = ""
        self._order, self._number, self._stood = order, self._number + 1, 0
        self._predicted = saving.cost - saving.saved
        self._watch.switch(self._list_places())
        if self._invariant.has_stages:
            self._begin_stage()
        elif not self._invariant.keeps_rows:
            self._window.cut()

    def _begin_stage(self) -> None:
        """Profile the operator at the next place; what was seen of the others says nothing of it."""
        self._stage, self._staged = self._stage % (len(self._order) - 1) + 1, 0
        self._window.cut()

    def _follow_prices(self) -> None:
        """Let costs follow prices, those that are alike together; an operator that never acted costs what others do."""
        if self._conduct.costs == "unit":
            return
        for number, hop in zip(self._order, self._legality.hops(self._order), strict=True):
            # What a probe takes for tuples that all have a match is no price for the others.
            if self._prices[hop].row > 0 and hop not in self.asked:
                self._known[number] = follow_price(self._known.get(number), row_price(hop, self._prices, "time"))
        names = {Hop(self.operators[number]): known for number, known in self._known.items()}
        found = {hop.operator: price for hop, price in join_alike(names).items()}
        usual = sum(found.values()) / len(found) if found else 1.0
        self._costs = np.array([found.get(name, usual) for name in self.operators])

    def _follow_route(self) -> None:
        """Write the order as a leg; hops are worked out once for each order."""
        hops = self._legality.hops(self._order)
        self._places = {hop: place for place, hop in enumerate(hops)}
        self._main = (Leg(route=hops, tag=self._number),)

    def _refresh(self) -> None:
        """Work out legs and prices anew: the order, the window or what operators cost has changed."""
        hops = self._legality.hops(self._order)
        self._follow_route()
        if not self._known:
            self._follow_prices()
        outcomes = self._make_problem().outcomes
        if not len(outcomes):
            # Nobody knows who drops what: every operator sees every row.
            outcomes = np.ones((1, len(self.operators)))
        left = find_left(outcomes, self._order)
        ordered = outcomes[:, list(self._order)]
        asides = self._find_asides(left, ordered)
        dropped = (left * (ordered == 0)).mean(axis=0) if len(self._window) else np.full(len(hops), 1 / len(hops))
        costs = self._costs
        aside = sum(float(dropped[place]) * float(costs[list(some)].sum()) for place, some in enumerate(asides))
        row = float(left.mean(axis=0) @ costs[list(self._order)])
        self._asides = tuple(self._list_hops(place, some) for place, some in enumerate(asides))
        seen = dict.fromkeys(hop for some in self._asides for hop in some)
        step = (len(seen) + 1) * step_price(tuple(seen), self._prices, self._conduct.costs)
        is_known = self._conduct.costs == "unit" or bool(self._known)
        self._cost = Cost(row, max(aside, 0.0), step) if is_known else Cost(0.0, 0.0, 0.0)

    def _list_hops(self, place: int, numbers: HopNumbers) -> tuple[Hop, ...]:
        ready = self._legality.find_ready_hops(self._order[:place])
        return tuple(ready[number] for number in numbers)

    def _find_asides(self, left: Floats, ordered: Floats) -> Sequence[HopNumbers]:
        """Find the operators that also see what is dropped at each place."""
        places = len(self._order)
        needless = self._count_needless(left, ordered)
        found = []
        for place in range(places):
            legal = self._legality.find_ready(self._order[:place])
            later = self._invariant.aside(place, places, self._stage)
            found.append(tuple(self._order[i] for i in later if place >= needless[i] and self._order[i] in legal))
        return found

    def _count_needless(self, left: Floats, ordered: Floats) -> Integers:
        """Count for each operator the places whose rows it need not be shown.

        Even if it dropped every row that comes to such a place, it would drop less for its cost than the one there.
        """
        places = len(self._order)
        is_thesis = not self._profiler.is_auto or self._conduct.variant != "a_greedy"
        if is_thesis or self._conduct.search == "exact" or not len(self._window):
            return np.zeros(places, np.int64)
        rows = left.sum(axis=0)
        # A row more that passes: few rows that are all dropped do not say that all are.
        share = (left * (1 - ordered)).sum(axis=0) / (rows + 1.0)
        surely = share - SURE_OF_DROPS * np.sqrt(np.clip(share * (1 - share), 0.0, 0.25) / np.maximum(rows, 1.0))
        surely[rows < FEWEST_LEFT] = 0.0
        costs = self._costs[list(self._order)]
        beaten = surely[:, None] / costs[:, None] >= 1 / costs
        found: Integers = np.cumprod(beaten, axis=0).sum(axis=0)
        return found

    @property
    def is_calm(self) -> bool:
        """Tell whether the order has stood for long, and nothing says that it is wrong."""
        return len(self._order) == 1 or (self._stood >= ROWS_TO_SETTLE and not self._profiler.wanted)

    def tell(self) -> dict[str, Any]:
        """What reports say of the order; None for costs that nobody knows, as what was promised of the first one."""
        observed = self._watch.price(self._costs[list(self._order)])
        predicted = np.nan if self._predicted is None else self._predicted
        return {
            "operators": list(self.operators),
            "order": list(self._order),
            "numbers": [self._fresh, self._stood, self._number, self._stage, self._staged],
            "told": [self._reason, self._noticed],
            "priced": [None if np.isnan(cost) else float(cost) for cost in (predicted, observed)],
        }

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values, and the arrays of the window."""
        watch, arrays = self._watch.snapshot()
        plain = {
            **self.tell(),
            "asides": [[list(hop) for hop in some] for some in self._asides],
            "watch": watch,
            "calm": self.is_calm,
        }
        known = np.full((len(self.operators), len(Known._fields)), np.nan)
        for number, one in self._known.items():
            known[number] = one
        predicted = np.nan if self._predicted is None else self._predicted
        costs = np.array(
            [predicted, self._patience, self._next_look, *self._cost, *self._costs, *self._profiler.snapshot()]
        )
        return plain, {**self._window.snapshot(), **arrays, "known": known, "costs": costs}

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._order = tuple(plain["order"])
        self._fresh, self._stood, self._number, self._stage, self._staged = plain["numbers"]
        self._reason, self._noticed = plain["told"]
        self._asides = tuple(tuple(Hop(*hop) for hop in some) for some in plain["asides"])
        self._watch.restore(plain["watch"], arrays)
        self._window.restore(arrays)
        for number, (price, spread, looks) in enumerate(arrays["known"].tolist()):
            if looks > 0:
                self._known[number] = Known(price, spread, int(looks))
        predicted, self._patience, self._next_look, *rest = arrays["costs"].tolist()
        self._predicted = None if np.isnan(predicted) else predicted
        self._cost = Cost(*rest[:3])
        self._costs = np.array(rest[3 : 3 + len(self.operators)])
        self._profiler.restore(rest[3 + len(self.operators) :])
        self._follow_route()
