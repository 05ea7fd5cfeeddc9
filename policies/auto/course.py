"""The course of one stream: idle, sampling, in a duel, in charge.

    idle ---- enough to gain? ----> a sample ---- who could gain it? ----> a duel ---- won ----> in charge
      ^                                |                                    |                      |
      +--------- nobody ---------------+--------------- lost ---------------+------ too dear ------+

Rows are in the written order unless an arm has shown that it is cheaper. Every step out of it has a price, and is taken
when the account allows that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eddy.contracts import Leg, Observation, Statistics, Task
from eddy.observe.insight import Decision
from eddy.policies.auto.arms import Arm, Lane, comes_back, put_on_lane, tell_arms
from eddy.policies.auto.conduct import Challenge, Conduct
from eddy.policies.auto.deal import MOST_STARVED, Dealer
from eddy.policies.auto.duel import CHANGED_SHARE, OPEN, WARM_ROUNDS, WON, YOUNG_ROUNDS, Bill, Duel, Trail
from eddy.policies.auto.guard import ArmGuard
from eddy.policies.auto.idle import IdleRows
from eddy.policies.auto.ledger import CHALLENGER, CHAMPION, CONTROL, FIRST_LOOK, LATEST_LOOK, SAMPLE
from eddy.policies.auto.prospect import Prospect
from eddy.policies.auto.sample import TriedRows
from eddy.policies.shared.call_counts import SAMPLE as SAMPLED
from eddy.policies.shared.merit import INSTANT
from eddy.tuples import Hop
from eddy.tuples.arrays import Integers

DECISIONS_KEPT = 8
"""Decisions that are told; older ones have been reported long since."""


class Course:
    """How the rows of one stream are routed, and why."""

    def __init__(self, stream: str, conduct: Conduct) -> None:
        self.stream = stream
        self._attributes = len(conduct.features.of(stream))
        self.conduct = conduct
        self.ledger = conduct.open_ledger(stream)
        self.dealer = Dealer(self.ledger, conduct.control)
        self.champion: Arm | None = None
        self.challenger: Arm | None = None
        self.duel: Duel | None = None
        self.guard = ArmGuard(turns=False)
        self.sample: TriedRows | None = None
        self.prospect = Prospect(self.ledger, conduct.arms, conduct.caching.arms)
        self.idle = IdleRows()
        # Rows so far, and idle rows until the next look.
        self.rows, self.look, self.independent = 0, FIRST_LOOK, True
        self.ready: tuple[Hop, ...] = ()
        self.decisions, self.decided = list[Decision](), 0
        self._route: tuple[Hop, ...] = ()
        self._statistics, self._round = Statistics(), 0
        self._bills: dict[str, Bill] = {}
        # The lanes of arms whose tuples will have to be planned for again in this round.
        self._coming_back: set[str] = set()
        # Whether the arm in charge has the round for itself; None before the first rows have come.
        self._quiet: bool | None = None
        # The duel that is worth its price, where it has to wait until no other stream is in one.
        self.next_challenge: Challenge | None = None

    @property
    def is_idle(self) -> bool:
        """Whether rows go in the written order, and nothing is tried."""
        return self.champion is None and self.duel is None and self.sample is None

    @property
    def is_calm(self) -> bool:
        """Whether nothing is learned just now."""
        if self.duel is not None or self.sample is not None:
            return False
        if self.champion is not None:
            return self.champion.policy.is_calm
        return not self.ledger.is_look_near(self.look, saves=self.prospect.wanted > 0)

    def split(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Deal the rows of a task out to lanes."""
        if task.lineage.done:
            return self._go_on(task, ready)
        self._round += task.rows
        self.ready, self.independent = ready, task.independent
        if self.is_idle:
            legs = self._plan_written(task, ready)
            if not self.idle.is_begun:
                self.idle.begin(self._route, task.statistics)
            return legs
        if self.sample is not None:
            return self._plan_sample(task, ready, self.sample)
        if self._quiet is None:
            due, rounds = self.dealer.wants_control, self.ledger.quiet_rounds
            self._quiet = self.duel is None and self.guard.may_be_quiet(task.rows, rounds, is_due=due)
        if self._quiet and self.champion is not None:
            return self.champion.ask_alone(task, ready)
        extra = self.ledger.extra(self.challenger) - self.ledger.extra(self.champion)
        is_safe, has_arm = task.independent, self.champion is not None
        hands = self.dealer.deal(task.rows, self.duel, extra, task.chance, controlled=has_arm, independent=is_safe)
        return [leg for hand in hands for leg in self._ask(hand.lane, task, ready, hand.rows)]

    def _go_on(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Plan for tuples on their way.

        Only those of an arm that plans step by step come here, and rows that were sampled before all could be done.
        """
        if self.is_idle:
            return self._plan_written(task, ready)
        if self._quiet and self.champion is not None:
            return self.champion.ask_alone(task, ready)
        if self.sample is not None:
            return self._ask(SAMPLE, task, ready, None)
        # Whoever is in charge plans if some may be its own, as it knows the stream.
        stepwise = CHAMPION if CHAMPION in self._coming_back else next(iter(self._coming_back), CHAMPION)
        return self._ask(self.dealer.turn or stepwise, task, ready, None)

    def _plan_written(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        legs = self.conduct.written.plan(task, ready)
        if not task.lineage.done:
            self._statistics, self._route = task.statistics, legs[0].route
        return legs

    def _plan_sample(self, task: Task, ready: tuple[Hop, ...], sample: TriedRows) -> list[Leg]:
        """Plan for the rows that are drawn for the sample, and for the others."""
        if ready != sample.hops:
            sample = self.sample = TriedRows(ready)
        drawn, others = sample.draw(task)
        bill = self._bills.setdefault(SAMPLE, Bill())
        bill.rows += len(drawn)
        leg = Leg(route=ready, rows=drawn, exhaustive=True, label=SAMPLED, tag=Lane(bill, Trail(), alone=True))
        return [leg, *(self._ask(CHAMPION, task, ready, others) if len(others) else ())]

    def _ask(self, lane: str, task: Task, ready: tuple[Hop, ...], rows: Integers | None) -> list[Leg]:
        """Ask for the legs of a lane."""
        arm = {CHAMPION: self.champion, CHALLENGER: self.challenger}.get(lane)
        if lane not in self._bills:
            self._bills[lane] = Bill(Bill() if arm is None and self.ledger.charges.arrears.judges else None)
        bill = self._bills[lane]
        count = task.rows if rows is None else len(rows)
        if not task.lineage.done:
            bill.rows += count
        if arm is None:
            return put_on_lane(self._plan_written(task, ready), rows, bill)
        if lane == CHALLENGER and self.champion is None and self.duel is not None and not self.duel.rounds:
            # Its first order is to be the one that made it a challenger.
            task = replace(task, statistics=self.idle.see(task.statistics))
        started = self.conduct.clock()
        legs = arm.ask(task, ready, rows, bill)
        if not task.lineage.done and any(comes_back(leg, task, ready) for leg in legs):
            self._coming_back.add(lane)
        seconds = self.conduct.measure(started)
        bill.thinking += seconds
        self.ledger.think(arm).planning.add(count, count, seconds)
        return legs

    def observe(self, observation: Observation) -> None:
        """Charge a step to its lanes, and tell their arms."""
        if self._quiet and self.champion is not None:
            self.champion.observe(observation)
            self.guard.glimpse(observation.statistics, unit=self.ledger.unit)
            return
        started, leg = self.conduct.clock(), observation.legs[0]
        self.ledger.charges.charge(observation, is_mixed=len(self._bills) > 1 and not leg.exhaustive)
        self.ledger.bookkeeping += self.conduct.measure(started)
        counted = self.conduct.clock()
        if leg.exhaustive and isinstance(leg.tag, Lane) and leg.tag.arm is None and self.sample is not None:
            self.sample.add(observation.buckets(), observation.outcomes, observation.buckets.editions())
            self.sample.dividing += self.conduct.measure(counted)
            return
        listened = tell_arms(observation)
        if listened:
            seconds = self.conduct.measure(counted) / len(listened)
            for bill in listened:
                bill.thinking += seconds

    def learn(self) -> None:
        """End a round: settle the account, judge, and take the next step."""
        if self._quiet and self.champion is not None:
            self._end_quiet(self.champion)
            return
        if not self._bills:
            self.ledger.idle_rows += self._round
            self.ledger.idle_rounds += bool(self._round)
            # Its order and what operators did come with its rows, so without any there is nothing to look at.
            has_come, self._round = self._round > 0, 0
            if has_come and self.ledger.is_time_to_look(self.look):
                self._look()
            return
        self._quiet = None
        self.rows += self._round
        self.ledger.note_round(self._round)
        self._let_arms_learn()
        self.ledger.settle(self._round, self._bills, self.guard, self.champion, self.challenger)
        self._judge()
        self.ledger.has_changed = False
        if self.duel is None and self.sample is None:
            self._consider()
        if self.is_idle:
            self.look = FIRST_LOOK
            self.idle.forget()
        self._bills, self._round = {}, 0
        self._coming_back.clear()
        self.dealer.end_round()

    def _end_quiet(self, champion: Arm) -> None:
        """End a round in which nobody counted."""
        champion.policy.learn()
        self.rows += self._round
        self.ledger.quiet_rows += self._round
        self.ledger.quiet_rounds += 1
        self.dealer.let_pass(self._round)
        self.guard.end_quiet(self._round, self.ledger.think(champion).calls)
        if self.guard.is_alarmed and not self.independent:
            self.dealer.call_control(self._round)
        self._quiet, self._round = None, 0

    def _let_arms_learn(self) -> None:
        for lane, arm in ((CHAMPION, self.champion), (CHALLENGER, self.challenger)):
            bill = self._bills.get(lane)
            if arm is None or bill is None:
                continue
            started = self.conduct.clock()
            arm.policy.learn()
            seconds = self.conduct.measure(started)
            bill.thinking += seconds
            # The first time an arm decides everything at once: that is paid for, and says nothing of later rounds.
            if lane == CHAMPION or (self.duel is not None and self.duel.seen):
                self.ledger.think(arm).learning.add(self._round, self._round, seconds)
            else:
                self.ledger.think(arm).waking += seconds

    def _judge(self) -> None:
        """Judge what is under way by the round that is over."""
        is_unusual = self.champion is not None and self.guard.count(self.ledger.cases(self._bills.get(CHAMPION)))
        if self.ledger.has_changed:
            # What is known is of another stream. A duel is decided by the round that shows the change, or begins anew.
            self.prospect.begin_anew(self.rows)
            self.ledger.forget_arrears()
            self.guard.forget()
            if self.duel is not None:
                self.duel.forget()
        rows = int(self.guard.has_risen and not self.independent)
        is_asked = is_unusual and self.dealer.call_control(rows) and CONTROL not in self._bills
        if self.sample is not None:
            self._judge_sample(self.sample)
        elif self.duel is not None and self.challenger is not None:
            self._judge_duel(self.duel, self.challenger)
        extra, written = self.ledger.extra(self.champion), self.ledger.beside
        if self.champion is not None and self.guard.fails(extra, written, is_asked=is_asked):
            self._demote(self.champion, self.guard.tell(extra, max(written.mean, INSTANT)))

    def _judge_duel(self, duel: Duel, challenger: Arm) -> None:
        """Count the round in a duel, and end it when it is decided."""
        duel.wait_for(challenger.policy, has_come=CHALLENGER in self._bills)
        duel.count(*(self.ledger.cases(self._bills.get(lane)) for lane in (CHALLENGER, CHAMPION)))
        if self.dealer.starved >= MOST_STARVED:
            wait = self.prospect.postpone(challenger.name, self.rows)
            self.decide(f"{challenger.name} costs more to try than there is to spend; tried again after {wait:,} rows")
            self.duel, self.challenger, self.dealer.starved = None, None, 0
            return
        extra = self.ledger.extra(challenger) - self.ledger.extra(self.champion)
        written = max(self.ledger.in_order, INSTANT)
        is_young = duel.rounds < YOUNG_ROUNDS and not challenger.policy.is_calm
        verdict = duel.judge(extra, written, is_young=is_young)
        if verdict != OPEN:
            self._end_duel(duel, challenger, verdict == WON, extra, written)
        elif self.ledger.has_changed:
            duel.forget()
        elif duel.warm and CHALLENGER in self._bills:
            duel.end_warming()

    def _end_duel(self, duel: Duel, challenger: Arm, is_won: bool, extra: float, written: float) -> None:
        """Adopt the challenger, or let it wait."""
        champion = None if self.champion is None else self.champion.name
        told, lost = duel.tell(extra, written, champion), -duel.compare(extra)[0] * duel.seen
        if is_won:
            self._adopt(challenger, duel)
        else:
            wait = self.prospect.postpone(challenger.name, self.rows, lost)
            told = f"{told}: not enough; tried again after {wait:,} rows"
        self.decide(told)
        self.duel = self.challenger = None

    def _adopt(self, arm: Arm, duel: Duel) -> None:
        """Put an arm in charge, which costs what it did in the duel; who was before has lost, and waits."""
        if self.champion is not None:
            self.prospect.postpone(self.champion.name, self.rows)
        self.prospect.waits.pop(arm.name, None)
        self.champion, self.guard, self.prospect.patience = arm, ArmGuard(turns=duel.turns), 0
        self.guard.arm.sums, self.guard.seen = list(duel.challenger.sums), duel.challenger.cases

    def give_up(self) -> None:
        """Go back to the written order for the sake of all streams."""
        if self.champion is not None:
            self._demote(self.champion, "has others ask more than all streams save")

    def _demote(self, arm: Arm, told: str) -> None:
        """Go back to the written order."""
        wait = self.prospect.postpone(arm.name, self.rows)
        self.decide(f"{arm.name} {told}; that order goes on, and it is tried again after {wait:,} rows")
        self.champion = self.duel = self.challenger = self.prospect.found = None
        # The others have lost against one that has gone.
        self.prospect.waits = {arm.name: self.prospect.waits[arm.name]}
        self.prospect.next_sample = self.rows

    def decide(self, reason: str) -> None:
        """Note a decision."""
        decision = Decision(stream=self.stream, number=self.decided, reason=reason, seconds=0.0, policy="auto")
        self.decided += 1
        self.decisions = [*self.decisions, decision][-DECISIONS_KEPT:]

    def _look(self) -> None:
        """Look at an idle stream: settle its account, and see whether something could be gained."""
        started = self.conduct.clock()
        self.rows += self.ledger.idle_rows
        self.idle.look(self._route, self._statistics, self.ledger.idle_rows)
        fresh = self.idle.see(self._statistics)
        changed = self.ledger.settle_idle(self._route, fresh, self._attributes, self.conduct.cells)
        if changed > CHANGED_SHARE:
            self.prospect.begin_anew(self.rows)
            self.ledger.forget_arrears()
        if self.independent:
            self.prospect.glance(self._route, fresh)
        if len(self.ready) > 1 or not self.independent:
            self.prospect.joined = self.conduct.find_joined(self._route, self.ledger, fresh)
            self._consider()
        saves = self.prospect.wanted > 0
        most = LATEST_LOOK * LATEST_LOOK // FIRST_LOOK
        self.look = self.prospect.count_saving_rows(FIRST_LOOK, most) if saves else min(2 * self.look, LATEST_LOOK)
        self.ledger.pay_thinking("learning", self.conduct.measure(started))
        # Where rows are cheap it is looking itself that costs: the next look waits until this one is paid for.
        self.look = max(self.look, min(self.prospect.count_owing_rows() - self.rows, most))

    def _consider(self) -> None:
        """Take a sample, or begin a duel, if that may pay and can be paid for."""
        self.prospect.wanted, self.next_challenge = 0.0, None
        # What rows show on their way is for nothing, so whoever gains by that alone comes before a sample.
        is_time = self.rows >= self.prospect.next_sample
        if is_time and len(self.ready) < 2:
            # A sample would show nothing, and what is hoped for does not wait for one.
            self.prospect.give_up_sampling(self.rows)
            is_time = False
        if is_time and not self.prospect.glanced:
            self._consider_sample()
            return
        current = self.ledger.current(self.champion, self.guard)
        champion = "" if self.champion is None else self.champion.name
        mixes = not self.independent and not self.ledger.turns
        for name, hoped, price in self.prospect.list_challengers(champion, current, self.rows):
            if mixes and self.conduct.would_mix(champion, name):
                continue
            if self.prospect.buy(price):
                self.next_challenge = Challenge(name, hoped, hoped * self.ledger.usual)
            break
        else:
            if is_time:
                self._consider_sample()
        if not self.conduct.judged:
            self.challenge()

    def _consider_sample(self) -> None:
        current, has_arm = self.ledger.current(self.champion, self.guard), self.champion is not None
        if self.prospect.buy_sample(self.ready, current, self._attributes, self.rows, has_arm=has_arm):
            self.sample = TriedRows(self.ready)

    def _judge_sample(self, sample: TriedRows) -> None:
        """End a sample that is full, or that costs too much."""
        sample.pay(self._bills.get(SAMPLE))
        if sample.is_full:
            self._end_sample(sample)
        elif not self.ledger.account.allows(sample.rest_price):
            wait, self.sample = self.prospect.postpone_sample(self.rows), None
            self.decide(f"a sample costs more than there is to spend; the next one is taken after {wait:,} rows")

    def _end_sample(self, sample: TriedRows) -> None:
        """See what the sample says."""
        ledger, started, self.sample = self.ledger, self.conduct.clock(), None
        found = self.prospect.look(sample, self.rows)
        ledger.pay_screening(1 + sample.buckets.shape[1], sample.dividing + self.conduct.measure(started))
        if self.champion is None:
            ledger.choose_turns(found.written, len(sample.hops))

    def challenge(self) -> None:
        """Let the next arm challenge the one in charge, if there is one; it learns from the sample first."""
        if self.next_challenge is None or self.duel is not None:
            return
        (name, hoped, _), self.next_challenge = self.next_challenge, None
        started, lesson = self.conduct.clock(), self.prospect.lesson
        self.challenger = self.conduct.build(name, self.stream, self.ledger.account.left)
        if lesson is not None:
            self.challenger.observe(lesson.tell(self.stream, self.conduct.prices))
            self.challenger.policy.learn()
        seconds = self.conduct.measure(started)
        self.ledger.think(self.challenger).waking = seconds
        self.ledger.pay_thinking("duels", seconds)
        glanced = self.prospect.found is None
        # Whoever is seen at a glance knows what that has shown.
        warm = 0 if glanced or lesson is not None else WARM_ROUNDS
        self.duel = Duel(name, self.ledger.turns, warm, hoped, glanced=glanced)
