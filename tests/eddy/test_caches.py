"""Caches of parts of a join: the naive answer, and all combinations of every key that is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.contracts import Leg, Policy, Setting, Task
from eddy.engine import rounds
from eddy.kernels.choice import choose_kernels
from eddy.local import Run
from eddy.observe.caching import CacheCount
from eddy.operators.cache import cache as caching
from eddy.operators.cache import fill
from eddy.operators.cache import store as storing
from eddy.operators.cache.cache import Cache
from eddy.operators.cache.room import Caches
from eddy.operators.cache.whole import WholeCache
from eddy.operators.index.catalog import Catalog
from eddy.query import Range
from eddy.query.join_graph import is_cached
from eddy.tuples import Hop
from eddy.wiring import PolicyChoice
from tests import keyed, reference, tiny
from tests.eddy.test_joins import answered, found_in
from tests.joins import Case
from tests.policies.wild import Joining, JoiningWhole
from tests.tries import fewer

FEW_KEYS = 300
"""Bytes in which a few keys of such cases have room."""


class Eager(Policy):
    """Takes the largest part of the join that it may, for every row."""

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        steps: list[Hop] = []
        while hops := task.after(steps):
            cached = [hop for hop in task.options(steps) if is_cached(hop.operator)]
            steps.append(max(cached, key=lambda hop: hop.operator.count("_")) if cached else hops[0])
        return [Leg(route=tuple(steps))]


@fewer(4)
@given(
    case=keyed.cases() | keyed.cases(faults=True),
    policy=st.sampled_from([Eager, Joining]),
    memory=st.sampled_from([0, FEW_KEYS, None]),
    most=st.sampled_from([1, 3, 1 << 16, 1 << 16]),
    lot=st.sampled_from([2, 5, 1 << 18]),
    collide=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_any_cache_gives_the_naive_answer(
    case: Case, policy: type[Policy], memory: int | None, most: int, lot: int, *, collide: bool, seed: int
) -> None:
    """Whatever the room, also where keys with a few candidates are refused, some wait, or many have one hash."""
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(storing, "mix", lambda codes: (codes[0] & 1).astype(np.uint64))
        patch.setattr(caching, "MOST_OF_KEY", most)
        patch.setattr(caching, "MOST_CANDIDATES", lot)
        tiny.parts_of(patch, 2)
        patch.setattr(caching, "PURGE_SHARE", 1_000)
        check(case, policy, memory, seed)


@fewer(4)
@given(
    case=keyed.cases() | keyed.cases(faults=True),
    policy=st.sampled_from([JoiningWhole, "x_join", {"name": "x_join", "rounds": 2}]),
    collide=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_whole_parts_give_the_naive_answer(case: Case, policy: PolicyChoice, *, collide: bool, seed: int) -> None:
    """A policy that draws them, and trees that are found by a search; also where many keys have one hash."""
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(storing, "mix", lambda codes: (codes[0] & 1).astype(np.uint64))
        patch.setattr(caching, "PURGE_SHARE", 1_000)
        tiny.parts_of(patch, 2)
        check(case, policy, None, seed)


def check(case: Case, policy: PolicyChoice, memory: int | None, seed: int) -> None:
    run = eddy.iter_local(
        case.query(),
        case.data(),
        policy=policy,
        index=case.index,
        cache_memory=memory,
        batch_rows=case.batch_rows,
        seed=seed,
    )
    assert answered(run, run.schema) == reference.answer(case.question(), case.batches())


@fewer(4)
@given(
    case=keyed.cases(),
    memory=st.sampled_from([FEW_KEYS, None]),
    lot=st.sampled_from([2, 5, 1 << 18]),
    collide=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_keys_that_are_held_have_all_their_combinations(
    case: Case, memory: int | None, lot: int, *, collide: bool, seed: int
) -> None:
    """After each micro-batch: those that join by brute force, with rows that are there and that no filter failed."""
    with pytest.MonkeyPatch.context() as patch:
        settle = Caches.settle

        def settle_and_check(self: Caches) -> Sequence[CacheCount]:
            counts = settle(self)
            for cache in self.all:
                check_combinations(cache)
            return counts

        patch.setattr(Caches, "settle", settle_and_check)
        patch.setattr(caching, "MOST_CANDIDATES", lot)
        tiny.parts_of(patch, 2)
        if collide:
            patch.setattr(storing, "mix", lambda codes: (codes[0] & 1).astype(np.uint64))
        check(case, Joining if memory is not None else JoiningWhole, memory, seed)


def check_combinations(cache: Cache) -> None:
    if is_faulty(cache):
        return
    cache.keep_up(0)
    held = list_held(cache)
    assert len(set(held)) == len(held)
    kept = set(list_kept(cache))
    for combination in list_joined(cache):
        key = read_key(cache, combination)
        if isinstance(cache, WholeCache):
            assert key is None or combination in kept or is_odd(cache, key)
        else:
            assert key not in held or combination in kept


def is_odd(cache: WholeCache, key: tuple[int, ...]) -> bool:
    """Whether tuples with a key are refused, since another one has its hash."""
    return bool(cache.look_up([np.array([code]) for code in key], 0).refused[0])


class Tapped(Policy):
    """Rows of `a` go by caches, and others to the inputs of these first: nearly all of them, or now and then a part."""

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        if task.lineage.origin == "a":
            return [Leg(route=find_route(task, by_cache=True))]
        legs = [Leg(route=find_route(task, last="probe_a"))]
        others = np.flatnonzero(task.chance().random(task.rows) < task.chance().choice([0.0, 0.0, 0.3]))
        if not len(others):
            return legs
        rest = np.setdiff1d(np.arange(task.rows), others)
        first = Leg(route=find_route(task, first="probe_a"), rows=others)
        return [first, replace(legs[0], rows=rest)] if len(rest) else [first]

    @property
    def is_calm(self) -> bool:
        return False


def find_route(task: Task, *, by_cache: bool = False, first: str = "", last: str = "") -> tuple[Hop, ...]:
    steps: list[Hop] = []
    while hops := task.after(steps):
        cached = [hop for hop in task.options(steps) if by_cache and is_cached(hop.operator)]
        steps.append(cached[-1] if cached else min(hops, key=lambda h: (h.operator != first, h.operator == last)))
    return tuple(steps)


@fewer(2)
@given(case=keyed.cases(), seed=st.integers(0, 2**32), first=st.sampled_from([3, rounds.FIRST_ROUND]))
def test_a_tap_gives_a_cache_what_it_finds_itself(case: Case, seed: int, first: int) -> None:
    """All combinations that join, and where numbers say all about that, no others; also after several rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "FIRST_ROUND", first)
        tapped, own = (list_stores(case, seed, by_tap=by_tap) for by_tap in (True, False))
    assert len(tapped) == len(own)
    for with_tap, without in zip(tapped, own, strict=True):
        assert with_tap.held == without.held
        assert without.joined <= with_tap.kept <= without.kept
        assert with_tap.kept == without.kept or not without.is_plain


class Stored(NamedTuple):
    """What a cache has after a micro-batch: keys, combinations of living rows, and those of them that join."""

    held: set[tuple[int, ...]]
    kept: set[tuple[int, ...]]
    joined: set[tuple[int, ...]]
    is_plain: bool


def list_stores(case: Case, seed: int, *, by_tap: bool) -> list[Stored]:
    found: list[Stored] = []
    with pytest.MonkeyPatch.context() as patch:
        settle, is_tapped = Caches.settle, Cache._is_tapped

        def settle_and_list(self: Caches) -> Sequence[CacheCount]:
            found.extend(list_stored(cache) for cache in self.all if not is_faulty(cache))
            return settle(self)

        patch.setattr(Caches, "settle", settle_and_list)
        patch.setattr(Cache, "_is_tapped", lambda *given: by_tap and is_tapped(*given))
        patch.setattr(caching, "PURGE_SHARE", 1_000)
        check(case, Tapped, None, seed)
    return found


def list_stored(cache: Cache) -> Stored:
    stems = cache._stems
    kept = {
        c for c in list_kept(cache) if all(0 <= i < len(stems[n]) for n, i in zip(cache.scope.inputs, c, strict=True))
    }
    kept = {c for c in kept if all(stems[n].alive[i] for n, i in zip(cache.scope.inputs, c, strict=True))}
    held = set(list_held(cache))
    joined = {c for c in list_joined(cache) if read_key(cache, c) in held and has_come(cache, c)}
    is_plain = not cache.scope.residuals and not any(stem.ranked is not None for stem in stems.values())
    return Stored(held, kept, joined, is_plain)


def has_come(cache: Cache, combination: tuple[int, ...]) -> bool:
    """Whether the cache has been kept up with all of its rows."""
    rows = zip(cache.scope.inputs, combination, strict=True)
    return all(row + cache.gone[name] < cache._upto[name] for name, row in rows)


def is_faulty(cache: Cache) -> bool:
    return any(side.key.faulty for e in cache.scope.equalities for side in e.sides.values())


def list_held(cache: Cache) -> list[tuple[int, ...]]:
    return [key for part in cache.store.parts for key in zip(*(c[part.held].tolist() for c in part.codes), strict=True)]


def list_kept(cache: Cache) -> Iterator[tuple[int, ...]]:
    """The combinations in the store whose rows are all there, by their ids."""
    for part in cache.store.parts:
        ids = [(part.rows[name] - cache.gone[name]).tolist() for name in cache.scope.inputs]
        yield from zip(*ids, strict=True)


def list_joined(cache: Cache) -> Iterator[tuple[int, ...]]:
    """The combinations of living rows that join with each other, one by one."""
    stems = [cache._stems[name] for name in cache.scope.inputs]
    for combination in product(*(np.flatnonzero(stem.alive).tolist() for stem in stems)):
        rows = dict(zip(cache.scope.inputs, combination, strict=True))
        found = all(agree(e.sides, rows) for e in cache.scope.equalities) and is_inside(cache, rows)
        if found and all(r.holds(cache._stems, one_row(rows, r.inputs), 1).passed[0] for r in cache.scope.residuals):
            yield combination


def one_row(rows: Mapping[str, int], inputs: frozenset[str]) -> dict[str, Any]:
    return {name: np.array([rows[name]]) for name in inputs}


def agree(sides: Mapping[str, Any], rows: Mapping[str, int]) -> bool:
    codes = [side.key.codes(np.array([rows[name]]))[0] for name, side in sides.items()]
    valid = [side.key.valid(np.array([rows[name]])) for name, side in sides.items()]
    return bool(codes[0] == codes[1]) and all(one is None or one[0] for one in valid)


def is_inside(cache: Cache, rows: Mapping[str, int]) -> bool:
    """Whether all rows are in their windows when the newest comes; of windows of rows, whether they still are."""
    for name, row in rows.items():
        stem = cache._stems[name]
        if stem.ranked is not None and stem.ranked.ranks[row] < len(stem) + stem.ranked.shift:
            return False
    times = {n: cache._stems[n].ticks[row] for n, row in rows.items() if cache._stems[n].timed}
    windows = {n: w.ticks for n in times if isinstance(w := cache._stems[n].window, Range)}
    return all(max(times.values()) - times[name] <= span for name, span in windows.items())


def read_key(cache: Cache, combination: tuple[int, ...]) -> tuple[int, ...] | None:
    """The key of a combination; none where a side is null, or no tuple can bring it."""
    rows = dict(zip(cache.scope.inputs, combination, strict=True))
    sides = cache.key.sides
    valid = [side.key.valid(np.array([rows[side.input]])) for side in sides]
    if any(one is not None and not one[0] for one in valid):
        return None
    key = tuple(int(side.key.codes(np.array([rows[side.input]]))[0]) for side in sides)
    return key if all(key[first] == code for code, first in zip(key, cache.key.brought, strict=True)) else None


def pairs(policy: Any, memory: int | None = None, rows: int = 400, key: str = "t.k", more: Sequence[str] = ()) -> Run:
    """Orders, their customers, and readings by order; keys come again and again."""
    chance = np.random.default_rng(0)
    data = {
        "r": pa.table({"ts": np.arange(rows), "x": chance.integers(0, 40, rows)}),
        "s": pa.table({"ts": np.arange(rows), "x": chance.integers(0, 40, rows), "k": chance.integers(0, 20, rows)}),
        "t": pa.table({"ts": np.arange(rows), "k": chance.integers(0, 20, rows)}),
    }
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(100), delay=0) for name in "rst"]
    joins = ["r.x = s.x", f"s.k = {key}", *more]
    query = eddy.Query(streams=streams, joins=joins, select=["r.ts", "s.ts as b", "t.ts as c"])
    return eddy.run_local(query, data, policy=policy, cache_memory=memory, batch_rows=50)


def test_a_cache_says_what_it_has_done() -> None:
    run = pairs({"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]})
    plain = pairs("fixed")
    assert run.results.num_rows == plain.results.num_rows > 1_000
    told = run.report.caches()
    assert told["cache"].unique().tolist() == ["r, s"]
    assert told["key"].unique().tolist() == ["s.k"]
    # All twenty keys are found once, and held from then on: when all have been seen no look-up misses.
    assert told["filled"].sum() == 20
    assert (told["look_ups"] == told["hits"])[told["filled"].cumsum() - told["filled"] == 20].all()
    assert (told["nbytes"] > 0).all()
    # Once a tap is open what joins with new rows is taken from those that pass.
    assert told["tapped"].tolist()[1:] == told["fresh"].tolist()[1:]
    assert told["tapped"][0] == 0
    assert run.report.batches()["cache_bytes"].tolist() == told["nbytes"].tolist()


def test_inputs_that_only_another_connects_are_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of s come with one key for r and t, so of these only rows with one key make combinations."""
    monkeypatch.setattr(fill, "scan_all", lambda *_: pytest.fail("all rows were gone through"))
    chance = np.random.default_rng(0)
    data = {name: pa.table({"ts": np.arange(400), "k": chance.integers(0, 20, 400)}) for name in "rst"}
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(100), delay=0) for name in "rst"]
    query = eddy.Query(streams=streams, joins=["r.k = s.k", "s.k = t.k"], select=["r.ts", "s.ts as b", "t.ts as c"])
    policy = {"name": "a_caching", "order": "fixed", "force": ["cached_r_t"]}
    run = eddy.run_local(query, data, policy=policy, batch_rows=50)
    assert found_in(run.results) == found_in(eddy.run_local(query, data, policy="fixed", batch_rows=50).results)
    told = run.report.caches()
    assert told["key"].unique().tolist() == ["r.k = t.k"]
    assert told["fresh"].sum() > 400
    assert told["hits"].sum() > 200


@pytest.mark.skipif(choose_kernels().kernels.name != "numba", reason="without compiled kernels there are no chains")
def test_caches_go_along_the_chains_of_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They need no index of their own, and take nobody's away."""
    monkeypatch.setattr(Catalog, "find", lambda *_: pytest.fail("an index was searched that is no chain"))
    run = pairs({"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}, rows=2_000)
    assert run.report.caches()["filled"].sum() == 20


def test_keys_that_a_step_has_no_room_for_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twenty keys those of which all candidates were looked at are held, and the others found by the next step."""
    plain = pairs("fixed")
    monkeypatch.setattr(caching, "MOST_CANDIDATES", 50)
    run = pairs({"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]})
    assert found_in(run.results) == found_in(plain.results)
    assert run.report.caches()["filled"].sum() == 20


def test_without_memory_rows_of_a_step_share_what_they_find() -> None:
    told = pairs({"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}, memory=0).report.caches()
    assert (told["hits"] == 0).all()
    assert (told["filled"] <= 20).all()
    assert (told["nbytes"] == 0).all()


def test_caches_keep_to_their_memory() -> None:
    most = 2_000
    told = pairs({"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}, memory=most).report.caches()
    assert (told["nbytes"] <= most).all()
    assert told["hits"].sum() > 0


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"force": ["cached_r_t"]}, 'unknown cache "cached_r_t"'),
        ({"force": "cached_r_s"}, "expected a list of caches"),
        ({"m": 0}, "expected a whole number of 1 or more"),
        ({"order": "best"}, "order"),
        ({"change": 0}, "expected a share"),
    ],
)
def test_mistakes_are_told(parameters: Mapping[str, Any], said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        pairs({"name": "a_caching", **parameters}, rows=10)


def test_a_budget_below_nothing_is_refused() -> None:
    with pytest.raises(eddy.QueryError, match="cache_memory: expected a whole number of 0 or more"):
        pairs("fixed", memory=-1, rows=10)


def test_a_budget_below_one_key_keeps_nothing_and_changes_nothing() -> None:
    policy = {"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}
    least, plain = pairs(policy, memory=1), pairs("fixed")
    assert found_in(least.results) == found_in(plain.results)
    assert (least.report.caches()["nbytes"] == 0).all()


def test_of_many_parts_of_a_join_the_smallest_are_looked_at_and_that_is_told() -> None:
    names = "abcde"
    chance = np.random.default_rng(0)
    # As many as a trial wants to have counted keys of.
    data = {n: pa.table({"ts": np.arange(400), "k": chance.integers(0, 30, 400)}) for n in names}
    streams = [eddy.Stream(n, time="ts", window=eddy.Range(20), delay=0) for n in names]
    joins = [f"{one}.k = {other}.k" for one, other in pairwise(names)]
    query = eddy.Query(streams=streams, joins=joins, select=["a.ts"])
    policy = {"name": "a_caching", "order": "fixed", "m": 2, "costs": "unit"}
    counted = eddy.run_local(query, data, policy=policy, batch_rows=20).report.counters
    told = [d.reason for one in counted for d in one.insight.decisions if d.stream == "a"]
    assert all("4 larger parts of the join are not looked at: m is 2" in reason for reason in told)
    assert "cached_b_c profiled" in told[0]
    assert any("cached_b_c tried" in reason and "cached_c_d profiled" in reason for reason in told)


@pytest.mark.parametrize(("kind", "error"), [(pa.int32(), ""), (pa.float64(), ""), (pa.string(), "r.x = s.x")])
def test_keys_of_unequal_types_join_as_they_do_without_caches(kind: pa.DataType, error: str) -> None:
    """Numbers are compared as numbers; what nothing compares is the error that it is without caches."""
    data = {
        "r": pa.table({"ts": range(60), "x": pa.array([n % 7 for n in range(60)]).cast(kind)}),
        "s": pa.table({"ts": range(60), "x": [n % 7 for n in range(60)], "k": [n % 5 for n in range(60)]}),
        "t": pa.table({"ts": range(60), "k": [n % 5 for n in range(60)]}),
    }
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(20), delay=0) for name in data]
    query = eddy.Query(streams=streams, joins=["r.x = s.x", "s.k = t.k"], select=["r.ts", "s.ts as b", "t.ts as c"])

    def answer(policy: Any) -> Any:
        try:
            return found_in(eddy.run_local(query, data, policy=policy, batch_rows=7).results)
        except eddy.QueryError as found:
            return str(found)

    answers = [answer(policy) for policy in ("fixed", FORCED, "x_join")]
    assert answers[0] == answers[1] == answers[2]
    assert (error in answers[0]) if isinstance(answers[0], str) else len(answers[0]) > 0


def shapes(policy: Any, *, filters: Sequence[eddy.Filter] = (), rows: int = 300) -> Run:
    """Rows of t by two keys, one of each input of the cache; r and s share a third one."""
    chance = np.random.default_rng(3)
    keys = {"r": ("x", "y"), "s": ("y", "k"), "t": ("x", "k")}
    data = {
        name: pa.table({"ts": np.arange(rows), **{key: chance.integers(0, 6, rows) for key in own}})
        for name, own in keys.items()
    }
    query = eddy.Query(
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(80), delay=0) for name in keys],
        joins=["r.y = s.y", "r.x = t.x", "s.k = t.k"],
        filters=list(filters),
        select=["r.ts", "s.ts as b", "t.ts as c"],
    )
    return eddy.run_local(query, data, policy=policy, batch_rows=20)


def check_forced(*, filters: Sequence[eddy.Filter] = ()) -> None:
    """With the cache of r and s the answer is what it is without."""
    forced, plain = (shapes(policy, filters=filters) for policy in (FORCED, "fixed"))
    assert forced.report.caches()["hits"].sum() > 100
    assert found_in(forced.results) == found_in(plain.results) != {}


FORCED = {"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}


def test_keys_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them that is held goes by the cache, and the others by the probes."""
    monkeypatch.setattr(storing, "mix", lambda codes: (codes[0] & 1).astype(np.uint64))
    check_forced()


@pytest.mark.parametrize("key", ["nullif(t.k, 2)", "if(t.k < 2, t.k, null)"])
def test_rows_whose_key_is_null_find_nothing(key: str) -> None:
    """A key that is computed may be null; in columns that are compared as they are, such rows are not stored."""
    forced, plain = (pairs(policy, key=key) for policy in (FORCED, "fixed"))
    assert found_in(forced.results) == found_in(plain.results) != {}


def test_a_condition_over_the_inputs_of_a_cache_is_held_against_each_combination() -> None:
    """Once for each, as tuples come that need to know; some pass, and some do not."""
    forced, plain = (pairs(policy, more=["(r.ts + 2 * s.ts) % 3 > 0"]) for policy in (FORCED, "fixed"))
    assert 0 < plain.results.num_rows < pairs("fixed").results.num_rows
    assert found_in(forced.results) == found_in(plain.results)


@pytest.mark.parametrize("share", [2, 10])
def test_rows_that_fail_take_no_others_with_them(share: int) -> None:
    """Those behind them move up, also the ones that are in combinations."""
    filters = [eddy.Filter(f"drops_{name}", on=name, where=f"{name}.ts * 7919 % {share} > 0") for name in ("r", "s")]
    check_forced(filters=filters)
