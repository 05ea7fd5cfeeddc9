"""Fair timing: contenders take turns at every micro-batch.

All contenders process the same micro-batches, one after the other and in an order that is drawn anew for each, so that
whatever else the machine is doing hits all of them alike, and none of them always comes after the same other. Before
the clock starts every value of the micro-batch is read once: nobody profits from columns that another has warmed. A
figure is the median over micro-batches of one contender's time divided by the baseline's; a second copy of the
baseline among the contenders shows what is noise.
"""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, TypeVar

import numpy as np
import pyarrow as pa

from eddy.clocks import make_work_clock

Batch = TypeVar("Batch", bound=pa.RecordBatch | Mapping[str, pa.RecordBatch])
Goal = tuple[Literal["at most", "at least"], float]
Agree = Callable[[Mapping[str, Any]], None]
"""Compares the answers to one micro-batch, by contender; raises where they differ."""

Clock = Callable[[], float]
"""Seconds, since some time."""

WARM = 3
"""Micro-batches before the clock counts: the first calls load code and fill caches."""

SEED = 0
"""The seed of the order in which contenders take their turns."""


class Clocks(TypedDict):
    """The clocks of an engine."""

    clock: Clock
    thinking: Clock
    working: Clock


def make_clocks() -> Clocks:
    """Make the clocks that an engine of a user has.

    By the wall alone a policy that thinks would pay for whatever else the machine does meanwhile, and give up classes
    that pay.
    """
    return Clocks(clock=time.perf_counter, thinking=time.thread_time, working=make_work_clock())


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """The time of a contender, in times of the baseline's.

    >>> print(Ratio(name="ours", median=1.5, low=1.25, high=1.75, seconds=3, goal=("at most", 2.0)))
    ours                          1.500  [1.250 .. 1.750]      3.000 s in all  goal at most 2.0: met
    """

    name: str
    median: float
    low: float
    high: float
    seconds: float
    each: float = 0.0
    """Seconds of the median micro-batch."""

    goal: Goal | None = None

    @property
    def met(self) -> bool:
        """Whether the median meets the goal, if there is one."""
        if self.goal is None:
            return True
        side, bound = self.goal
        return self.median <= bound if side == "at most" else self.median >= bound

    def __str__(self) -> str:
        goal = f"  goal {self.goal[0]} {self.goal[1]}: {'met' if self.met else 'missed'}" if self.goal else ""
        middle = f"[{self.low:.3f} .. {self.high:.3f}]"
        return f"{self.name:<28} {self.median:6.3f}  {middle}  {self.seconds:9.3f} s in all{goal}"


Line = str | Ratio
"""A line of a benchmark's output."""


def ratios(
    contenders: Mapping[str, Callable[[Batch], object]],
    batches: Sequence[Batch],
    *,
    baseline: str,
    goals: Mapping[str, Goal] | None = None,
    agree: Agree | None = None,
    seed: int = SEED,
    clock: Clock = time.perf_counter,
) -> list[Ratio]:
    """Time every contender at every micro-batch.

    The interval holds the middle half of the ratios. `clock` may be the process's own, where nobody has threads: other
    processes then take nothing away.
    """
    if len(batches) <= WARM:
        raise ValueError(f"ratios: expected more than {WARM} micro-batches, which only warm up, got {len(batches)}")
    times = times_of(contenders, batches, agree=agree, seed=seed, clock=clock)
    return summary(list(contenders), times[WARM:], baseline=baseline, goals=goals)


def times_of(
    contenders: Mapping[str, Callable[[Batch], object]],
    batches: Sequence[Batch],
    *,
    agree: Agree | None = None,
    seed: int = SEED,
    clock: Clock = time.perf_counter,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Seconds, a row for each micro-batch and a column for every contender.

    `agree` is shown each micro-batch's answers while the clock stands still, so a contender must return a whole
    answer and not an iterator over one.
    """
    names, chance = list(contenders), np.random.default_rng(seed)
    times = np.zeros((len(batches), len(names)))
    for number, batch in enumerate(batches):
        _touch(batch)
        answers: dict[str, object] = {}
        for which in chance.permutation(len(names)):
            times[number, which], answers[names[which]] = _timed(contenders[names[which]], batch, clock)
        if agree is not None:
            agree(answers)
    return times


def summary(
    names: Sequence[str],
    times: np.ndarray[Any, Any],
    *,
    baseline: str,
    goals: Mapping[str, Goal] | None = None,
) -> list[Ratio]:
    """Turn times into ratios to those of the baseline.

    Times have a row for each micro-batch and a column for each contender.
    """
    against = times[:, [names.index(baseline)]]
    low, median, high = np.percentile(times / against, [25, 50, 75], axis=0)
    return [
        Ratio(
            name=name,
            median=float(median[i]),
            low=float(low[i]),
            high=float(high[i]),
            seconds=float(times[:, i].sum()),
            each=float(np.median(times[:, i])),
            goal=(goals or {}).get(name),
        )
        for i, name in enumerate(names)
    ]


def setting(*, rows: int, batch: int, seed: int) -> str:
    """Describe the setting of a run: a benchmark's first line."""
    versions = f"python {platform.python_version()}, numpy {np.__version__}, pyarrow {pa.__version__}"
    return f"{rows:,} rows, micro-batches of {batch:,}, seed {seed}; {versions}, {os.cpu_count()} cores"


def seconds_of(work: Callable[[], object], repeats: int = 5) -> float:
    """Time something undisturbed: the shortest of a few tries."""
    return float(min(_timed(lambda _: work(), None)[0] for _ in range(repeats)))


def _timed(contender: Callable[[Any], object], batch: object, clock: Clock = time.perf_counter) -> tuple[float, object]:
    gc.collect(0)
    started = clock()
    answer = contender(batch)
    return clock() - started, answer


def _touch(batch: pa.RecordBatch | Mapping[str, pa.RecordBatch]) -> None:
    """Read every value once.

    Arrow also makes its column objects and counts nulls when it is first asked.
    """
    for part in batch.values() if isinstance(batch, Mapping) else (batch,):
        every = pa.array(np.arange(part.num_rows))
        for name in part.schema.names:
            column = part.column(name)
            assert column.take(every).null_count == column.null_count
