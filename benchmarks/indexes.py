"""How a join finds its rows: key maps by kind, beside the design until they were there.

Until then a stored stream had one index for each access pattern, cut into segments, and threw away in every micro-batch
what did not fit into its room. That design is a contender: one index for each pattern, parts of one segment, no order
of time.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from benchmarks import joins
from benchmarks.contenders import make_engine, run_whole
from benchmarks.measure import WARM, Line, ratios, setting, summary, times_of
from benchmarks.workloads import BATCH, COMMON, COMPLETE, ROWS, SEED, Batch, Workload, batches
from eddy import wiring
from eddy.engine import Engine
from eddy.jobs.experiments.flights.queries import flights
from eddy.observe.report import Report
from eddy.query.together.queries import LONE
from eddy.wiring import IndexChoice, PolicyChoice

SEPARATE = {"kind": "patterns", "merge": False, "time_order": False}

UNTIL, CONTROL, UNLIMITED = "until now", "until now (control)", "until now, without a limit"
OURS, AGAIN, CHOSEN = "eddy, as it comes", "eddy again (control)", "chosen"

KINDS: Mapping[str, IndexChoice] = {
    UNTIL: SEPARATE,
    CONTROL: SEPARATE,
    UNLIMITED: SEPARATE,
    OURS: None,
    AGAIN: None,
    CHOSEN: "chosen",
    "3 hash": {"kind": "hash", "count": 3},
    "bit-address": "bits",
}
"""Contenders, and what they are told of indexes."""

QUICK = (UNTIL, CONTROL, UNLIMITED, OURS, AGAIN, CHOSEN)
"""The contenders that never look through all rows: the others take minutes where these take seconds."""

CHOSEN_GOAL = 1.03
"""The time of any kind's that `chosen` may take."""

NO_LIMIT = 1 << 40
"""Bytes that are no limit."""

UNIT: PolicyChoice = {"name": "content", "costs": "unit"}

FIVE = Workload(
    name="complete graph of five streams, domains from 50 to 10,000",
    keys={a + b: a + b for a, b in itertools.combinations("abcde", 2)},
    domains=lambda rng: rng.permutation(np.geomspace(50, 10_000, 10).astype(np.int64)).tolist(),
)
PAIR = Workload(name="two streams, one key of 10,000 values", keys={"k": "ab"}, domains=lambda _: [10_000])

TRIED_ROWS = 15_000
"""Rows of a stream on which the best fixed order is found."""

WIDE = 40_000
TABLE_ROWS = 1_000_000
BATCHES = 40

KINDS_ROWS = 14_000
"""Rows of a stream, of which the slow kinds take some seconds each."""

RANKED: Mapping[str, IndexChoice] = {
    UNTIL: SEPARATE,
    "orders only": {"kind": "patterns", "chains": False},
    OURS: None,
    "3 hash": {"kind": "hash", "count": 3},
    "bit-address, 12 bits": {"kind": "bits", "bits": 12},
    "bit-address, 16 bits": {"kind": "bits", "bits": 16},
}
"""Kinds whose prices are held against their times."""

RANKED_ROWS = 8_000

FAR = 1.1
"""How many times as long one kind must take for its price to have to be the higher one."""

Contender = Callable[[Batch], pa.Table]


def four_fixed(rows: int = ROWS) -> Iterator[Line]:
    """A complete graph of four streams, by the best fixed order."""
    yield from _compare(COMPLETE, _best_order(COMPLETE, rows), rows, 0.62)


def four_random(rows: int = ROWS) -> Iterator[Line]:
    """The same, by chance."""
    yield from _compare(COMPLETE, "random", rows, 0.70)


def four_content(rows: int = ROWS) -> Iterator[Line]:
    """The same, by orders that are learned."""
    yield from _compare(COMPLETE, UNIT, rows, 0.70)


def five_fixed(rows: int = ROWS) -> Iterator[Line]:
    """A complete graph of five streams, 15 patterns each, by the best fixed order."""
    yield from _compare(FIVE, _best_order(FIVE, rows), rows, 0.70)


def five_random(rows: int = ROWS) -> Iterator[Line]:
    """The same, by chance."""
    yield from _compare(FIVE, "random", rows, 0.70)


def common(rows: int = ROWS) -> Iterator[Line]:
    """All streams share one key."""
    yield from _compare(COMMON, "fixed", rows, 0.80)


def nothing(rows: int = ROWS) -> Iterator[Line]:
    """Two streams and one key, steady: nothing is to be gained."""
    yield from _compare(PAIR, "fixed", rows, 1.02)


def wide_fixed(rows: int = 2 * WIDE, window: int = WIDE) -> Iterator[Line]:
    """Windows of 40,000 rows, by the best fixed order."""
    workload = _widen(window)
    yield from _compare(workload, _best_order(workload, rows), rows, 0.90)


def wide_random(rows: int = 2 * WIDE, window: int = WIDE) -> Iterator[Line]:
    """The same, by chance."""
    yield from _compare(_widen(window), "random", rows, 0.90)


def _widen(window: int) -> Workload:
    name = f"complete graph, windows of {window:,} rows"
    return Workload(name=name, keys=COMPLETE.keys, domains=COMPLETE.domains, window=window)


def kinds(rows: int = KINDS_ROWS) -> Iterator[Line]:
    """All kinds, those that look through all rows too, on few rows."""
    yield from _compare(COMPLETE, _best_order(COMPLETE, rows), rows, 0.62, tuple(KINDS))


def table(keys: int = TABLE_ROWS, count: int = BATCHES) -> Iterator[Line]:
    """A stream that looks keys up in a large table."""
    rng = np.random.default_rng(SEED)
    stored = pa.RecordBatch.from_pydict({"pk": rng.permutation(keys), "v": np.arange(keys)})
    query = eddy.Query(
        streams=[eddy.Stream("s", time="ts", window=eddy.Range(1_000), delay=0)],
        tables=[eddy.Table("t")],
        joins=["s.fk = t.pk"],
        select=["s.ts", "t.v"],
    )
    rows = {"ts": np.arange(count * BATCH), "fk": rng.integers(0, 2 * keys, count * BATCH)}
    parts = [{"s": batch} for batch in pa.table(rows).combine_chunks().to_batches(max_chunksize=BATCH)]
    schemas = {"s": parts[0]["s"].schema}
    engines = {
        name: wiring.engine(
            query, schemas, "fixed", tables={"t": stored}, clock=time.perf_counter, seed=0, index=KINDS[name]
        )
        for name in (UNTIL, CONTROL, OURS)
    }
    yield f"a table of {keys:,} keys; " + setting(rows=count * BATCH, batch=BATCH, seed=SEED)
    looked: dict[str, float] = dict.fromkeys(engines, 0.0)
    contenders = {name: _count(engine, name, looked) for name, engine in engines.items()}
    yield from ratios(contenders, parts, baseline=UNTIL, goals={OURS: ("at most", 0.5)}, clock=time.process_time)
    for name, candidates in looked.items():
        yield f"{name:<28} {candidates / (count * BATCH):6.2f} candidates a probe"
    each = looked[OURS] / (count * BATCH)
    yield f"goal: at most 1.5 candidates a probe: {'met' if each <= 1.5 else 'missed'}"


def described(months: Sequence[int] = (1, 3), turns: int = 1) -> Iterator[Line]:
    """Flights with their weather, which is far ahead of them: CPU seconds of whole runs."""
    yield "flights, query described, CPU seconds and candidates a departure"
    for many in months:
        workload = flights(query="described", months=many)
        for name in (UNTIL, OURS) * turns:
            started = time.process_time()
            run = eddy.run_local(workload.query, workload.data, policy="fixed", index=KINDS[name], batch_rows=2_000)
            seconds = time.process_time() - started
            looked = run.report.operators()["evaluated"].sum() / workload.tuples
            yield f"{many:>2} months  {name:<28} {seconds:8.2f} s  {looked:9.2f} candidates a row"


def cost(rows: int = ROWS, graphs: Sequence[Workload] = (COMPLETE, FIVE)) -> Iterator[Line]:
    """Rows that are sorted for each that comes, bytes of a row, and the share of tuning.

    With `random` those that look through all rows would take most of the time of all benchmarks.
    """
    head = f"{'sorted a row':>14}{'bytes a row':>14}{'of at most':>14}{'indexing %':>12}{'tuning %':>12}"
    for workload, policy in itertools.product(graphs, ("fixed", "random")):
        yield f"{workload.name}, policy {policy}"
        yield f"{'':<28}" + head
        for name in KINDS if policy == "fixed" else QUICK:
            if name not in (CONTROL, AGAIN):
                yield f"{name:<28}" + "".join(_cells(workload, policy, name, rows))


def _cells(workload: Workload, policy: PolicyChoice, name: str, rows: int) -> Iterator[str]:
    data = workload.data(rows)
    parts = batches(data)
    engine = make_engine(workload, parts[0], policy, KINDS[name])
    if name == UNLIMITED:
        remove_limit(engine)
    counters = []
    for batch in parts:
        _drain(engine, batch)
        counters.append(engine.read_counters())
    report = Report(counters)
    took, streams = report.batches(), report.streams()
    last = streams[streams["batch"] == len(parts) - 1]
    arrow = sum(part.nbytes for part in parts[0].values()) / sum(part.num_rows for part in parts[0].values())
    seconds = took["seconds"].sum()
    yield f"{report.indexes()['sorted_rows'].sum() / took['rows'].sum():14.1f}"
    yield f"{last['nbytes'].sum() / last['stored'].sum():14.1f}{1.5 * arrow + 16:14.1f}"
    yield f"{took['indexing_seconds'].sum() / seconds:12.1%}{took['tuning_seconds'].sum() / seconds:12.2%}"


def ranks(rows: int = RANKED_ROWS, graphs: Sequence[Workload] = (COMPLETE, COMMON)) -> Iterator[Line]:
    """Whether prices put kinds in the order of their times: pairs of kinds that differ by a tenth or more."""
    right, pairs = 0, 0
    for workload, policy in itertools.product(graphs, ("fixed", "random")):
        yield f"{workload.name}, policy {policy}; predicted, in millions of looks, and CPU seconds; {rows:,} rows"
        found = {name: _predict(workload, policy, index, rows) for name, index in RANKED.items()}
        for name, (predicted, seconds) in found.items():
            yield f"{name:<28}{predicted / 1e6:12.2f}{seconds:12.3f}"
        for (one, took), (other, needed) in itertools.combinations(found.values(), 2):
            if max(took, needed) >= FAR * min(took, needed):
                right, pairs = right + ((one < other) == (took < needed)), pairs + 1
    yield f"in the right order: {right} of {pairs} pairs"


def _predict(workload: Workload, policy: PolicyChoice, index: IndexChoice, rows: int) -> tuple[float, float]:
    """Give what searches of a whole run were predicted to take, and what the run took."""
    parts = batches(workload.data(rows))
    engine = make_engine(workload, parts[0], policy, index)
    counters, seconds = [], 0.0
    for batch in parts:
        seconds += _drain(engine, batch)
        counters.append(engine.read_counters())
    return float(Report(counters).indexes()["predicted"].sum()), seconds


def restored(rows: int = ROWS // 2, turns: int = 5, graphs: Sequence[Workload] = (COMPLETE, FIVE)) -> Iterator[Line]:
    """The first micro-batch after a restore, beside the one that the engine would have run."""
    yield "seconds of the first micro-batch after a restore, in times of the same one without"
    for workload, policy in itertools.product(graphs, ("fixed", "random")):
        parts = batches(workload.data(rows))
        for name in (UNTIL, OURS, CHOSEN):
            times = np.array([_restored(workload, policy, parts, KINDS[name]) for _ in range(turns)])
            yield f"{workload.name + ', ' + str(policy):<66}{name:<20}{np.median(times[:, 1] / times[:, 0]):8.2f}"


def _restored(
    workload: Workload, policy: PolicyChoice, parts: Sequence[Batch], index: IndexChoice
) -> tuple[float, float]:
    going = make_engine(workload, parts[0], policy, index)
    for batch in parts[:-1]:
        _drain(going, batch)
    other = make_engine(workload, parts[0], policy, index)
    other.restore(going.snapshot())
    return _drain(going, parts[-1]), _drain(other, parts[-1])


def _best_order(workload: Workload, rows: int) -> PolicyChoice:
    order = joins.best_order(workload, batches(workload.data(min(rows, TRIED_ROWS))))
    return {"name": "fixed", "order": [f"probe_{s}" for s in order]}


def _compare(
    workload: Workload, policy: PolicyChoice, rows: int, goal: float, names: Sequence[str] = QUICK
) -> Iterator[Line]:
    """Compare in CPU seconds: all in times of until now, and what is chosen in times of what comes."""
    parts = batches(workload.data(rows))
    yield f"{workload.name}; policy {policy}; CPU seconds; " + setting(rows=rows, batch=BATCH, seed=SEED)
    contenders = {name: contender(workload, parts[0], policy, name) for name in names}
    # Until its windows are full, a stream's first micro-batches are cheap for all.
    full = max(min(workload.window // BATCH, len(parts) // 2), WARM)
    for batch in parts[:full]:
        for run in contenders.values():
            run(batch)
    times = times_of(contenders, parts[full:], agree=joins.agree, clock=time.process_time)
    yield from summary(names, times, baseline=UNTIL, goals={OURS: ("at most", goal)})
    yield f"in times of {OURS}"
    own = summary(names, times, baseline=OURS, goals={CHOSEN: ("at most", CHOSEN_GOAL)})
    yield from (ratio for ratio in own if ratio.name in (AGAIN, CHOSEN))
    yield "in all: " + ", ".join(
        f"{n} {t:.3f}" for n, t in zip(names, times.sum(axis=0) / times[:, 0].sum(), strict=True)
    )


def contender(workload: Workload, first: Batch, policy: PolicyChoice, name: str) -> Contender:
    """The engine with indexes of one kind."""
    engine = make_engine(workload, first, policy, KINDS[name])
    if name == UNLIMITED:
        remove_limit(engine)
    return run_whole(engine)


def remove_limit(engine: Any) -> None:
    """Let an engine keep all indexes that it has built."""
    # A setting for users would be one too many: nobody should give away memory without a limit.
    for store in engine.lanes[LONE]._streams.values():
        rest = store.catalog.rest
        store.catalog.rest = lambda room, *more, rest=rest: rest(max(room, NO_LIMIT), *more)


def _drain(engine: Engine, batch: Batch) -> float:
    started = time.process_time()
    for _ in engine.run(batch):
        pass
    return time.process_time() - started


def _count(engine: Engine, name: str, looked: dict[str, float]) -> Contender:
    """Run, and add up the candidates that are looked at."""

    def run(batch: Batch) -> pa.Table:
        found = pa.Table.from_batches(engine.run(batch), schema=engine.schema)
        looked[name] += sum(count.evaluated for count in engine.read_counters().operators.values())
        return found

    return run


BENCHMARKS = (
    four_fixed,
    four_random,
    four_content,
    five_fixed,
    five_random,
    common,
    nothing,
    wide_fixed,
    wide_random,
    kinds,
    table,
    described,
    cost,
    ranks,
    restored,
)
