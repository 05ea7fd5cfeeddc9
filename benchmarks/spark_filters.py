"""Six costly filters in Spark, beside ways to do without us.

Each filter burns 20 microseconds a row. Eight classes of rows, told by `attrC`, fail a filter of their own: the skew
of table 3 of the paper, where operator i passes A of class i. With A = 5 % nearly all is to be gained by an order for
each class, with A = 95 % next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import pandas_udf

import eddy
from benchmarks import feeds
from benchmarks.measure import Goal, Line
from benchmarks.suite import Suite
from benchmarks.turns import WARM, Contender
from eddy.comparison.workload import Workload
from eddy.jobs.experiments.workloads.burn import MaskFunction
from eddy.jobs.experiments.workloads.selectivities import skew
from eddy.jobs.experiments.workloads.spread import CLASSIFIER
from eddy.jobs.experiments.workloads.stream_star import stream_star
from eddy.tuples.arrays import Floats
from eddy.wiring import PolicyChoice

OPERATORS, CLASSES, COST_US = 6, 8, 20
SIZES = (30_000, 100_000)
"""Rows of a micro-batch: the filters' time is a few times the seconds that a micro-batch costs in any case, and then so
much more that these hardly count."""

WARM_ROWS = 4_000
"""Rows of the part that does not count: the policy has learned from them when the rest begins."""

REPEATS = 5
SEED = 1

OURS, CONTROL = "eddy, content", "eddy again (control)"
WHERE, AGAIN, WHERE_AUTO = "where, content", "where again (control)", "where, auto"
AUTO, TOLD, PLAIN = "eddy, auto", "eddy, auto told the column", "eddy, fixed"
CHAINED, SHORT = "chained pandas_udf", "the same, nondeterministic"
STATIC, KNOWS = "best static order, by hand", "best order per class, by hand"

FAR_GOALS: dict[str, Goal] = {CHAINED: ("at least", 4.0), STATIC: ("at least", 1.8), KNOWS: ("at least", 0.8)}
NEAR_GOALS: dict[str, Goal] = {STATIC: ("at least", 0.95)}
"""The time that others must take at least, in times of ours."""

WHERE_SIZES = (2_000, 30_000, 100_000)
WHERE_REPEATS = 4
WHERE_GOALS: Sequence[Mapping[str, Goal]] = [
    {CHAINED: ("at least", chained), STATIC: ("at least", static), KNOWS: ("at least", knows)}
    for chained, static, knows in ((1.8, 1.3, 0.9), (3.6, 2.0, 0.95), (4.2, 2.2, 0.98))
]
"""The same of filters without state, for each size."""

Frames = Iterator[pd.DataFrame]
Step = Callable[[Frames], Frames]


def far(sizes: Sequence[int] = SIZES, repeats: int = REPEATS, warm: int = WARM) -> Iterator[Line]:
    """Classes differ as much as they can."""
    names = (OURS, CONTROL, PLAIN, AUTO, TOLD, CHAINED, SHORT, STATIC, KNOWS)
    yield from _compare(0.05, names, [FAR_GOALS] * len(sizes), (sizes, repeats, warm))


def near(sizes: Sequence[int] = SIZES[-1:], repeats: int = REPEATS, warm: int = WARM) -> Iterator[Line]:
    """Classes hardly differ."""
    yield from _compare(
        0.95, (OURS, CONTROL, PLAIN, AUTO, TOLD, STATIC), [NEAR_GOALS] * len(sizes), (sizes, repeats, warm)
    )


def without_state(sizes: Sequence[int] = WHERE_SIZES, repeats: int = WHERE_REPEATS, warm: int = WARM) -> Iterator[Line]:
    """Classes differ as much as they can, and nothing is kept in a state store."""
    names = (WHERE, AGAIN, WHERE_AUTO, OURS, CHAINED, STATIC, KNOWS)
    yield from _compare(0.05, names, WHERE_GOALS[-len(sizes) :], (sizes, repeats, warm))


def selectivities(share: float) -> Floats:
    """A row for each class: there are more classes than filters, so some have the same."""
    table = skew(OPERATORS, 0, A=share).values
    return np.stack([table[number % OPERATORS] for number in range(CLASSES)])


def best_static(values: Floats) -> list[int]:
    """The one order of filters that calls the fewest, where classes are equally frequent.

    The greedy choice, by what is left of the rows that are still alive.
    """
    alive, order = np.ones(len(values)), list[int]()
    while len(order) < values.shape[1]:
        left = [o for o in range(values.shape[1]) if o not in order]
        order.append(min(left, key=lambda o: float(alive @ values[:, o])))
        alive = alive * values[:, order[-1]]
    return order


def best_per_class(values: Floats) -> list[list[int]]:
    """The best order of each class: the filter first that drops the most of it."""
    return [np.argsort(row, kind="stable").tolist() for row in values]


def _compare(
    share: float, names: Sequence[str], goals: Sequence[Mapping[str, Goal]], counts: tuple[Sequence[int], int, int]
) -> Iterator[Line]:
    sizes, repeats, warm = counts
    values = selectivities(share)
    suite = Suite(warm=WARM_ROWS, sizes=sizes, repeats=repeats, warm_batches=warm, files=feeds.CORES)
    workload = stream_star(OPERATORS, values.tolist(), rows=suite.rows, seed=SEED, cost_us=COST_US)
    yield f"{OPERATORS} filters of {COST_US} microseconds, {CLASSES} classes, A = {share:.0%}"
    with feeds.session() as (spark, place):
        suite.write(place, {"s": workload.data["s"]})
        every = contenders(workload, values, place)
        chosen = {name: every[name] for name in names}
        yield from suite.compare(spark, chosen, place, baseline=names[0], goals=goals, agree=agree)


def contenders(workload: Workload, values: Floats, place: Path) -> dict[str, Contender]:
    """All of them, over the files of the stream."""
    judges = [(str(f.columns[0]), f.function) for f in workload.query.filters if f.columns and f.function]

    def source(spark: SparkSession) -> DataFrame:
        return feeds.stream(spark, place / "s", feeds.CORES)

    def ours(policy: PolicyChoice) -> Contender:
        frame = lambda spark: eddy.attach(workload.query, {"s": source(spark)}, policy=policy, cells=feeds.CORES)  # noqa: E731
        return Contender(frame=frame)

    def without(policy: PolicyChoice) -> Contender:
        return Contender(
            frame=lambda spark: eddy.where(source(spark), *workload.query.filters, policy=policy).select("id")
        )

    def by_hand(step: Step) -> Contender:
        return Contender(frame=lambda spark: source(spark).mapInPandas(step, "id bigint"))

    return {
        WHERE: without("content"),
        AGAIN: without("content"),
        WHERE_AUTO: without("auto"),
        OURS: ours("content"),
        CONTROL: ours("content"),
        PLAIN: ours("fixed"),
        AUTO: ours("auto"),
        TOLD: ours(told_auto(workload.attribute)),
        CHAINED: Contender(frame=lambda spark: chained(source(spark), judges, deterministic=True)),
        SHORT: Contender(frame=lambda spark: chained(source(spark), judges, deterministic=False)),
        STATIC: by_hand(in_order(judges, best_static(values))),
        KNOWS: by_hand(in_order_of_class(judges, best_per_class(values))),
    }


def told_auto(attribute: str | None) -> PolicyChoice:
    """`auto`, told the column that tells classes apart: the query does not read it, so by itself it would not look."""
    return {"name": "auto", "attributes": [attribute]}


def chained(frame: DataFrame, judges: Sequence[tuple[str, MaskFunction]], *, deterministic: bool) -> DataFrame:
    """One filter after the other, in the order in which the query has them."""
    for column, judge in judges:
        step = _udf(judge)
        frame = frame.where((step if deterministic else step.asNondeterministic())(column))
    return frame.select("id")


def _udf(judge: MaskFunction) -> Any:
    def passes(keys: pd.Series) -> pd.Series:
        return pd.Series(judge(keys.to_numpy()))

    # Its stub knows only the spelling that names the kind of function, which Spark itself warns of.
    make: Any = pandas_udf
    return make(passes, "boolean")


def in_order(judges: Sequence[tuple[str, MaskFunction]], order: Sequence[int]) -> Step:
    """Each filter sees what those before it have passed."""

    def step(frames: Frames) -> Frames:
        for frame in frames:
            yield reduce(lambda left, which: _keep(left, *judges[which]), order, frame)[["id"]]

    return step


def in_order_of_class(judges: Sequence[tuple[str, MaskFunction]], orders: Sequence[Sequence[int]]) -> Step:
    """The same, with an order for each class."""

    def step(frames: Frames) -> Frames:
        for frame in frames:
            for number, order in enumerate(orders):
                part = frame[frame[CLASSIFIER] == number]
                yield reduce(lambda left, which: _keep(left, *judges[which]), order, part)[["id"]]

    return step


def _keep(frame: pd.DataFrame, column: str, judge: MaskFunction) -> pd.DataFrame:
    return frame[judge(frame[column].to_numpy())] if len(frame) else frame


def agree(answers: Mapping[str, Any]) -> None:
    """All contenders must pass the same rows."""
    found = {name: sorted(answer.column(0).to_pylist()) for name, answer in answers.items()}
    different = [name for name, rows in found.items() if rows != next(iter(found.values()))]
    if different:
        raise AssertionError(f"the contenders do not agree: {different}")


BENCHMARKS = (far, near, without_state)
