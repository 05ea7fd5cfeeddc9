"""What every operator must do; each check is crossed with every registered operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eddy import sql
from eddy.contracts import Integers, Operator
from eddy.operators.cache.room import DEFAULT_MEMORY, Caches
from eddy.operators.cached import Cached
from eddy.operators.conditions import sort_conditions
from eddy.operators.exists import Exists
from eddy.operators.filter import FilterColumns, FilterOperator
from eddy.operators.matching import MOST_CANDIDATES, Matching
from eddy.operators.meets import Meets
from eddy.operators.passing import Passing
from eddy.operators.probe import Probe
from eddy.operators.shared import SharedRows
from eddy.operators.stem import Stem
from eddy.operators.whole import Whole
from eddy.predicates.faults import Faults
from eddy.predicates.judge import Judge
from eddy.query import Range
from eddy.sql import Column
from eddy.tuples import Lineage, Tuples
from eddy.tuples.lineage import Rule
from eddy.tuples.tuples import Appearance

OPTION = Rule(near=frozenset([frozenset("a")]), lacks="b", optional=True)


@dataclass(frozen=True)
class Sample:
    """An operator, and tuples that it can act on."""

    operator: Operator
    tuples: Tuples


def _judge(column: Column) -> Judge:
    return Judge("thirds", lambda found, _: found[column].arrow().to_numpy() % 3 == 0, Faults(), on_error="fail")


def a_filter() -> Sample:
    """Passes every third row."""
    rows = pa.record_batch({"v": pa.array(range(100))})
    stem = Passing(rows.schema)
    ids = stem.append(rows, np.arange(100), [Appearance(np.arange(100))])
    column = Column("a", "v")
    operator = FilterOperator("thirds", _judge(column), FilterColumns("a", {column: stem.column("v")}, {}))
    return Sample(operator, Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": ids}))


def a_filter_with_a_memory() -> Sample:
    """Has judged some rows before, and meets each of them in several tuples."""
    rows = pa.record_batch({"v": pa.array(range(30))})
    stem = Stem(SharedRows(rows.schema), filters=["thirds"])
    ids = stem.rows.append(rows, np.zeros(30, np.int64), [Appearance(np.arange(30))])
    column = Column("a", "v")
    operator = FilterOperator("thirds", _judge(column), FilterColumns("a", {column: stem.column("v")}, {}), memory=stem)
    operator.run(Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": ids[:10]}))
    met = np.random.default_rng(0).integers(0, 30, 100)
    return Sample(operator, Tuples(Lineage("b", frozenset("ab"), frozenset()), {"a": met, "b": np.arange(100)}))


def a_probe() -> Sample:
    """Joins every row with those of another stream that have its key, some of them several and some none."""
    matching, tuples = _streams()
    return Sample(Probe(matching, Rule(near=frozenset([frozenset("a")]), gives=frozenset("b"))), tuples)


def a_meets_by_what_is_near() -> Sample:
    """Passes the rows that have candidates in another stream."""
    matching, tuples = _streams()
    return Sample(Meets(matching, OPTION, "near"), tuples)


def a_meets_that_verifies() -> Sample:
    """Passes the rows that have a match in another stream."""
    matching, tuples = _streams()
    return Sample(Meets(matching, OPTION, "verified"), tuples)


def a_semi_join() -> Sample:
    """Passes the rows that have a match in a table."""
    matching, tuples = _streams()
    return Sample(Exists("semi_b", matching, Rule(needs=frozenset("a")), keeps=True), tuples)


def an_anti_join() -> Sample:
    """Passes the others."""
    matching, tuples = _streams()
    return Sample(Exists("anti_b", matching, Rule(needs=frozenset("a")), keeps=False), tuples)


def a_semi_join_with_a_crowd() -> Sample:
    """Looks at more candidates than fit in one go, and acts on all of its tuples."""
    matching, tuples = _crowd()
    return Sample(Exists("semi_b", matching, Rule(needs=frozenset("a")), keeps=True), tuples)


def _streams() -> tuple[Matching, Tuples]:
    """Two streams with keys in common, and the rows of one."""
    rng = np.random.default_rng(0)
    stems, rows = {}, 100
    for name in "ab":
        table = pa.record_batch({"ts": np.arange(rows), "k": rng.integers(0, 40, rows)})
        stems[name] = Stem(SharedRows(table.schema, time="ts"), window=Range(50))
        stems[name].rows.append(table, np.arange(rows), [Appearance(np.arange(rows) * 2 + (name == "b"))])
    types = {Column(name, column): pa.int64() for name in stems for column in ("ts", "k")}
    joins = sort_conditions([sql.parse("a.k = b.k", where="here")], types, stems, Faults())
    tuples = Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": np.arange(rows)})
    return Matching("b", stems, joins), tuples


def a_probe_of_a_crowd() -> Sample:
    """Acts on the first of its tuples only: each has more candidates than half of what is looked at in one go."""
    matching, tuples = _crowd()
    return Sample(Probe(matching, Rule(near=frozenset([frozenset("a")]), gives=frozenset("b"))), tuples)


def a_meets_of_a_crowd() -> Sample:
    """Verifies as much, and acts on all of its tuples."""
    matching, tuples = _crowd()
    return Sample(Meets(matching, OPTION, "verified"), tuples)


def _crowd() -> tuple[Matching, Tuples]:
    few, rows = 5, 2 * MOST_CANDIDATES // 3
    stems = {name: Stem(SharedRows(pa.schema([("k", pa.int64())]))) for name in "ab"}
    for name, keys in (("a", np.arange(few)), ("b", np.arange(rows) % 3)):
        ticks, seen = np.zeros(len(keys), np.int64), [Appearance(np.arange(len(keys)))]
        stems[name].rows.append(pa.record_batch({"k": keys}), ticks, seen)
    stems["b"].rows.settle(None)
    types = {Column(s, "k"): pa.int64() for s in "ab"}
    joins = sort_conditions([sql.parse("a.k >= b.k", where="here")], types, stems, Faults())
    return Matching("b", stems, joins), Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": np.arange(few)})


def a_cached_part() -> Sample:
    """Joins every row with pairs of two other streams that have its key, some of them several and some none."""
    return _cached(np.random.default_rng(0).integers(0, 40, 100))


def a_cached_part_with_a_hot_key() -> Sample:
    """Refuses the rows whose key has too many candidates."""
    return _cached(np.where(np.arange(600) < 500, 7, np.arange(600)))


def a_part_that_is_kept_whole() -> Sample:
    """Joins every row with the pairs of two other streams that have its key, all of which are there."""
    return _cached(np.random.default_rng(0).integers(0, 40, 100), Whole, DEFAULT_MEMORY)


def _cached(keys: Integers, kind: type[Cached] = Cached, memory: int = 0) -> Sample:
    """Three streams with one key; a row of the first finds those of the others that came before it."""
    stems, rows = {}, len(keys)
    for number, name in enumerate("abc"):
        table = pa.record_batch({"ts": np.arange(rows), "k": np.roll(keys, number * 3)})
        stems[name] = Stem(SharedRows(table.schema, time="ts"), window=Range(50))
        stems[name].rows.append(table, np.arange(rows), [Appearance(np.arange(rows) * 3 + (2 - number))])
    types = {Column(name, column): pa.int64() for name in stems for column in ("ts", "k")}
    predicates = [sql.parse(text, where="here") for text in ("a.k = b.k", "b.k = c.k")]
    rule = Rule(
        near=frozenset([frozenset("a")]), gives=frozenset("bc"), does=frozenset({"probe_b", "probe_c"}), optional=True
    )
    joins = sort_conditions(predicates, types, stems, Faults())
    tuples = Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": np.arange(rows)})
    return Sample(kind(frozenset("bc"), stems, joins, rule, Caches(memory)), tuples)


SAMPLES: Mapping[str, Sequence[Callable[[], Sample]]] = {
    "filter": (a_filter, a_filter_with_a_memory),
    "probe": (a_probe, a_probe_of_a_crowd),
    "exists": (a_semi_join, an_anti_join, a_semi_join_with_a_crowd),
    "meets": (a_meets_by_what_is_near, a_meets_that_verifies, a_meets_of_a_crowd),
    "cached": (a_cached_part, a_cached_part_with_a_hot_key),
    "whole": (a_part_that_is_kept_whole,),
}
"""Some for each registered operator; a test fails for one that has none."""


def check_input_is_left_alone(sample: Sample) -> None:
    """The tuples that were handed in are as they were."""
    before = {name: ids.copy() for name, ids in sample.tuples.ids.items()}
    sample.operator.run(sample.tuples)
    assert all((sample.tuples.ids[name] == ids).all() for name, ids in before.items())


def check_counts_say_what_came_out(sample: Sample) -> None:
    """Rows in = dropped + survived, row by row, for those that were acted on."""
    outcome = sample.operator.run(sample.tuples)
    assert 0 < len(outcome.counts) <= len(sample.tuples)
    assert int(outcome.counts.sum()) == len(outcome.tuples)


def check_order_is_kept(sample: Sample) -> None:
    """What comes out is in the order of what went in."""
    outcome = sample.operator.run(sample.tuples)
    for name, ids in sample.tuples.ids.items():
        acted_on = ids[: len(outcome.counts)]
        assert (outcome.tuples.ids[name] == np.repeat(acted_on, outcome.counts.astype(int))).all()


def check_the_rest_has_its_turn(sample: Sample) -> None:
    """Called again with the rest, it gets to the end, and everybody's fate is as if they had come alone."""
    counts, sizes = _run_all(sample.operator, sample.tuples)
    alone = [_run_all(sample.operator, sample.tuples.take(np.array([row])))[0] for row in range(len(sample.tuples))]
    assert counts == [one[0] for one in alone]
    assert max(sizes) < 2 * MOST_CANDIDATES


def check_fates_are_independent(sample: Sample) -> None:
    """A tuple's fate is its own, whoever is beside it."""
    whole = np.array(_run_all(sample.operator, sample.tuples)[0])
    rng = np.random.default_rng(0)
    for _ in range(10):
        rows = np.flatnonzero(rng.random(len(sample.tuples)) < 0.3)
        assert _run_all(sample.operator, sample.tuples.take(rows))[0] == whole[rows].tolist()


def check_nothing_in_nothing_out(sample: Sample) -> None:
    """No tuples are a right input."""
    outcome = sample.operator.run(sample.tuples.take(np.arange(0)))
    assert len(outcome.tuples) == len(outcome.counts) == 0
    assert outcome.evaluated == 0


def _run_all(operator: Operator, tuples: Tuples) -> tuple[list[int], list[int]]:
    """How many came out of each tuple, and how many of each call."""
    counts: list[int] = []
    sizes = [0]
    while len(counts) < len(tuples):
        outcome = operator.run(tuples.rest(len(counts)))
        counts += outcome.counts.tolist()
        sizes.append(len(outcome.tuples))
    return counts, sizes


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
