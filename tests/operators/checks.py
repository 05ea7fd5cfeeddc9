"""What every operator must do; each check is crossed with every registered operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eddy import sql
from eddy.contracts import Operator, Outcome
from eddy.lineage import Lineage, Rule
from eddy.sql import Column
from eddy.tuples import Tuples
from eddy.window import Range
from operators.conditions import conditions
from operators.filter import Filter
from operators.passing import Passing
from operators.probe import Probe
from operators.stem import Stem


@dataclass(frozen=True)
class Sample:
    """An operator, and tuples that it can act on."""

    operator: Operator
    tuples: Tuples


def a_filter() -> Sample:
    """Passes every third row."""
    rows = pa.record_batch({"v": pa.array(range(100))})
    stem = Passing(rows.schema)
    ids = stem.append(rows, np.arange(100), np.arange(100))
    column = Column("a", "v")
    operator = Filter("thirds", ["a"], lambda found, _: found[column].to_numpy() % 3 == 0, [column], {"a": stem.take})
    return Sample(operator, Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": ids}))


def a_probe() -> Sample:
    """Joins every row with those of another stream that have its key, some of them several and some none."""
    rng = np.random.default_rng(0)
    stems, rows = {}, 100
    for name in "ab":
        table = pa.record_batch({"ts": np.arange(rows), "k": rng.integers(0, 40, rows)})
        stems[name] = Stem(table.schema, time="ts", window=Range(50))
        stems[name].append(table, np.arange(rows), np.arange(rows) * 2 + (name == "b"))
    types = {Column(name, column): pa.int64() for name in stems for column in ("ts", "k")}
    joins = conditions([sql.parse("a.k = b.k", where="here")], types, stems)
    probe = Probe("b", stems, joins, Rule(near=frozenset([frozenset("a")]), gives="b"), max_fanout=None)
    return Sample(probe, Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": np.arange(rows)}))


SAMPLES: Mapping[str, Callable[[], Sample]] = {
    "filter": a_filter,
    "probe": a_probe,
}
"""One for each registered operator; a test fails for one that has none."""


def check_input_is_left_alone(sample: Sample) -> None:
    """The tuples that were handed in are as they were."""
    before = {name: ids.copy() for name, ids in sample.tuples.ids.items()}
    sample.operator.run(sample.tuples)
    assert all((sample.tuples.ids[name] == ids).all() for name, ids in before.items())


def check_counts_say_what_came_out(sample: Sample) -> None:
    """Rows in = dropped + survived, row by row."""
    outcome = sample.operator.run(sample.tuples)
    assert len(outcome.counts) == len(sample.tuples)
    assert int(outcome.counts.sum()) == len(outcome.tuples)
    assert outcome.evaluated >= len(outcome.tuples) / max(outcome.counts.max(), 1)


def check_order_is_kept(sample: Sample) -> None:
    """What comes out is in the order of what went in."""
    outcome = sample.operator.run(sample.tuples)
    for name, ids in sample.tuples.ids.items():
        assert (outcome.tuples.ids[name] == np.repeat(ids, outcome.counts.astype(int))).all()


def check_fates_are_independent(sample: Sample) -> None:
    """A tuple's fate is its own, whoever is beside it."""
    whole = sample.operator.run(sample.tuples).counts
    rng = np.random.default_rng(0)
    for _ in range(10):
        rows = np.flatnonzero(rng.random(len(sample.tuples)) < 0.3)
        assert (_run(sample, rows).counts == whole[rows]).all()


def check_nothing_in_nothing_out(sample: Sample) -> None:
    """No tuples are a right input."""
    outcome = _run(sample, np.arange(0))
    assert len(outcome.tuples) == 0
    assert outcome.evaluated == 0


def _run(sample: Sample, rows: np.ndarray) -> Outcome:
    return sample.operator.run(sample.tuples.take(rows))


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
