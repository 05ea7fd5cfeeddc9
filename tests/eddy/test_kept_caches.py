"""Caches that are saved: the naive answer, all combinations of every key, and as if nothing had been stopped."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.contracts import Leg, Policy, Setting, Task
from eddy.engine import Engine
from eddy.engine.snapshot import Snapshot, pack, unpack
from eddy.operators.cache import cache as caching
from eddy.operators.cache import saved as saving
from eddy.operators.cache import store as storing
from eddy.operators.cache.cache import Cache
from eddy.query.join_graph import is_cached
from eddy.tuples import Hop
from eddy.tuples.arrow import one_batch
from eddy.tuples.packed import pack_rows
from tests import keyed, reference, tiny
from tests.eddy.test_caches import Eager, check_combinations
from tests.eddy.test_joins import answered, batches, found_in
from tests.joins import Case
from tests.policies.checks import steady_clock
from tests.policies.wild import Joining
from tests.tries import fewer


def engine(case: Case, policy: Any, state: str = "keep") -> Engine:
    """An engine for a case, whose caches are saved."""
    tables = {name: one_batch(name, table) for name, table in case.data().items() if name not in case.streams}
    schemas = {name: case.schema(name) for name in case.streams}
    return wiring.engine(
        case.query(),
        schemas,
        policy,
        tables=tables,
        clock=steady_clock(),
        seed=0,
        index=case.index,
        cache_state=state,
    )


def restart(running: Engine, new: Engine) -> Engine:
    new.restore(running.snapshot())
    return new


def list_caches(running: Engine) -> list[Cache]:
    caches: Any = running.lanes[""]._caches
    return list(caches.all)


@fewer(3)
@given(
    case=keyed.cases() | keyed.cases(faults=True),
    policy=st.sampled_from([Eager, Joining]),
    stops=st.sets(st.integers(1, 12)),
    most=st.sampled_from([2, 1 << 16, 1 << 16]),
    collide=st.booleans(),
)
def test_caches_that_are_saved_give_the_naive_answer(
    case: Case, policy: Any, stops: set[int], most: int, *, collide: bool
) -> None:
    """Wherever it is stopped; and of every key that is held there are all combinations."""
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(storing, "mix", lambda codes: (codes[0] & 1).astype(np.uint64))
        patch.setattr(caching, "BYTE_SECONDS", -1.0)
        patch.setattr(caching, "MOST_OF_KEY", most)
        patch.setattr(caching, "PURGE_SHARE", 1_000)
        tiny.parts_of(patch, 2)
        found = answered(run_stopped(case, policy, stops), engine(case, policy).schema)
    assert found == reference.answer(case.question(), case.batches())


def run_stopped(case: Case, policy: Any, stops: set[int]) -> Iterator[pa.RecordBatch]:
    running = engine(case, policy)
    for number, batch in enumerate(batches(case)):
        if number in stops:
            running = restart(running, engine(case, policy))
            for cache in list_caches(running):
                check_combinations(cache)
        yield from running.run(batch)


class InAnyTurn(Joining):
    """Draws one leg for all rows of a lineage, by what they have done in which round, whoever's turn it is.

    Taps say which rows go first, and are in no state; nor are caches with rows of tables, whose combinations come in
    another order when they are found anew. So turns are not those of a run that was never stopped.
    """

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        lineage = task.lineage
        drawn = np.random.default_rng([self.plans, zlib.crc32(repr((lineage.origin, sorted(lineage.done))).encode())])
        return [self._leg(replace(task, chance=lambda: drawn), ready, np.arange(task.rows))]

    def learn(self) -> None:
        self.plans += 1


@fewer(4)
@given(case=keyed.cases(), policy=st.sampled_from([Eager, InAnyTurn]))
def test_a_run_that_is_stopped_everywhere_finds_no_key_twice(case: Case, policy: Any) -> None:
    """Look-ups, hits and keys that were filled are as if it had never been stopped."""
    # Rows of tables are in no state, nor what filters have said of them.
    case = replace(case, filters=[])
    steady, stopped = engine(case, policy), engine(case, policy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caching, "BYTE_SECONDS", -1.0)
        for batch in batches(case):
            stopped = restart(stopped, engine(case, policy))
            found, expected = (answered(one.run(batch), one.schema) for one in (stopped, steady))
            assert found == expected
            if found == reference.FAILS:
                break
            assert count(stopped, case) == count(steady, case)


def count(running: Engine, case: Case) -> list[tuple[Any, ...]]:
    told = (one for one in running.read_counters().caches if set(one.cache.split(", ")) <= case.streams.keys())
    return sorted((c.cache, c.key, c.look_ups, c.hits, c.filled, c.refused) for c in told if c.look_ups)


NAMES = ("r", "s", "t")


def pairs(state: str = "keep", policy: Any = None, filters: Sequence[eddy.Filter] = (), windows: Any = None) -> Engine:
    spans = windows or dict.fromkeys(NAMES, eddy.Range(100))
    streams = [eddy.Stream(name, time="ts", window=spans[name], delay=None if windows else 0) for name in NAMES]
    query = eddy.Query(
        streams=streams,
        joins=["r.x = s.x", "s.k = t.k"],
        filters=list(filters),
        select=["r.ts", "s.ts as b", "t.ts as c"],
    )
    forced = {"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}
    return wiring.engine(
        query,
        {name: rows(0, name).schema for name in NAMES},
        policy or forced,
        tables={},
        clock=steady_clock(),
        seed=0,
        cache_state=state,
    )


def rows(number: int, name: str) -> pa.RecordBatch:
    chance = np.random.default_rng([number, ord(name)])
    columns = {"ts": np.arange(50 * number, 50 * number + 50), "x": chance.integers(0, 40, 50)}
    return pa.record_batch({**columns, "k": chance.integers(0, 20, 50)})


def run(running: Engine, number: int, names: Sequence[str] = NAMES) -> pa.Table:
    """A micro-batch with rows of some streams."""
    batch = {name: rows(number, name).slice(0, 50 if name in names else 0) for name in NAMES}
    parts = list(running.run(batch))
    return pa.Table.from_batches(parts, schema=running.schema)


def run_some(state: str = "keep") -> Engine:
    running = pairs(state)
    for number in range(4):
        run(running, number)
    return running


def test_a_restart_finds_no_key_again() -> None:
    steady, stopped = run_some(), restart(run_some(), pairs())
    assert found_in(run(stopped, 4)) == found_in(run(steady, 4)) != {}
    (told,) = stopped.read_counters().caches
    assert told.filled == 0
    assert told.hits == told.look_ups > 0
    # What joins with new rows is taken from those that pass, as before.
    assert told.tapped == told.fresh > 0


def test_rows_that_came_since_a_cache_was_asked_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "BYTE_SECONDS", -1.0)
    steady, stopped = run_some(), run_some()
    for running in (steady, stopped):
        run(running, 4, ["r", "s"])
    stopped = restart(stopped, pairs())
    assert found_in(run(stopped, 5)) == found_in(run(steady, 5)) != {}
    assert stopped.read_counters().caches[0].filled == 0


class Late(Policy):
    """Asks filters last, so that rows fail that are in combinations by then."""

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        steps: list[Hop] = []
        while hops := task.after(steps):
            cached = [hop for hop in task.options(steps) if is_cached(hop.operator) and task.lineage.origin == "t"]
            steps.append(
                min([*cached, *hops], key=lambda hop: (hop not in cached, hop.operator not in task.prices.probes))
            )
        return [Leg(route=tuple(steps))]


def test_windows_of_others_than_the_caches_inputs_count() -> None:
    """A window of `t` alone says when a combination of rows of `r` and `s` is past."""
    windows = {"r": eddy.Unbounded(), "s": eddy.Unbounded(), "t": eddy.Range(3)}
    steady, stopped = (pairs(windows=windows) for _ in range(2))
    for number in (1, 2):
        run(steady, number)
        run(stopped, number)
    assert found_in(run(restart(stopped, pairs(windows=windows)), 0)) == found_in(run(steady, 0))


def test_rows_that_filters_have_failed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in no state, and those behind them move up: also the ones that are in combinations."""
    monkeypatch.setattr(caching, "BYTE_SECONDS", -1.0)
    filters = [eddy.Filter(f"drops_{name}", on=name, where=f"{name}.ts * 7919 % 10 > 0") for name in ("r", "s")]
    steady, stopped = pairs(policy=Late, filters=filters), pairs(policy=Late, filters=filters)
    for number in range(4):
        run(steady, number)
        run(stopped, number)
    dead = sum(int((~stem.alive).sum()) for stem in list_caches(stopped)[0]._stems.values())
    assert dead
    stopped = restart(stopped, pairs(policy=Late, filters=filters))
    assert found_in(run(stopped, 4)) == found_in(run(steady, 4)) != {}
    assert stopped.read_counters().caches[0].filled == 0


def test_without_a_word_caches_are_filled_anew() -> None:
    running = run_some("forget")
    assert not [name for name in unpack(running.snapshot())[1] if name.startswith("cache")]
    for new in (restart(running, pairs("keep")), restart(run_some(), pairs("forget"))):
        run(new, 4)
        assert new.read_counters().caches[0].filled > 10


def test_a_cache_that_is_worth_less_than_its_bytes_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    running = run_some()
    (cache,) = list_caches(running)
    assert cache.is_worth_saving
    assert unpack(running.snapshot())[0]["caches"]["all"]
    monkeypatch.setattr(caching, "BYTE_SECONDS", caching.KEY_SECONDS)
    assert "caches" not in unpack(running.snapshot())[0]


def test_another_policy_may_go_on_with_them() -> None:
    """They say what rows there are, whoever asks and in which order."""
    steady = run_some()
    new = restart(run_some(), pairs(policy={"name": "a_caching", "order": "source", "force": ["cached_r_s"]}))
    assert found_in(run(new, 4)) == found_in(run(steady, 4))
    assert new.read_counters().caches[0].filled == 0


def change(snapshot: Snapshot, what: str) -> Snapshot:
    """A state whose cache cannot be of these rows, under a right checksum."""
    meta, tables = unpack(snapshot)
    (told,) = meta["caches"]["all"]
    keys, combined, *others = tables["cache 0"]
    if what == "version":
        meta["caches"]["version"] = saving.VERSION + 1
    elif what == "key":
        told["key"] = "r.x"
    elif what == "operator":
        told["operator"] = "cached_s_t"
    elif what == "spans":
        told["spans"] = ["r"]
    elif what == "short":
        tables["cache 0"] = [keys, *others]
    elif what == "gone":
        del tables["cache 0"]
    else:
        table = (combined if what == "row r" else keys).read()
        name = next(n for n in table.schema.names if n.endswith(what))
        column = table.column(name).to_numpy(zero_copy_only=False).copy()
        column[-1] += 1_000
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(column))
        place = int(what == "row r")
        tables["cache 0"][place] = pack_rows(table)
    return pack(json.loads(json.dumps(meta)), tables)


@pytest.mark.parametrize("what", ["version", "key", "operator", "spans", "short", "gone", "row r", "count", "code 0"])
def test_what_cannot_be_of_these_rows_is_found_anew(what: str) -> None:
    new = pairs()
    new.restore(change(run_some().snapshot(), what))
    assert found_in(run(new, 4)) == found_in(run(run_some(), 4))
    told = new.read_counters().caches
    assert sum(one.filled for one in told) > 10


def test_other_filters_leave_no_cache() -> None:
    new = restart(run_some(), pairs(filters=[eddy.Filter("even", on="r", where="r.x % 2 = 0")]))
    assert not list_caches(new)


def test_caches_with_tables_are_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table may be another one after a restart, also one whose rows have the same key and join with others."""
    monkeypatch.setattr(caching, "BYTE_SECONDS", -1.0)
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(100), delay=0) for name in "rt"]
    query = eddy.Query(
        streams=streams, tables=[eddy.Table("s")], joins=["r.x = s.x", "s.k = t.k"], select=["r.ts", "t.ts as c"]
    )

    def make(table: pa.RecordBatch) -> Engine:
        schemas = {name: rows(0, name).schema for name in "rt"}
        policy = {"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}
        return wiring.engine(
            query, schemas, policy, tables={"s": table}, clock=steady_clock(), seed=0, cache_state="keep"
        )

    def go(running: Engine, number: int) -> pa.Table:
        parts = list(running.run({name: rows(number, name) for name in "rt"}))
        return pa.Table.from_batches(parts, schema=running.schema)

    table = rows(7, "s")
    other = table.set_column(1, "x", table["x"].take(pa.array(range(50)[::-1])))
    before, steady = make(table), make(other)
    for number in range(4):
        go(before, number)
        go(steady, number)
    assert found_in(go(restart(before, make(other)), 4)) == found_in(go(steady, 4)) != {}


def test_mistakes_are_told() -> None:
    with pytest.raises(eddy.QueryError, match='unknown cache_state "kept"'):
        pairs("kept")
