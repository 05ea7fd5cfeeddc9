"""The caches of all streams: one that several streams ask is kept up once, so they are judged together.

It follows section 5.5.5 of Babu's thesis. A cache that costs more than it brings goes at once, and whatever is not used
gets another trial after an interval. Where it differs: a cache is not judged by an estimate of its misses, which only
says what to try first, but tried for some rounds by all streams that it may serve, first on a part of their rows, and
beside rows that go without it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eddy.contracts import CacheNote, Hop, Prices, Statistic, Statistics
from eddy.policies.caching.candidates import Candidate
from eddy.policies.caching.rest import LONGEST, LONGEST_IN_USE
from eddy.policies.caching.select import select
from eddy.policies.caching.states import PROFILED, TRIED, UNUSED, USED, Standing, StreamCaches
from eddy.policies.caching.worth import LATEST, ROUNDS, LookUps
from eddy.policies.shared.merit import Costs

HOPELESS = 1.5
"""Times what the probes take from which on a trial ends, unless the cache is still being filled."""

HOPELESS_FOR_FEW = 3.0
"""The same while it is tried on a part of the rows, and for as many rounds after: all that it takes to begin is theirs,
and fewer of them come with a key that another has found."""

HOPELESS_AT_ONCE = 10.0
"""The same for the first rounds of all: to find what comes with a key takes a few times what its probes take, unless
most rows are dropped by the first probe, and the cache finds what would never have been looked for."""

ROUNDS_LOST = 8
"""Rounds of what a cache promised to save that its trial may cost in any case: to find what a scan finds takes several
times what the probes take for the same rows, once, and saves nearly all of it ever after."""

TRIALS_SHARE = 0.01
"""The share of what probes take that trials in vain may cost: the dearer one was, the later is the next."""

LEAST_PROMISE = 0.05
"""The share of what all probes of a route take that a cache must be able to save before it is tried."""

LONGEST_WAIT = 64
"""Intervals after which what did not pay is tried again, at most: with each trial in vain it waits twice as long."""


class Upkeep:
    """Seconds of the last rounds in which a cache took note of rows that had come, for whoever asks it."""

    def __init__(self) -> None:
        self._now = 0.0
        self._rounds: deque[float] = deque(maxlen=ROUNDS)

    def add(self, seconds: float) -> None:
        """Count some."""
        self._now += seconds

    def end_round(self) -> None:
        """End a round."""
        self._rounds.append(self._now)
        self._now = 0.0

    def begin(self) -> None:
        """Forget everything: the cache is used anew."""
        self._rounds.clear()

    @property
    def price(self) -> float:
        """What a round takes: on average, since now and then one takes far more, when a tap was torn."""
        return sum(self._rounds) / max(len(self._rounds), 1)

    @property
    def all(self) -> float:
        """What all rounds took that are remembered."""
        return sum(self._rounds)

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [self._now, list(self._rounds)]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self._now = state[0]
        self._rounds = deque(state[1], maxlen=ROUNDS)


class User(NamedTuple):
    """A stream that asks a cache, or may do so."""

    stream: StreamCaches
    candidate: Candidate
    standing: Standing


class Known(NamedTuple):
    """What is known of steps by now."""

    prices: Prices
    statistics: Statistics


class SharedCaches:
    """The caches of all streams."""

    def __init__(
        self, *, interval: int, change: float, costs: Costs, force: Sequence[str], probes: Collection[str]
    ) -> None:
        self._interval, self._change, self._costs, self._force = interval, change, costs, force
        self._probes = probes
        self.streams: dict[str, StreamCaches] = {}
        self._upkeep: dict[Hop, Upkeep] = {}
        self._look_ups = LookUps()
        # What the caches that are tried would save in a round.
        self._promised: dict[Hop, float] = {}

    def find(self, origin: str) -> StreamCaches:
        """Find the caches of a stream."""
        if origin not in self.streams:
            self.streams[origin] = StreamCaches(
                origin, interval=self._interval, costs=self._costs, force=self._force, probes=self._probes
            )
        return self.streams[origin]

    def find_upkeep(self, hop: Hop) -> Upkeep:
        """Find what it takes to keep a cache up; one and the same key makes it one cache, whoever comes with it."""
        return self._upkeep.setdefault(hop, Upkeep())

    def observe(self, origin: str, hop: Hop, step: Statistic, upkeep: float) -> None:
        """Count a step of a cache, and which of its seconds were upkeep."""
        stream, seconds = self.find(origin), step.seconds - upkeep
        stream.observe(hop, step.rows_in, seconds)
        if self._costs == "time":
            self.find_upkeep(hop).add(upkeep)
            # In its first round nearly all keys are missing.
            if stream.has_begun(hop):
                self._look_ups.add(step.rows_in, step.evaluated, seconds)

    @property
    def is_idle(self) -> bool:
        """Whether no cache is in use or tried."""
        return not self._force and not any(map(_is_in_use, self.streams.values()))

    @property
    def is_trying(self) -> bool:
        """Whether a cache is tried, is new, or may be tried once enough keys are counted."""
        return any(True for stream in self.streams.values() for _ in stream.list_busy())

    def count_rest(self) -> int:
        """Count the rounds that may go by until caches are looked at again: none while one is tried or is new."""
        if self._force or self.is_trying:
            return 0
        return LONGEST if self.is_idle else LONGEST_IN_USE

    def list_hops(self) -> list[Hop]:
        """List the probes that caches may stand in for."""
        parts = (stream.route[one.start : one.stop] for stream in self.streams.values() for one in stream.candidates)
        return list(dict.fromkeys(hop for part in parts for hop in part))

    def let_pass(self, rows: Mapping[str, float]) -> None:
        """Let a round pass in which nobody counts: what is to be tried again waits on."""
        for origin, stream in self.streams.items():
            stream.let_pass(rows.get(origin, 0.0))

    def forget_keys(self) -> None:
        """Forget how often keys came: rows are others by now."""
        for stream in self.streams.values():
            stream.forget_keys()

    def learn(self, rows: Mapping[str, float], known: Known) -> None:
        """Judge the caches at the end of a round in which so many rows of each stream came."""
        for origin, stream in self.streams.items():
            stream.end_round(rows.get(origin, 0.0))
        for upkeep in self._upkeep.values():
            upkeep.end_round()
        self._look_ups.end_round()
        if self._force:
            return
        for hop in list(dict.fromkeys(one.hop for stream in self.streams.values() for one in stream.candidates)):
            if any(user.standing.takings.is_fresh for user in self._list_users(hop, TRIED, USED)):
                self._judge_used(hop, known)
                self._judge_tried(hop, known)
        self._begin_trial(known)

    def _list_users(self, hop: Hop, *states: str) -> list[User]:
        found = ((stream, *pair) for stream in self.streams.values() for pair in stream.list_standing(*states))
        return [User(*user) for user in found if user[1].hop == hop]

    def _price_without(self, user: User, known: Known) -> float:
        """Price a tuple that goes without the cache."""
        return user.stream.price_probes(user.candidate, user.standing.takings.rows, *known)

    def _judge_used(self, hop: Hop, known: Known) -> None:
        """Give a cache up where it takes more than it saves: by one stream, or by all."""
        for user in self._list_users(hop, USED):
            taken, without = user.standing.takings, self._price_without(user, known)
            if taken.seen >= LATEST and taken.price >= without:
                self._give_up(user, f"took {_divide(taken.price, without):.2f} of what the probes take", known)
        users = self._list_users(hop, USED)
        if users and all(user.standing.takings.seen >= LATEST for user in users):
            share = self._share(users, known, self.find_upkeep(hop).price)
            if share >= 1.0:
                for user in users:
                    self._give_up(user, f"took {share:.2f} of what the probes take, with its upkeep", known)

    def _share(self, users: Sequence[User], known: Known, upkeep: float) -> float:
        """Give what a cache takes in a round, in times of what probes would."""
        taken = upkeep + sum(user.standing.takings.price * user.standing.takings.rows for user in users)
        return _divide(taken, sum(self._price_without(user, known) * user.standing.takings.rows for user in users))

    def _judge_tried(self, hop: Hop, known: Known) -> None:
        """Use a cache that is tried, go on with it, or give it up."""
        users = [user for user in self._list_users(hop, TRIED) if user.standing.takings.seen]
        seen = max((user.standing.takings.seen for user in users), default=0)
        if not seen:
            return
        # Streams that use it already pay for it.
        upkeep = 0.0 if self._list_users(hop, USED) else self.find_upkeep(hop).price
        share = self._share(users, known, upkeep)
        is_falling = any(user.standing.takings.is_falling for user in users)
        if share <= 1 - self._change and seen >= LATEST:
            self._adopt(users, share, known)
        elif seen >= LATEST + ROUNDS or (
            share > _find_limit(seen) and (seen < LATEST or not is_falling) and self._has_lost_much(hop, users, known)
        ):
            for user in self._list_users(hop, TRIED):
                self._give_up(user, f"tried, and took {share:.2f} of what the probes take", known)

    def _has_lost_much(self, hop: Hop, users: Sequence[User], known: Known) -> bool:
        """Whether a trial has cost more than what the cache promised to save in some rounds."""
        lost = self.find_upkeep(hop).all
        for user in users:
            taken = user.standing.takings
            lost += (taken.price_of_all - self._price_without(user, known)) * taken.all_rows
        return lost > ROUNDS_LOST * self._promised.get(hop, 0.0)

    def _adopt(self, users: Sequence[User], share: float, known: Known) -> None:
        """Use a cache wherever it saves, and keep those that save most together."""
        for user in users:
            if user.standing.takings.price < self._price_without(user, known):
                user.standing.state, user.standing.waits = USED, 1
                user.standing.why = f"takes {share:.2f} of what the probes take"
                user.stream.decided += 1
            else:
                self._give_up(user, "takes more than the probes, and others use it", known)
        self._settle(known)

    def _settle(self, known: Known) -> None:
        """Keep those of the caches in use that save most together, over all streams."""
        used = {
            stream.make_offer(one, self.find_upkeep(one.hop).price, *known): standing
            for stream in self.streams.values()
            for one, standing in stream.list_standing(USED)
        }
        chosen = select(list(used))
        for offer, standing in used.items():
            if offer not in chosen:
                standing.change(UNUSED, "another one saves more", float(self._interval))
                self.streams[offer.stream].decided += 1

    def _give_up(self, user: User, why: str, known: Known) -> None:
        """Go without a cache until rows have paid for what it cost in vain."""
        taken, standing = user.standing.takings, user.standing
        without = self._price_without(user, known)
        # Upkeep is lost where nobody else asks the cache.
        others = [other for other in self._list_users(user.candidate.hop, TRIED, USED) if other.stream != user.stream]
        upkeep = 0.0 if others else self.find_upkeep(user.candidate.hop).all
        lost = max(_divide(taken.price_of_all * taken.all_rows + upkeep, without) - taken.all_rows, 0.0)
        standing.change(UNUSED, why, self._interval * standing.waits + lost / TRIALS_SHARE)
        standing.without = without
        standing.waits = min(standing.waits * 2, LONGEST_WAIT)
        user.stream.decided += 1

    def _begin_trial(self, known: Known) -> None:
        """Try the cache that promises most, by all streams that it may serve and that try no other."""
        promises: dict[Hop, float] = {}
        users: dict[Hop, list[User]] = {}
        for user, promise in self._list_promises(known):
            users.setdefault(user.candidate.hop, []).append(user)
            promises[user.candidate.hop] = promises.get(user.candidate.hop, 0.0) + promise
        for hop in promises:
            if not self._list_users(hop, USED):
                promises[hop] -= self._expect_upkeep(users[hop][0].candidate.inputs, known)
        best = max(promises, key=lambda hop: promises[hop], default=None)
        if best is None:
            return
        whole = sum(user.stream.price_all(*known) for user in users[best])
        if promises[best] > LEAST_PROMISE * whole:
            if not self._list_users(best, USED):
                self.find_upkeep(best).begin()
            self._promised[best] = promises[best]
            for user in users[best]:
                user.stream.begin_trial(user.candidate)

    def _expect_upkeep(self, inputs: frozenset[str], known: Known) -> float:
        """Expect what it takes at least to keep a cache up: the combinations that come of the rows of a round.

        Where rows of an input are joined with others first, nothing shows how many that will be.
        """
        if self._costs == "unit":
            return 0.0
        return sum(self.streams[name].price_fresh(inputs, *known) for name in inputs & self.streams.keys())

    def _list_promises(self, known: Known) -> Iterator[tuple[User, float]]:
        """List the caches whose trial is due and that may save something, with how much in a round."""
        for stream in self.streams.values():
            if stream.is_trying or not stream.rows:
                continue
            for one, standing in stream.list_standing(PROFILED, UNUSED):
                promise = stream.promise(one, *known, self._look_ups) - self._find_saved(stream, one, known)
                if promise > 0 and stream.is_due(one, *known):
                    yield User(stream, one, standing), promise

    def _find_saved(self, stream: StreamCaches, one: Candidate, known: Known) -> float:
        """Find what is saved already where a cache would stand: that must be beaten, and surely."""
        saved = 0.0
        for other, _ in stream.list_standing(USED):
            if one.overlaps(other):
                saved += (1 + self._change) * max(stream.make_offer(other, 0.0, *known).benefit, 0.0)
        return saved

    def list_notes(self, known: Known) -> list[CacheNote]:
        """Tell what is thought of each cache in the routes of streams."""
        return [
            self._note(User(stream, one, standing), known)
            for _, stream in sorted(self.streams.items())
            for one, standing in stream.list_standing(PROFILED, TRIED, USED, UNUSED)
        ]

    def _note(self, user: User, known: Known) -> CacheNote:
        stream, one, standing = user
        is_forced, upkeep = one.hop.operator in self._force, self.find_upkeep(one.hop).price
        seen = standing.takings.seen
        return CacheNote(
            stream=stream.origin,
            operator=one.hop.operator,
            cache=", ".join(sorted(one.inputs)),
            key=one.hop.pattern,
            route=tuple(hop.operator for hop in stream.route[one.start : one.stop]),
            state=USED if is_forced else standing.state,
            benefit=stream.make_offer(one, upkeep, *known).benefit if seen else 0.0,
            cost=upkeep if seen else 0.0,
            why="it was asked for" if is_forced else standing.why,
        )

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "streams": {origin: stream.snapshot() for origin, stream in self.streams.items()},
            "upkeep": [[*hop, upkeep.snapshot()] for hop, upkeep in self._upkeep.items()],
            "look_ups": self._look_ups.snapshot(),
            "promised": [[*hop, promise] for hop, promise in self._promised.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for origin, told in state["streams"].items():
            self.find(origin).restore(told)
        for operator, pattern, told in state["upkeep"]:
            self.find_upkeep(Hop(operator, pattern)).restore(told)
        # An older version did not know what look-ups take, nor what was promised.
        if "look_ups" in state:
            self._look_ups.restore(state["look_ups"])
        self._promised = {Hop(*hop): promise for *hop, promise in state.get("promised", ())}


def _find_limit(seen: int) -> float:
    """Find from which share on a trial ends that was seen for so many rounds."""
    if seen < LATEST:
        return HOPELESS_AT_ONCE
    return HOPELESS if seen >= 2 * LATEST else HOPELESS_FOR_FEW


def _is_in_use(stream: StreamCaches) -> bool:
    return any(stream.list_standing(TRIED, USED))


def _divide(taken: float, without: float) -> float:
    return taken / without if without else 1.0
