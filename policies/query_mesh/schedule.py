"""When a stream is sampled, and when its mesh is decided anew.

It decides in stages: soon from a hundred rows, and better from two and four hundred, unless the first have said enough.
Later it decides when there is twice as much evidence as at the last decision or another whole sample. Where rates are
counted by bucket (`class_rates`), ordinary rows are evidence too, and samples end sooner.

A micro-batch is to wait for a decision for no more than a small share of its time. So a decision is taken in steps, and
each round pays for some of them (`Pace`): as many as its share of what its own steps cost, by the fitted prices. What a
step of a decision takes is measured; where only calls count no clock is asked, and both are believed to take what is
usual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eddy.observe.statistics import fading
from eddy.policies.query_mesh.evidence import Evidence, OperatorRates
from eddy.policies.query_mesh.mesh import Generation, Mesh
from eddy.policies.shared.merit import INSTANT, Costs

STAGES = (0.1, 0.2, 0.4)
"""Shares of |S| at which it decides, the first time and after a change: a coarse mesh soon is worth more than a fine
one late, and what is clear from a hundred rows needs no more of them."""

TIMED_SAMPLE = 0.65
"""A stage more while it is timed what rows cost: as many rows as come in one burst."""

WHOLE_SAMPLE = 1.0
"""The last stage, where something tells rows apart, and too few rows say how: 200 values, and two rows of each."""

ROWS_PER_TUPLE = 40
"""Rows of the sample for each training tuple that are enough for the routes of a mesh."""

ROWS_PER_BUCKET = 8
"""Rows of the sample for each bucket that are enough to put it on its way: of fewer, chance says too much."""

SAMPLING_PRICE, FIRST_SAMPLING_PRICE = 0.005, 0.03
"""The shares of the rows' cost that may go into sampling, since samples take all operators: in the long run, and until
there are enough of them. A mesh from twice the sample saves a few per cent more, so it has to be paid for slowly."""

GRID_SAMPLING_PRICE = 0.0025
"""The same where ordinary rows are evidence: samples are for what nobody looks for."""

SMALLEST_SAMPLE = 0.05
"""The share of |S| that is sampled at a time: a look at few rows by all attributes costs as much as one at many."""

LARGEST_BURST = 0.25
"""The largest share of a round that is sampled, once anything is known."""

RENEWAL_PRICE = 0.1
"""The share of the rows' cost that may go into new samples after broken promises, besides as much as the promises were
missed by. So a sudden change after a calm time is followed at once, and one that goes on for long costs at most twice
what knowing of it would cost. It is the rule for renting or buying: rent until the rent paid is the price, then buy."""

DECIDING_SHARE = 0.02
"""The share of the operators' seconds that may go into deciding, except after a broken promise."""

ROWS_REMEMBERED = 10_000
"""Rows after which the size of a round counts half in the usual size."""

ROWS_TO_SHOW = 3
"""Rows of the sample for each bucket of an attribute that show whether it tells anything."""

MORE_COUNTED_SINGLY = 1.1
"""The same where values are told apart one by one: each new row of a value changes what is known of it."""

MORE_COUNTED = 1.5
"""A grid is made anew when so many times the outcomes have been counted as when it was made."""

NUMBERS = ("batch", "due", "decided", "known", "counted", "patience", "budget", "gain", "stage", "since", "next")
"""Rows of a usual round; due to be sampled; sampled when it was decided, how many of them were evidence, and what was
counted by bucket by then; how often nothing came of it; seconds that may be spent on deciding; what the mesh saves of a
row beside the best single route, on rows that it was not made for; the stage that it waits for, 0 for none; rows
sampled before the change; the number of the next decision."""


WAITING_SHARE = 0.05
"""The share of a round's time that may go into a decision."""

USUAL_STEP = 200e-6
"""Seconds of a step of a decision, where nothing else is known: measured with 3 to 10 operators, 8 attributes and
samples of 200 to 1,000 rows."""

USUAL_CALL = 100e-6
"""Seconds that a call of an operator is believed to take where only calls count: where they cost no more than a look at
a few numbers does, calls are not what to count."""

STEPS_REMEMBERED = 200.0
"""Steps that the price of a step remembers: those of a few decisions."""


class Schedule:
    """Counts rows, samples and decisions of one stream, and says when the next is due."""

    def __init__(self, sample: int, evidence: Evidence, rates: OperatorRates) -> None:
        self._whole, self._evidence, self._rates = sample, evidence, rates
        self.numbers = dict.fromkeys(NUMBERS, 0.0)
        self.numbers["stage"] = self.size(STAGES[0])

    def size(self, share: float) -> int:
        """Rows that are a share of a whole sample."""
        return max(int(self._whole * share), 1)

    @property
    def is_staged(self) -> bool:
        """Whether a stage waits for its sample."""
        return self.numbers["stage"] > 0

    @property
    def fresh(self) -> int:
        """Rows sampled since the stages began."""
        return self._evidence.rows.total - int(self.numbers["since"])

    def count_samples(self, rows: int, mesh: Mesh | None, *, may_sample: bool = True) -> int:
        """Say how many of a round's rows to sample, if there is anything to pay it with."""
        # Three cases: nothing is known yet, so take what the first decision needs; a decision waits for its sample, so
        # take what is missing, up to `LARGEST_BURST`; or a mesh is at work, so save up until a burst is worth it.
        numbers, whole = self.numbers, self._whole
        newest = 1 - fading(float(rows), ROWS_REMEMBERED)
        numbers["batch"] += (rows - numbers["batch"]) * (newest if numbers["batch"] else 1.0)
        most = max(int(rows * LARGEST_BURST), 1)
        if not may_sample:
            return 0
        # While nothing is known the other rows go any way, so that all may be sampled.
        if numbers["stage"] == self.size(STAGES[0]) and self.size(STAGES[1]) <= (rows if mesh is None else most):
            # The second stage comes in one round as well, and a decision costs as much as the rows between the two.
            numbers["stage"] = float(self.size(STAGES[1]))
        missing = max(int(numbers["stage"]) - self.fresh, 0)
        if mesh is None:
            return min(rows, missing)
        if numbers["stage"]:
            return min(missing, most)
        numbers["due"] += rows * self._share(mesh)
        burst = min(int(numbers["due"]), most)
        if burst < min(max(whole * SMALLEST_SAMPLE, 1), most):
            return 0
        numbers["due"] -= burst
        return burst

    def _share(self, mesh: Mesh) -> float:
        """The share of rows to sample, by the share of the cost."""
        price = SAMPLING_PRICE if self._is_enough(mesh) else FIRST_SAMPLING_PRICE
        price = GRID_SAMPLING_PRICE if mesh.is_grid else price
        return min(price * mesh.usual / self._price_sample(mesh), 1.0)

    def _is_enough(self, mesh: Mesh) -> bool:
        """Tell whether more rows would hardly make a better mesh."""
        rows = len(self._evidence.rows)
        # Where operators agree with each other an order takes more rows, and only samples say it.
        if not self._evidence.is_independent:
            return rows >= self._whole
        if mesh.training == 1:
            return rows >= self.size(STAGES[-1])
        return rows >= min(ROWS_PER_TUPLE * mesh.training, self._whole)

    def begin(self) -> None:
        """Begin the stages: the stream has changed."""
        self.numbers["since"], self.numbers["stage"] = self._evidence.rows.total, self.size(STAGES[0])

    def end_stage(self, mesh: Mesh, rows: int) -> bool:
        """Wait for the next stage; says whether all is known instead."""
        numbers = self.numbers
        # Of an attribute with so many buckets that hardly any row shares one, too few rows show nothing.
        is_more = mesh.training > 1 or self._evidence.is_fine(rows) or self._evidence.is_blurred(ROWS_TO_SHOW)
        later = self._list_later((*STAGES, WHOLE_SAMPLE) if is_more else STAGES)
        # Where nothing tells rows apart, that may be because there are too few of them; and where something does, too
        # few may hide one more training tuple. A grid learns from the rows that come.
        least = ROWS_PER_BUCKET * self._evidence.count_buckets(mesh.tree.used)
        if not self._evidence.prices.is_known:
            # Outcomes tell classes apart with more rows than seconds do.
            least = max(least, ROWS_PER_TUPLE * (mesh.training + 1))
        is_known = (
            not self._evidence.is_timing
            and len(mesh.routes) > 1
            and (rows >= least or (mesh.is_grid and rows >= self.size(STAGES[1])))
        )
        if later and not is_known:
            numbers["stage"] = later[0]
            return False
        numbers["stage"] = 0
        return True

    @property
    def may_wait(self) -> bool:
        """Whether there is a later stage."""
        return bool(self._list_later((*STAGES, WHOLE_SAMPLE)))

    def wait_on(self) -> None:
        """Wait for the next stage at once: the present one does not say what rows cost."""
        self.numbers["stage"] = float(self._list_later((*STAGES, WHOLE_SAMPLE))[0])

    def _list_later(self, stages: Sequence[float]) -> Sequence[int]:
        """List the rows of later stages."""
        if self._evidence.is_timing:
            stages = sorted({*stages, TIMED_SAMPLE})
        return [size for size in map(self.size, stages) if size > self.numbers["stage"]]

    def is_time(self, current: Generation | None) -> bool:
        """Tell whether a decision is due."""
        numbers = self.numbers
        if numbers["stage"] or current is None:
            return self.fresh >= numbers["stage"]
        is_new = self._evidence.rows.total >= numbers["decided"] + min(numbers["known"], self._whole)
        return (is_new or self.is_counted) and self._can_afford()

    @property
    def is_recount(self) -> bool:
        """Whether a decision is due only since more was counted by bucket."""
        numbers = self.numbers
        is_new = self._evidence.rows.total >= numbers["decided"] + min(numbers["known"], self._whole)
        return not numbers["stage"] and not is_new

    @property
    def is_counted(self) -> bool:
        """Whether much more has been counted by bucket than when it was decided."""
        more = MORE_COUNTED_SINGLY if self._evidence.refined else MORE_COUNTED
        return self._evidence.by_bucket.rows > more * self.numbers["counted"] > 0

    def decide(self, rows: int, seconds: float) -> None:
        """Take note of a decision by so many rows."""
        self.numbers["decided"], self.numbers["known"] = self._evidence.rows.total, rows
        self.numbers["counted"] = self._evidence.by_bucket.rows
        self.numbers["budget"] -= seconds

    def earn(self, seconds: float) -> None:
        """Operators took so long."""
        self.numbers["budget"] += DECIDING_SHARE * seconds

    def is_renewal_worth_it(self, current: Generation) -> bool:
        """Tell whether a new sample pays.

        The price is twice as high each time that nothing came of it.
        """
        price = self.size(STAGES[-1]) * self._price_sample(current.mesh) * 2 ** self.numbers["patience"]
        return RENEWAL_PRICE * current.watch.spent + current.lost >= price

    def _price_sample(self, mesh: Mesh) -> float:
        """Price a row that goes to all operators, beside its route."""
        every = float(self._rates.prices().sum())
        usual = mesh.usual
        # There is a floor: where all operators together hardly cost more than the route, sampling is nearly free.
        return max(every - usual, usual)

    def _can_afford(self) -> bool:
        """Tell whether deciding again costs little beside operators."""
        return self._rates.costs == "unit" or self.numbers["budget"] > 0

    def restore(self, numbers: Mapping[str, float]) -> None:
        """Go on from a snapshot."""
        self.numbers = dict(numbers)


class Pace:
    """Counts what rounds cost, and the steps of a decision that they pay for.

    >>> pace = Pace("unit")
    >>> pace.count(calls=60, seconds=0.0)
    >>> pace.end_round(), pace.end_round()
    (1, 0)
    """

    def __init__(self, costs: Costs) -> None:
        self._is_unit = costs == "unit"
        self._step = USUAL_STEP
        # Seconds of this round so far, and those of a decision that earlier rounds have left: less than a step.
        self._round = self._left = 0.0

    def count(self, calls: float, seconds: float) -> None:
        """Take note of what a round's rows cost; a clock that stands still says nothing."""
        is_told = not self._is_unit and seconds > calls * INSTANT
        self._round += seconds if is_told else calls * USUAL_CALL

    @property
    def is_idle(self) -> bool:
        """Whether no row has come in this round: then it pays for nothing."""
        return self._round <= 0

    def end_round(self) -> int:
        """Count the steps that the round pays for; it leaves what is less than a step to the next."""
        allowed = self._left + WAITING_SHARE * self._round
        steps = int(allowed / self._step)
        self._round, self._left = 0.0, max(allowed - steps * self._step, 0.0)
        return steps

    def take(self, steps: int, seconds: float) -> None:
        """Some steps of a decision took so long; where the clock shows nothing of them they are free."""
        if steps and not self._is_unit:
            known = STEPS_REMEMBERED / (STEPS_REMEMBERED + steps) if seconds > 0 else 0.0
            self._step = max(self._step * known + seconds / steps * (1 - known), INSTANT)

    def count_budget(self, seconds: float) -> float:
        """Say how many steps a decision has that may take so long."""
        return seconds / self._step

    def snapshot(self) -> list[float]:
        """Plain values, between two rounds."""
        return [self._step, self._round, self._left]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a snapshot."""
        self._step, self._round, self._left = state
