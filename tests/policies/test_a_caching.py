"""What A-Caching is for: parts of a join that are looked for again and again are found once."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from functools import partial
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Hop, Prices, Setting, Statistic, Statistics
from eddy.policies.a_caching import ACaching
from eddy.policies.caching.candidates import Candidate
from eddy.policies.caching.select import Offer, select, value
from eddy.policies.caching.sharing import Known, SharedCaches
from eddy.policies.caching.worth import REMEMBERED
from eddy.tuples.splitmix import splitmix64
from tests.policies.checks import steady_clock

B, C, D = Hop("probe_b", "b.k"), Hop("probe_c", "c.x"), Hop("probe_d", "d.y")
PAIR, OTHER, ALL = Hop("cached_b_c", "b.k"), Hop("cached_c_d", "c.x"), Hop("cached_b_c_d", "b.k")
CANDIDATES = [Candidate(PAIR, 0, 2), Candidate(OTHER, 1, 3), Candidate(ALL, 0, 3)]


class World:
    """Streams with a route of three probes, what they take, and what caches take."""

    def __init__(self, *, fan: float = 5.0, interval: int = 1_000, streams: str = "t") -> None:
        self.prices, self.statistics = Prices([hop.operator for hop in (B, C, D)]), Statistics()
        self.shared = SharedCaches(interval=interval, change=0.2, costs="time", force=(), probes=self.prices.probes)
        for name in streams:
            self.shared.find(name).follow((B, C, D), CANDIDATES)
        self.caches = self.shared.find(streams[0])
        self.takes = {PAIR: 1e-6, OTHER: 1e-6, ALL: 1e-6}
        # What a round takes to keep them up.
        self.upkeep = {PAIR: 0.0, OTHER: 0.0, ALL: 0.0}
        self.probe(fan)

    def probe(self, fan: float) -> None:
        """Rows that go without caches: a microsecond for a tuple and for each candidate."""
        for rows in (500, 1_000, 1_500) * 8:
            for hop in (B, C, D):
                out = int(rows * fan)
                statistic = Statistic(rows, out, out, 1e-6 * (rows + out))
                self.prices.add(hop, statistic)
                self.statistics.add(hop, statistic)

    def rounds(self, count: int) -> None:
        for _ in range(count):
            kept_up: set[Hop] = set()
            for name, stream in self.shared.streams.items():
                for hop in stream.choose():
                    if hop in self.takes:
                        # Whoever asks first takes note of what has come.
                        upkeep = 0.0 if hop in kept_up else self.upkeep[hop]
                        step = Statistic(1_000, 0, 0, self.takes[hop] * 1_000 + upkeep)
                        self.shared.observe(name, hop, step, upkeep)
                        kept_up.add(hop)
            self.shared.learn(dict.fromkeys(self.shared.streams, 1_000), Known(self.prices, self.statistics))

    def states(self, stream: str = "t") -> dict[str, str]:
        caches = self.shared.find(stream)
        return {one.hop.operator: caches.stand(one).state for one in caches.candidates}


def test_the_cache_that_promises_most_is_tried_first_and_used() -> None:
    world = World()
    world.rounds(1)
    assert world.states() == {"cached_b_c": "profiled", "cached_c_d": "profiled", "cached_b_c_d": "tried"}
    world.rounds(5)
    assert world.states()["cached_b_c_d"] == "used"
    assert world.caches.choose() == (ALL,)


def test_a_cache_that_takes_more_is_given_up_and_tried_again_later() -> None:
    world = World()
    world.takes = dict.fromkeys(world.takes, 4e-4)
    world.rounds(20)
    # What look-ups take is known from the first trial: others that could save less are not tried for the time being.
    assert world.states() == {"cached_b_c": "profiled", "cached_c_d": "profiled", "cached_b_c_d": "unused"}
    assert world.caches.choose() == (B, C, D)
    trying = []
    for _ in range(1_000):
        world.rounds(1)
        trying.append(world.caches.is_trying)
    # A trial takes six rounds, and probes have to take a hundred times what it lost before the next. Those of the
    # others end with the third, since they are far dearer than they promised.
    assert not any(trying[:200])
    assert sum(trying) == 6 + 3 * (len(CANDIDATES) - 1)
    assert set(world.states().values()) == {"unused"}


def test_what_takes_long_to_find_once_is_not_given_up_for_it() -> None:
    """A cache of a scan takes several times what its probes do in its first rounds, and hardly anything then."""
    world = World(fan=20.0)
    world.rounds(1)
    (tried,) = (name for name, state in world.states().items() if state == "tried")
    hop = next(hop for hop in world.takes if hop.operator == tried)
    probes = world.caches.price_probes(
        next(one for one in CANDIDATES if one.hop == hop), 1_000, world.prices, world.statistics
    )
    # Together less than eight times what it promised to save in a round.
    for times in (1.5, 4.0, 4.0):
        world.takes = dict.fromkeys(world.takes, times * probes)
        world.rounds(1)
    world.takes = dict.fromkeys(world.takes, 0.01 * probes)
    world.rounds(3)
    assert world.states()[tried] == "used"


def test_what_look_ups_take_is_forgotten_after_a_while() -> None:
    """A machine that was busy in the first trial need not be so for ever."""
    world = World()
    world.takes = dict.fromkeys(world.takes, 4e-4)
    world.rounds(20)
    world.takes = dict.fromkeys(world.takes, 1e-6)
    world.rounds(REMEMBERED)
    assert "used" in world.states().values()


def test_what_no_longer_pays_goes_at_once() -> None:
    world = World(interval=100_000)
    world.rounds(8)
    assert world.caches.choose() == (ALL,)
    world.takes = dict.fromkeys(world.takes, 1e-3)
    world.rounds(3)
    assert world.states()["cached_b_c_d"] == "unused"


def test_nothing_is_tried_where_single_probes_drop_nearly_all() -> None:
    world = World(fan=0.01)
    world.rounds(10)
    assert set(world.states().values()) == {"profiled"}


def test_another_order_takes_its_caches_along() -> None:
    world = World()
    world.rounds(8)
    world.caches.follow((C, B, D), [Candidate(PAIR, 0, 2)])
    assert world.caches.choose() == (C, B, D)
    assert world.states() == {"cached_b_c": "profiled"}


def test_a_restart_goes_on_where_it_was() -> None:
    world, other = World(), World()
    world.rounds(4)
    other.shared.restore(json.loads(json.dumps(world.shared.snapshot())))
    for one in (world, other):
        one.rounds(9)
    assert world.states() == other.states()
    assert json.dumps(world.shared.snapshot()) == json.dumps(other.shared.snapshot())


def test_streams_that_share_a_cache_pay_for_it_once() -> None:
    """Its upkeep takes more than one stream saves, and less than two do."""
    for streams, state in (("t", "unused"), ("tu", "used")):
        world = World(streams=streams)
        # Three probes of a row take 6 + 30 + 150 microseconds, so a round takes 0.186 seconds.
        world.upkeep = dict.fromkeys(world.upkeep, 0.2)
        world.rounds(16)
        assert {world.states(name)["cached_b_c_d"] for name in streams} == {state}


def test_a_stream_for_which_a_shared_cache_is_dearer_goes_without() -> None:
    world = World(streams="tu")
    world.rounds(8)
    assert world.states("t") == world.states("u")
    world.shared.find("u").follow((C, B, D), [Candidate(PAIR, 0, 2)])
    world.rounds(8)
    assert world.states("t")["cached_b_c_d"] == "used"
    # What u joins first is another part of the join, and it has a cache of its own.
    assert world.states("u") == {"cached_b_c": "used"}


def test_keys_that_never_come_again_are_not_worth_a_trial() -> None:
    """As the bits of a thousand keys say; if they come again, a trial is begun."""
    world = World()
    for keys, is_used in ((np.arange(10_000), False), (np.arange(10_000) % 500, True)):
        for _ in range(20):
            for hop in (B, C):
                world.caches.note_keys(hop, partial(splitmix64, keys.astype(np.uint64)))
            world.rounds(1)
        assert ("used" in world.states().values()) == is_used
        assert is_used or set(world.states().values()) == {"profiled"}


def draw(chance: np.random.Generator, *, shared: bool) -> list[Offer]:
    """Up to twelve offers in the routes of three streams."""
    offers = []
    for number in range(chance.integers(1, 13)):
        start = int(chance.integers(0, 4))
        stop = start + int(chance.integers(2, 4))
        cache = int(chance.integers(0, 4)) if shared else number
        costs = 3.0 if shared else float(chance.random() * 4)
        offers.append(Offer("abc"[chance.integers(0, 3)], start, stop, cache, float(chance.normal(4, 4)), costs))
    return offers


def is_legal(chosen: Iterable[Offer]) -> bool:
    """Whether no two of them stand in for the same probe."""
    probes = [(offer.stream, probe) for offer in chosen for probe in range(offer.start, offer.stop)]
    return len(probes) == len(set(probes))


def best_value(offers: list[Offer]) -> float:
    found = (some for size in range(len(offers) + 1) for some in combinations(offers, size) if is_legal(some))
    return max(value(some) for some in found)


@pytest.mark.parametrize("shared", [False, True])
def test_the_selection_is_the_best_there_is(shared: bool) -> None:
    for seed in range(60):
        offers = draw(np.random.default_rng(seed), shared=shared)
        chosen = select(offers)
        assert is_legal(chosen)
        assert value(chosen) == pytest.approx(best_value(offers))


def test_beyond_all_combinations_the_selection_is_nearly_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,000 instances: what is left to pay is 1.02 times the least on average; one by one for its price."""
    times = []
    for seed in range(1_000):
        offers = draw(np.random.default_rng(seed), shared=True)
        best = value(select(offers))
        with monkeypatch.context() as patch:
            patch.setattr("eddy.policies.caching.select.MOST_COMBINATIONS", 1)
            chosen = select(offers)
        assert is_legal(chosen)
        # All that caches could save is what is paid without any.
        all_ = sum(max(offer.benefit, 0.0) for offer in offers)
        times.append((all_ - value(chosen)) / (all_ - best) if all_ - best > 1e-9 else 1.0)
    assert np.mean(times) < 1.02
    assert max(times) < 1.6


def make() -> tuple[eddy.Query, dict[str, pa.Table]]:
    """R(A) S(A, B) T(B): many S for a key, few of which meet an R."""
    chance, rows = np.random.default_rng(1), 4_000
    x = np.where(chance.random(rows) < 0.02, chance.integers(0, 100, rows), chance.integers(10**6, 10**7, rows))
    data = {
        "t": pa.table({"ts": np.arange(rows), "k": chance.integers(0, 25, rows)}),
        "s": pa.table({"ts": np.arange(rows), "x": x, "k": chance.integers(0, 25, rows)}),
        "r": pa.table({"ts": np.arange(rows), "x": chance.integers(0, 100, rows)}),
    }
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(1_000), delay=0) for name in data]
    query = eddy.Query(streams=streams, joins=["r.x = s.x", "s.k = t.k"], select=["r.ts", "s.ts as b", "t.ts as c"])
    return query, data


BY_CALLS = {"name": "a_caching", "order": "fixed", "costs": "unit"}


def run(policy: wiring.PolicyChoice) -> eddy.local.Run:
    query, data = make()
    return eddy.run_local(query, data, policy=policy, batch_rows=200, clock=steady_clock())


ROUTES = [
    # Rows of r and s are joined with each other first, and so are those of s and t: only one of it can be for s.
    (["probe_r", "probe_s", "probe_t"], {"cached_r_s"}),
    (["probe_t", "probe_s", "probe_r"], {"cached_s_t"}),
]
"""Where rows of s go first, and which part is then joined before anything else by rows of both its inputs."""


@pytest.mark.parametrize(("order", "kept"), ROUTES)
def test_with_the_prefix_invariant_only_what_comes_by_anyway_is_kept(order: list[str], kept: set[str]) -> None:
    query, data = make()

    def run_with(consistency: str) -> eddy.local.Run:
        def build(setting: Setting) -> ACaching:
            fixed = wiring.make_policy({"name": "fixed", "order": order}, setting)
            return ACaching(dataclasses.replace(setting, make=lambda *_: fixed), costs="unit", consistency=consistency)

        return eddy.run_local(query, data, policy=build, batch_rows=200, clock=steady_clock())

    prefix, anything = run_with("prefix"), run_with("any")
    assert prefix.results.num_rows == anything.results.num_rows > 0
    assert list_known(prefix) == kept
    assert list_known(anything) == {"cached_r_s", "cached_s_t"}


def list_known(found: eddy.local.Run) -> set[str]:
    """The caches that any stream has among its candidates."""
    reasons = "; ".join(decision.reason for decision in found.report.counters[-1].insight.decisions)
    return {part.split()[0] for part in reasons.split("; ") if part.startswith("cached_")}


def test_calls_are_saved() -> None:
    """By calls alone every cache pays; forty S for a key, one in fifty with an R, are one call in place of forty."""
    plain, cached = run("fixed"), run(BY_CALLS)
    assert plain.results.num_rows == cached.results.num_rows > 100
    calls = [one.report.batches()["routing_calls"].sum() for one in (plain, cached)]
    assert calls[1] < 0.6 * calls[0]
    told = cached.report.caches()
    assert told["hits"].sum() > 0.5 * told["look_ups"].sum()


@pytest.mark.parametrize("without", [0.02, 0.5])
def test_each_row_goes_one_way_while_a_cache_is_tried_on_a_part_of_them(without: float) -> None:
    """Some go without caches, some try one, and the others go as they did."""
    query, data = make()
    more = {"interval": 100, "without": without, "costs": "unit"}
    found = eddy.run_local(query, data, policy={**BY_CALLS, **more}, batch_rows=1_000, clock=steady_clock())
    assert found.results.num_rows == run("fixed").results.num_rows
    states = {decision.reason for c in found.report.counters for decision in c.insight.decisions}
    assert any("tried" in reason for reason in states)


def test_a_policy_tells_which_caches_it_uses() -> None:
    decided = run(BY_CALLS).report.counters[-1].insight.decisions
    assert any("cached_r_s used" in decision.reason for decision in decided)
    assert any(decision.ways[0].route == ("cached_r_s",) for decision in decided)


def test_a_policy_that_goes_on_from_a_snapshot_uses_its_caches() -> None:
    """Combinations are found anew."""
    query, data = make()
    schemas = {name: table.schema for name, table in data.items()}
    first, again = (wiring.engine(query, schemas, BY_CALLS, tables={}, clock=float, seed=0) for _ in range(2))
    parts = [
        {name: table.slice(at, 200).combine_chunks() for name, table in data.items()} for at in range(0, 4_000, 200)
    ]
    batches = [{name: table.to_batches()[0] for name, table in part.items()} for part in parts]
    list(first.run(batches[0]))
    assert not any(count.look_ups for count in first.read_counters().caches)
    for batch in batches[1:-1]:
        list(first.run(batch))
    again.restore(first.snapshot())
    found = [sum(part.num_rows for part in one.run(batches[-1])) for one in (first, again)]
    assert found[0] == found[1] > 0
    used, filled = (one.read_counters().caches for one in (first, again))
    assert (
        [count.cache for count in used if count.look_ups] == [count.cache for count in filled if count.look_ups] != []
    )
    assert sum(count.filled for count in filled) > sum(count.filled for count in used)


@pytest.mark.parametrize("order", ["a_greedy", "source"])
@pytest.mark.parametrize("name", ["cached_x", "cachedness"])
def test_a_filter_of_one_stream_may_be_called_like_a_cache(name: str, order: str) -> None:
    """What the order learns of it, and where it goes, does not depend on its name, also as it begins to pass more."""

    def count(name: str) -> list[int]:
        _, data = make()
        changing = eddy.Filter(name, on="t", where="(t.ts < 2000) = (t.k < 2)")
        filters = [eddy.Filter("half", on="t", where="t.ts % 2 > 0"), changing]
        query = eddy.Query(streams=[eddy.Stream("t", time="ts")], filters=filters)
        policy = {"name": "a_caching", "order": order, "costs": "unit"}
        told = eddy.run_local(query, {"t": data["t"]}, policy=policy, batch_rows=100, clock=steady_clock()).report
        return [int(calls) for calls in told.batches()["routing_calls"]]

    assert count(name) == count("another")


def test_who_has_nothing_to_gain_is_told_of_few_steps() -> None:
    """Keys of the first half never come again; those of the second do, and caches are found for them."""
    query, data = make()
    rows, batch = 16_000, 200
    chance = np.random.default_rng(2)
    fresh, again = np.arange(rows), chance.integers(0, 25, rows)
    is_late = np.arange(rows) >= rows // 2
    longer = {name: table.take(np.arange(rows) % table.num_rows) for name, table in data.items()}
    longer = {name: table.set_column(0, "ts", [np.arange(rows)]) for name, table in longer.items()}
    for name, column in (("s", "k"), ("t", "k"), ("r", "x")):
        keys = np.where(is_late, again, 10**8 + fresh)
        longer[name] = longer[name].set_column(longer[name].schema.get_field_index(column), column, [keys])
    made: list[ACaching] = []

    def build(setting: Setting) -> ACaching:
        made.append(ACaching(setting, order="fixed"))
        return made[-1]

    listening, asked = [], []
    parts = [
        {n: table.slice(at, batch).combine_chunks() for n, table in longer.items()} for at in range(0, rows, batch)
    ]
    schemas = {name: table.schema for name, table in longer.items()}
    engine = wiring.engine(query, schemas, build, tables={}, clock=steady_clock(), seed=0)
    for part in parts:
        list(engine.run({name: table.to_batches()[0] for name, table in part.items()}))
        listening.append(made[0].is_listening)
        asked.append(sum(count.look_ups for count in engine.read_counters().caches))
    # The first thousand keys say whether keys come again, and they take some rounds.
    half, known = len(parts) // 2, 10
    assert sum(listening[known:half]) < 0.25 * (half - known)
    assert not any(asked[:half])
    assert any(asked[half : half + 20])


def test_what_keeps_a_cache_up_goes_by_the_clock_of_steps() -> None:
    """On a busy machine the wall stands for far more, and upkeep is a part of what a step took."""
    query, data = make()
    schemas = {name: table.schema for name, table in data.items()}
    walls = (float(hours) * 3_600 for hours in range(10**9))
    policy = {**BY_CALLS, "force": ["cached_r_s"]}
    engine = wiring.engine(
        query, schemas, policy, tables={}, seed=0, clock=walls.__next__, working=steady_clock(), thinking=float
    )
    for at in range(0, 4_000, 200):
        part = {name: table.slice(at, 200).combine_chunks().to_batches()[0] for name, table in data.items()}
        list(engine.run(part))
    (count,) = engine.read_counters().caches
    assert count.fresh > 0
    assert 0 < count.seconds < 1
