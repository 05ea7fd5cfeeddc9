"""What caches save: R(A) S(A, B) T(B), where rows of T find the same pairs of R and S again and again.

`fixed` in the written order is the baseline, and its copy the control. "a cache" uses the one of R and S for T from the
beginning, "no memory" the same without anything that is kept; `a_caching` has to find out, and so has `auto`, for which
caches are one way among others. The clock is that of the process, so that other programs take nothing away: of engines
that have threads it counts them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import joins
from benchmarks.contenders import Duck, run_whole
from benchmarks.measure import SEED, WARM, Goal, Line, make_clocks, ratios, setting, summary
from benchmarks.polars_joins import PolarsJoins
from benchmarks.workloads import Workload as Shape
from benchmarks.workloads import batches as make_batches
from eddy import wiring
from eddy.comparison.workload import Workload
from eddy.engine import Engine
from eddy.engine.snapshot import Snapshot
from eddy.jobs.experiments.workloads.joins.chain import chain
from eddy.query import Query
from eddy.tuples.arrow import one_batch
from eddy.wiring import PolicyChoice

Batch = Mapping[str, pa.RecordBatch]

WITHOUT, CONTROL = "without", "without (control)"
CACHE, NO_MEMORY, OURS, AUTO, KEPT = "a cache", "a cache, no memory", "a_caching", "auto", "a cache, saved"
READY = "ready-made pairs"
AUTO_ALONE = "auto, no caches among its arms"

TREE: PolicyChoice = {"name": "x_join", "tree": "((r s) t)"}

FORCED: PolicyChoice = {"name": "a_caching", "order": "fixed", "force": ["cached_r_s"], "without": 1e-6}

CONTENDERS: Mapping[str, tuple[PolicyChoice, int | None]] = {
    WITHOUT: ("fixed", None),
    CONTROL: ("fixed", None),
    CACHE: (FORCED, None),
    NO_MEMORY: (FORCED, 0),
    OURS: ({"name": "a_caching", "order": "fixed"}, None),
    AUTO: ("auto", None),
    AUTO_ALONE: ({"name": "auto", "arms": ["source", "content", "query_mesh"]}, None),
}
"""What routes, and the bytes that caches have."""

BATCH_ROWS = 7_000
"""Rows of a micro-batch, of all streams together."""

SCANNED_ROWS = 700
"""The same where each row is held against all of a window."""

BATCHES = 60
IN_WINDOW = 10
"""Micro-batches that a window holds: so many more come before the clock starts."""


TWENTY: Mapping[str, Any] = {"multiplicity": 20, "meets": 0.05, "rates": "1 1 5"}

SHARED: Mapping[str, Mapping[str, Any]] = {
    "one S for a key": {"multiplicity": 1},
    "five S for a key": {"multiplicity": 5},
    "twenty S for a key, 5 % meet an R": {"multiplicity": 20, "meets": 0.05},
    "a hundred S for a key, 1 % meet an R": {"multiplicity": 100, "meets": 0.01},
}
"""Where it is asked which share of what there is to save a cache does."""

RESTARTS = 20

CHAIN_ROWS, CHAIN_WARM = 1_000, 10
"""Rows of each stream in a micro-batch of a chain, and micro-batches in its window."""

CHAIN_DOMAINS = (200_000, 500, 10_000)
"""Values of the keys of a chain: a row of c finds twenty rows of b, of which one in twenty meets a row of a."""


def pairs(batches: int = BATCHES) -> Iterator[Line]:
    """One pair for a key, five T for each: what little there is to save."""
    yield from _compare("one S for a key, T five times as fast", {"multiplicity": 1, "rates": "1 1 5"}, 1.2, batches)


def five(batches: int = BATCHES) -> Iterator[Line]:
    """Five S for a key, each of which meets an R."""
    yield from _compare("five S for a key", {"multiplicity": 5, "rates": "1 1 5"}, 1.7, batches)


def twenty(batches: int = BATCHES) -> Iterator[Line]:
    """Twenty S for a key, one of which meets an R."""
    yield from _compare("twenty S for a key, 5 % meet an R", TWENTY, 3.5, batches)


def hundred(batches: int = BATCHES) -> Iterator[Line]:
    """A hundred S for a key, one of which meets an R."""
    more = {"multiplicity": 100, "meets": 0.01, "rates": "1 1 5"}
    yield from _compare("a hundred S for a key, 1 % meet an R", more, 12.0, batches)


def scans(batches: int = BATCHES) -> Iterator[Line]:
    """Five S for a key, whose R no index finds: what joins is known once it has been asked."""
    more = {"multiplicity": 5, "rates": "1 1 5", "scan": True}
    yield from _compare("five S for a key, no index for R", more, 9.0, batches, size=SCANNED_ROWS)


def updates(batches: int = BATCHES) -> Iterator[Line]:
    """As many rows of R and S as of T, and four times as many."""
    for rates in ("1 1 2", "2 2 1"):
        more = {"multiplicity": 20, "meets": 0.05, "rates": rates}
        yield from _compare(f"twenty S for a key, rates {rates}", more, 1.0, batches)


def strangers(batches: int = BATCHES) -> Iterator[Line]:
    """Keys that hardly ever come again."""
    more = {"multiplicity": 1, "meets": 0.02, "rates": "5 5 1"}
    yield from _compare("keys that hardly come again", more, 0.98, batches)


def _compare(
    name: str, parameters: Mapping[str, Any], goal: float, batches: int, *, size: int = BATCH_ROWS
) -> Iterator[Line]:
    """Compare all contenders; the goal is in times of theirs, so theirs is to be below its inverse."""
    count = batches + IN_WINDOW + WARM
    made = chain(rows=count * size, window=IN_WINDOW * size, seed=SEED, **parameters)
    parts = cut(made, count)
    yield f"{name}; " + setting(rows=count * size, batch=size, seed=SEED)
    contenders = {label: contender(made.query, parts[0], *told) for label, told in CONTENDERS.items()}
    for batch in parts[:IN_WINDOW]:
        for run in contenders.values():
            run(batch)
    goals: dict[str, Goal] = dict.fromkeys((CACHE, OURS), ("at most", 1 / goal))
    yield from ratios(
        contenders, parts[IN_WINDOW:], baseline=WITHOUT, goals=goals, agree=joins.agree, clock=time.process_time
    )


def shares(batches: int = BATCHES) -> Iterator[Line]:
    """Which share of what ready-made pairs would save a cache does.

    Ready-made is a tree that holds all pairs and misses none, without the seconds in which it kept them up.
    """
    for label, more in SHARED.items():
        count = batches + IN_WINDOW + WARM
        made = chain(rows=count * BATCH_ROWS, window=IN_WINDOW * BATCH_ROWS, seed=SEED, rates="1 1 5", **more)
        parts = cut(made, count)
        yield f"{label}; " + setting(rows=count * BATCH_ROWS, batch=BATCH_ROWS, seed=SEED)
        policies: dict[str, PolicyChoice] = {WITHOUT: "fixed", CONTROL: "fixed", CACHE: FORCED, READY: TREE}
        engines = {name: make_engine(made.query, parts[0], policy, None) for name, policy in policies.items()}
        times = np.zeros((count, len(engines)))
        chance = np.random.default_rng(SEED)
        for number, batch in enumerate(parts):
            for which in chance.permutation(len(engines)):
                engine = engines[list(engines)[which]]
                begun = time.process_time()
                list(engine.run(batch))
                times[number, which] = time.process_time() - begun
                if which == list(engines).index(READY):
                    times[number, which] -= sum(one.seconds for one in engine.read_counters().caches)
        found = times[IN_WINDOW + WARM :]
        yield from summary(list(engines), found, baseline=WITHOUT)
        without, _, cache, ready = np.median(found, axis=0)
        saved, most = 1e3 * (without - cache), 1e3 * (without - ready)
        yield f"of the {most:.2f} ms that ready-made pairs save a cache saves {saved:.2f}"


def restarts(batches: int = RESTARTS) -> Iterator[Line]:
    """The first micro-batch after a restart, for which caches are empty or were saved, beside one without caches."""
    count = batches + IN_WINDOW + WARM
    made = chain(rows=count * BATCH_ROWS, window=IN_WINDOW * BATCH_ROWS, seed=SEED, **TWENTY)
    parts = cut(made, count)
    yield "twenty S for a key, stopped after each micro-batch; " + setting(
        rows=count * BATCH_ROWS, batch=BATCH_ROWS, seed=SEED
    )
    stopped: dict[str, tuple[PolicyChoice, str]] = {
        WITHOUT: ("fixed", "forget"),
        CONTROL: ("fixed", "forget"),
        CACHE: (FORCED, "forget"),
        KEPT: (FORCED, "keep"),
    }
    saved: dict[str, Snapshot] = {}
    times = np.zeros((count, len(stopped)))
    chance = np.random.default_rng(SEED)
    for number, batch in enumerate(parts):
        answers: dict[str, object] = {}
        for which in chance.permutation(len(stopped)):
            label = list(stopped)[which]
            policy, state = stopped[label]
            running = make_engine(made.query, batch, policy, None, cache_state=state)
            if label in saved:
                running.restore(saved[label])
            begun = time.process_time()
            answers[label] = pa.Table.from_batches(running.run(batch), schema=running.schema)
            times[number, which] = time.process_time() - begun
            saved[label] = running.snapshot()
        joins.agree(answers)
    goals: dict[str, Goal] = {CACHE: ("at most", 1.1)}
    yield from summary(list(stopped), times[IN_WINDOW + WARM :], baseline=WITHOUT, goals=goals)


def beside(batches: int = BATCHES) -> Iterator[Line]:
    """Chains of three and four streams beside DuckDB and Polars, which are told nothing of what they found before."""
    for keys in ({"x": "ab", "y": "bc"}, {"x": "ab", "y": "bc", "z": "cd"}):
        workload = Shape(name="chain", keys=keys, domains=partial(_list_domains, len(keys)))
        parts = make_batches(workload.data((batches + WARM + CHAIN_WARM) * CHAIN_ROWS), CHAIN_ROWS)
        yield f"a chain of {len(workload.streams)}; " + setting(
            rows=len(parts) * CHAIN_ROWS, batch=CHAIN_ROWS, seed=SEED
        )
        policies: dict[str, PolicyChoice] = {
            WITHOUT: "fixed",
            CONTROL: "fixed",
            CACHE: {"name": "a_caching", "order": "fixed", "force": ["cached_a_b"], "without": 1e-6},
            OURS: {"name": "a_caching", "order": "fixed"},
        }
        contenders: dict[str, Callable[[Batch], object]] = {
            label: contender(workload.query(), parts[0], policy, None) for label, policy in policies.items()
        }
        contenders["duckdb"] = Duck(workload)
        contenders["polars"] = PolarsJoins(workload, "".join(workload.streams))
        for batch in parts[:CHAIN_WARM]:
            for run in contenders.values():
                run(batch)
        yield from ratios(contenders, parts[CHAIN_WARM:], baseline=WITHOUT, agree=joins.agree, clock=time.process_time)


def _list_domains(count: int, _: object) -> Sequence[int]:
    return CHAIN_DOMAINS[:count]


def cut(workload: Workload, count: int) -> Sequence[Batch]:
    """Cut the rows of all streams into micro-batches of the same time."""
    tables = {name: one_batch(name, table) for name, table in workload.data.items()}
    last = max(int(table["ts"].to_numpy()[-1]) for table in tables.values()) + 1
    edges = np.linspace(0, last, count + 1)
    places = {name: np.searchsorted(table["ts"].to_numpy(), edges) for name, table in tables.items()}
    return [
        {name: table.slice(places[name][n], places[name][n + 1] - places[name][n]) for name, table in tables.items()}
        for n in range(count)
    ]


def contender(query: Query, first: Batch, policy: PolicyChoice, memory: int | None) -> Callable[[Batch], pa.Table]:
    """Build what runs an engine with some memory for caches."""
    return run_whole(make_engine(query, first, policy, memory))


def make_engine(
    query: Query, first: Batch, policy: PolicyChoice, memory: int | None, *, cache_state: str = "forget"
) -> Engine:
    """Build an engine, for rows as in a first micro-batch."""
    schemas = {name: part.schema for name, part in first.items()}
    return wiring.engine(
        query,
        schemas,
        policy,
        tables={},
        seed=0,
        cache_memory=memory,
        cache_state=cache_state,
        **make_clocks(),
    )


BENCHMARKS = (pairs, five, twenty, hundred, scans, updates, strangers, shares, restarts, beside)
