"""`auto` in a hurry: worlds in which it does all that it may do, on a few rows.

Operators look dear and thinking cheap, samples, duels and waits are short, and everything may be spent. Arms are those
that are registered, and some of our own, which check what they are told.
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from eddy import wiring
from eddy.contracts import (
    Attribute,
    Buckets,
    Classes,
    Features,
    Hop,
    Leg,
    Lineage,
    Observation,
    Operator,
    Outcome,
    Policy,
    Setting,
    State,
    Task,
)
from eddy.engine import Engine, rounds
from eddy.operators.registry import OPERATORS
from eddy.policies import auto
from eddy.policies.auto.policy import Auto
from eddy.predicates.judge import Judged
from eddy.tuples import Tuples
from eddy.tuples.arrays import RowIds
from eddy.tuples.arrow import one_batch
from eddy.tuples.lineage import Rule
from tests.filters import filters, waits
from tests.joins import INTEGER, Case, graphs
from tests.policies.wild import Wild
from tests.reference import Source

SMALL = {
    "SAMPLE_ROWS": 4,
    "FIRST_LOOK": 1,
    "LATEST_LOOK": 4,
    "FIRST_WAIT": 4,
    "FEWEST_CHALLENGED": 1,
    "CONTROL_BURST": 1,
    "LEAST_ROWS": 1,
    "LEAST_TURNS": 1,
    "LEAST_CASES": 1,
    "MOST_ROWS": 12,
    "MOST_TURNS": 4,
    "USUAL_THINKING": 0.0,
    "USUAL_WAKING": 0.0,
    "USUAL_SCREENING": 0.0,
    "LEAST_GAIN": -0.5,
    "SURE": -0.5,
    "QUIET_AFTER_ROWS": 6,
    "QUIET_AFTER_TURNS": 1,
    "ROUNDS_BETWEEN_CALLS": 2,
    "MOST_STARVED": 2,
    "LEAST_PAIRED": 1,
    "ROWS_OF_A_ROUND": 1,
    "SHORTEST_WAIT": 2,
    "FEW_GLANCED": 4,
    "LEAST_GLANCED": -0.5,
}
"""What is otherwise made for thousands of rows."""

TICK = 2.0**-30
"""Seconds that pass whenever somebody looks at the clock."""


@contextmanager
def hurry() -> Iterator[None]:
    """Make `auto` eager, and rounds small."""
    names = [module.name for module in pkgutil.iter_modules(auto.__path__)]
    modules = [importlib.import_module(f"{auto.__name__}.{name}") for name in names]
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in SMALL.items():
            having = [module for module in modules if hasattr(module, constant)]
            assert having, f"no module of auto has {constant} any more"
            for module in having:
                patch.setattr(module, constant, value)
        for constant, value in {"FIRST_ROUND": 5, "LARGEST_ROUND": 9, "CALLS_SHARE": 1.0}.items():
            patch.setattr(rounds, constant, value)
        yield


@dataclass
class Time:
    """Seconds that pass while operators act, and as they are told to when somebody looks."""

    ticks: Sequence[float] = (TICK,)
    now: float = 0.0

    def __post_init__(self) -> None:
        self._next = cycle(self.ticks)

    def __call__(self) -> float:
        self.now += next(self._next)
        return self.now


@dataclass
class Dear:
    """An operator that takes time for each row; how much follows from its name."""

    operator: Operator
    time: Time

    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def rule(self) -> Rule:
        return self.operator.rule

    def pattern(self, lineage: Lineage) -> str:
        return self.operator.pattern(lineage)

    def reads(self, lineage: Lineage) -> frozenset[str]:
        return self.operator.reads(lineage)

    def run(self, tuples: Tuples) -> Outcome:
        outcome = self.operator.run(tuples)
        self.time.now += (outcome.evaluated + len(outcome.counts)) * seconds(self.name)
        return outcome

    def sift(self, ids: RowIds) -> Judged:
        operator: Any = self.operator
        judged: Judged = operator.sift(ids)
        self.time.now += 2 * len(ids) * seconds(self.name)
        return judged


def seconds(operator: str) -> float:
    """What an operator takes for a row; a number that floats add up exactly."""
    return 2.0 ** -(zlib.crc32(operator.encode()) % 8)


def build(query: Any, schemas: Any, policy: Any, time: Time, tables: Any = None) -> Engine:
    """An engine whose operators take time."""
    with pytest.MonkeyPatch.context() as patch:
        for kind, make in list(OPERATORS.items()):
            patch.setitem(OPERATORS, kind, _made_dear(make, time))
        return wiring.engine(query, schemas, policy, tables=tables or {}, clock=time, seed=0)


def _made_dear(make: Callable[..., Operator], time: Time) -> Callable[..., Operator]:
    return lambda *given: Dear(make(*given), time)


def engine(case: Case, policy: Any, time: Time) -> Engine:
    """An engine for a random join."""
    tables = {name: one_batch(name, table) for name, table in case.data().items() if name in case.tables}
    return build(case.query(), {name: case.schema(name) for name in case.streams}, policy, time, tables)


class Picky(Policy):
    """An arm of somebody else's, which goes by attributes of its own, and checks what it is told.

    It is told of the legs that it has planned and of no others, each with rows that it had: its tags say which bucket
    these have. Now and then it plans but one step, and is asked again.
    """

    def __init__(self, setting: Setting) -> None:
        # The last columns first, which is not how anybody else would number them. Ranges of numbers move as rows come,
        # and a row's bucket with them.
        known = [column for column in setting.columns if column.name not in ("ts", "at", "x", "f")]
        self.features = Features(attributes=tuple(map(Attribute, known[::-2])))
        self.plans = self.lessons = 0
        self._streams: set[str] = set()

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        assert task.rows
        if not task.lineage.done:
            self._streams.add(task.lineage.origin)
        # Whoever has seen none of a stream's rows in this round cannot plan for the rest of another's way.
        assert task.lineage.origin in self._streams
        self.plans += 1
        looked = task.buckets()
        assert looked.shape == (task.rows, len(self.features.of(task.lineage.origin)))
        if not looked.shape[1]:
            return [Leg(route=ready[-1:], tag=("picky", None))]
        return [self._leg(task, ready, looked[:, -1], int(bucket)) for bucket in np.unique(looked[:, -1])]

    def _leg(self, task: Task, ready: tuple[Hop, ...], buckets: Buckets, bucket: int) -> Leg:
        rows = np.flatnonzero(buckets == bucket)
        route: list[Hop] = []
        while ready and (not route or task.chance().random() < 0.8):
            route.append(ready[(bucket + len(route)) % len(ready)])
            ready = task.after(route)
        last = len(self.features.of(task.lineage.origin)) - 1
        classes = Classes([last], [((bucket,), len(rows))])
        return Leg(route=tuple(route), rows=rows, classes=classes, tag=("picky", bucket))

    def observe(self, observation: Observation) -> None:
        looked, ends = observation.buckets(), np.cumsum([0, *observation.rows])
        assert looked.shape == (ends[-1], len(self.features.of(observation.origin)))
        assert all(len(outcomes) == ends[-1] for outcomes in observation.outcomes)
        for leg, first, last in zip(observation.legs, ends, ends[1:], strict=False):
            if leg.exhaustive:
                assert leg.tag is None  # a sample that somebody else has drawn
                continue
            assert isinstance(leg.tag, tuple)
            name, bucket = leg.tag
            assert name == "picky"
            assert bucket is None or (looked[first:last, -1] == bucket).all()

    def learn(self) -> None:
        self.lessons += 1
        self._streams.clear()

    @property
    def is_calm(self) -> bool:
        return False

    def snapshot(self) -> State:
        return {"counts": np.array([self.plans, self.lessons])}

    def restore(self, state: State) -> None:
        self.plans, self.lessons = map(int, state["counts"])


OURS: Mapping[str, Callable[[Setting], Policy]] = {"picky": Picky, "wild": Wild}
"""Arms that are not registered."""


@dataclass(frozen=True)
class Hasty:
    """A choice of `auto`: with arms by name, those of ours too, and everything allowed."""

    arms: Sequence[str | Mapping[str, Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, setting: Setting) -> Policy:
        own = replace(setting, make=lambda choice, offered: self._make(setting, choice, offered))
        return Auto(own, arms=self.arms, **{"regret": 1.0, "control": 0.1, **self.parameters})

    def _make(self, setting: Setting, choice: Any, offered: Mapping[str, Any]) -> Policy:
        return OURS[choice](setting) if isinstance(choice, str) and choice in OURS else setting.make(choice, offered)


ARMS: tuple[Sequence[str | Mapping[str, Any]], ...] = (
    ["source", "content", "query_mesh"],
    ["picky"],
    ["wild", "picky"],
    ["lottery"],
    ["random", "source"],
    ["content", "lottery", "picky"],
    [{"name": "query_mesh", "S": 20, "T": 5}, "wild"],
)

CHOICES = st.builds(Hasty, st.sampled_from(ARMS), st.sampled_from([{}, {}, {"costs": "unit"}, {"attributes": []}]))
"""Choices of `auto`: what costs what it costs by the clock, or every call the same."""

VALUES: Mapping[str, Sequence[Any]] = {
    "k": [0, 1, 2, 3, 4, None],
    "x": [0, 1, 2, 2**53, None],
    "f": [0.0, 1.0, None],
    "s": ["", "a", "b", None],
}
"""Values of the columns that a random row has, besides its time."""


@st.composite
def long_cases(draw: st.DrawFn) -> Case:
    """Streams of many rows, with filters enough that their order matters."""
    streams = draw(st.sampled_from(["a", "a", "ab"]))
    tables = draw(st.sampled_from(["", "", "t"]))
    names = [*streams, *tables]
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = {name: int(chance.integers(30, 60 if len(names) > 1 else 150)) for name in streams} | dict.fromkeys(
        tables, 6
    )
    found = draw(st.lists(filters(list(streams), faults=False), min_size=2, max_size=4))
    return Case(
        streams={name: Source(time="ts", span=draw(st.sampled_from([3, 9])), delay=0) for name in streams},
        clocks=dict.fromkeys(streams, INTEGER),
        tables=list(tables),
        rows={name: _rows(count, chance) for name, count in sizes.items()},
        joins=draw(graphs(names, faults=False, more=0)),
        filters=found,
        batch_rows=draw(st.sampled_from([1, 4, 13, 60])),
        after=draw(waits(len(found))),
    )


def _rows(count: int, chance: np.random.Generator) -> list[dict[str, Any]]:
    return [
        {"ts": n // 3, **{name: some[int(chance.integers(len(some)))] for name, some in VALUES.items()}}
        for n in range(count)
    ]
