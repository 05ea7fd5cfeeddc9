"""What asking first finds, and what of it a probe uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from eddy import sql
from eddy.contracts import Lineage, Tuples
from eddy.operators.conditions import sort_conditions
from eddy.operators.index import parts, segments
from eddy.operators.index.catalog import Catalog
from eddy.operators.matching import Matching
from eddy.operators.meets import Meets, Strength
from eddy.operators.probe import Probe
from eddy.operators.shared import SharedRows
from eddy.operators.stem import Stem
from eddy.operators.tuning.settings import IndexSettings
from eddy.predicates.faults import Faults
from eddy.predicates.judge import Judged
from eddy.query import Range, Window
from eddy.sql import Column
from eddy.tuples.lineage import Rule
from eddy.tuples.tuples import Appearance

IN_ORDER = IndexSettings(chains=False)
"""Rows that are put in order, whatever the kernels: what is found along chains is not kept."""

LAYOUTS = [pytest.param(IN_ORDER, id="in order"), pytest.param(None, id="chains")]
"""Those two, as kernels that are compiled follow chains."""


class Pair(NamedTuple):
    """Both phases of a join with b, and its rows."""

    meets: Meets
    probe: Probe
    b: Stem


def pair(
    strength: Strength,
    a: Mapping[str, Sequence[Any]],
    b: Mapping[str, Sequence[Any]],
    *joins: str,
    window: Window | None = None,
    arrivals: tuple[Sequence[int], Sequence[int]] | None = None,
    index: IndexSettings | None = None,
) -> Pair:
    """Two streams with a time `ts`; all of b came before a, if nothing else is said."""
    stems, faults = {}, Faults()
    types: dict[Column, pa.DataType] = {}
    tables = {"a": pa.record_batch(dict(a)), "b": pa.record_batch(dict(b))}
    for name, table in tables.items():
        stems[name] = Stem(SharedRows(table.schema, time="ts"), window=window, filters=["f"], index=index)
        types |= {Column(name, field.name): field.type for field in table.schema}
    conditions = sort_conditions([sql.parse(text, where="here") for text in joins], types, stems, faults)
    came = arrivals or (range(len(b["ts"]), len(b["ts"]) + len(a["ts"])), range(len(b["ts"])))
    for (name, table), numbers in zip(tables.items(), came, strict=True):
        stems[name].rows.append(table, table["ts"].to_numpy(), [Appearance(np.array(numbers))])
    matching, near = Matching("b", stems, conditions), frozenset([frozenset("a")])
    meets = Meets(matching, Rule(near=near, lacks="b", optional=True), strength)
    return Pair(meets, Probe(matching, Rule(near=near, gives=frozenset("b"))), stems["b"])


def arrived(rows: int) -> Tuples:
    return Tuples(Lineage("a", frozenset("a"), frozenset()), {"a": np.arange(rows)})


KEYS: Mapping[str, Sequence[Any]] = {"ts": [10, 20, 30], "k": [1, 2, None]}


@pytest.mark.parametrize("index", LAYOUTS)
@pytest.mark.parametrize(
    ("strength", "joins", "passed"),
    [
        ("near", ["a.k = b.k"], [True, False, False]),
        ("verified", ["a.k = b.k"], [True, False, False]),
        ("near", ["a.k = b.k", "a.ts < b.ts"], [False, False, False]),
        ("verified", ["a.k = b.k", "a.ts < b.ts"], [False, False, False]),
        ("near", ["a.k < b.k"], [True, True, False]),
        ("near", ["abs(a.k - b.k) > 5"], [True, True, True]),
        ("verified", ["abs(a.k - b.k) > 5"], [False, False, False]),
    ],
)
def test_a_tuple_passes_that_may_have_a_match(
    strength: Strength, joins: list[str], passed: list[bool], index: IndexSettings | None
) -> None:
    made = pair(strength, KEYS, {"ts": [0, 0, 0], "k": [1, 1, 3]}, *joins, index=index)
    outcome = made.meets.run(arrived(3))
    assert outcome.counts.tolist() == passed
    assert outcome.tuples.ids["a"].tolist() == np.flatnonzero(passed).tolist()


@pytest.mark.parametrize("strength", ["near", "verified"])
def test_where_a_key_cannot_be_computed_all_pass(strength: Strength) -> None:
    """Whether they match is not known, and that is an error if they come to their end."""
    made = pair(strength, {"ts": [1, 2], "k": [0, 5]}, {"ts": [0, 0], "k": [1, 2]}, "1 / a.k = b.k")
    assert made.meets.run(arrived(2)).counts.tolist() == [True, False]
    joined = made.probe.run(made.meets.run(arrived(2)).tuples)
    assert joined.tuples.faults is not None
    assert joined.tuples.faults.all()


@pytest.mark.parametrize("strength", ["near", "verified"])
def test_faults_of_a_tuple_go_on_with_it(strength: Strength) -> None:
    made = pair(strength, KEYS, {"ts": [0], "k": [2]}, "a.k = b.k")
    faulty = arrived(3).with_faults(np.array([3, 4, 5], np.uint8))
    faults = made.meets.run(faulty).tuples.faults
    assert faults is not None
    assert faults.tolist() == [4]


def test_a_row_that_failed_a_filter_is_no_match() -> None:
    made = pair("verified", KEYS, {"ts": [0, 0], "k": [1, 2]}, "a.k = b.k")
    assert made.meets.run(arrived(3)).counts.tolist() == [True, True, False]
    made.b.verdicts("f", np.array([0]), lambda ids: Judged(np.zeros(len(ids), np.bool_), None), repeated=False)
    assert made.meets.run(arrived(3)).counts.tolist() == [False, True, False]


@pytest.mark.parametrize("index", LAYOUTS)
def test_a_row_is_near_behind_others_that_are_not(index: IndexSettings | None) -> None:
    """The first candidates are out of the window, or came later."""
    a, b = {"ts": [9, 4], "k": [1, 1]}, {"ts": [0, 1, 8, 9], "k": [1, 1, 1, 1]}
    made = pair("near", a, b, "a.k = b.k", window=Range(2), arrivals=([3, 9], [0, 1, 2, 4]), index=index)
    assert made.meets.run(arrived(2)).counts.tolist() == [True, False]
    assert (made.probe.run(arrived(2)).counts > 0).tolist() == [True, False]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tuples each search of an index was for."""
    sizes: list[int] = []

    find = Catalog.find

    def count(self: Catalog, request: Any, *more: Any) -> Any:
        sizes.append(len(request))
        return find(self, request, *more)

    monkeypatch.setattr(Catalog, "find", count)
    return sizes


@pytest.mark.parametrize("strength", ["near", "verified"])
def test_a_probe_of_the_same_rows_does_not_search_again(strength: Strength, searched: list[int]) -> None:
    made = pair(
        strength,
        {"ts": [9] * 6, "k": [3, 1, 2, 1, 7, None]},
        {"ts": [0] * 3, "k": [1, 1, 2]},
        "a.k = b.k",
        index=IN_ORDER,
    )
    passed = made.meets.run(arrived(6)).tuples
    assert passed.ids["a"].tolist() == [1, 2, 3]
    for some in ([0, 1, 2], [2, 0], [1, 1, 0], []):
        outcome, asked = made.probe.run(passed.take(np.array(some, np.int64))), passed.ids["a"].take(some).tolist()
        assert outcome.counts.tolist() == [1 if row == 2 else 2 for row in asked]
        assert outcome.tuples.ids["b"].tolist() == [row for one in asked for row in ([2] if one == 2 else [0, 1])]
    assert searched == [6]
    assert made.probe.run(arrived(6)).counts.tolist() == [0, 2, 1, 2, 0, 0]
    assert searched == [6, 6]


def test_what_was_verified_is_all_that_a_probe_looks_at() -> None:
    made = pair("verified", {"ts": [5], "k": [1]}, {"ts": [1, 9, 2], "k": [1, 1, 1]}, "a.k = b.k", "a.ts <> b.ts - 4")
    assert made.meets.run(arrived(1)).evaluated == 1 + 3
    outcome = made.probe.run(arrived(1))
    assert (outcome.evaluated, outcome.tuples.ids["b"].tolist()) == (2, [0, 2])


@pytest.mark.parametrize("strength", ["near", "verified"])
def test_nothing_is_kept_once_the_rows_have_changed(strength: Strength, searched: list[int]) -> None:
    made = pair(strength, KEYS, {"ts": [0, 0], "k": [1, 2]}, "a.k = b.k", index=IN_ORDER)
    made.meets.run(arrived(3))
    made.b.rows.settle(None)
    made.b.rows.append(pa.record_batch({"ts": [1], "k": [2]}), np.array([1]), [Appearance(np.array([0]))])
    assert made.probe.run(arrived(2)).counts.tolist() == [1, 2]
    assert len(searched) == 2


@pytest.mark.parametrize("index", LAYOUTS)
@pytest.mark.parametrize("strength", ["near", "verified"])
def test_a_match_in_any_segment_is_one(
    strength: Strength, index: IndexSettings | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room, name in ((segments, "SMALLEST_SEALED"), (segments, "FEWEST_SEALED"), (parts, "FEWEST_NARROWED")):
        monkeypatch.setattr(room, name, 1)
    a, b = {"ts": [90] * 4, "k": [1, 2, 3, 4]}, {"ts": [0], "k": [1]}
    made = pair(strength, a, b, "a.k = b.k", arrivals=(range(4), [0]), index=index)
    for key in (2, 3):
        made.b.rows.settle(None)
        made.b.rows.append(pa.record_batch({"ts": [key], "k": [key]}), np.array([key]), [Appearance(np.array([0]))])
    made.b.rows.settle(None)
    assert len(made.b.segments) > 1
    assert made.meets.run(arrived(4)).counts.tolist() == [True, True, True, False]
    assert made.probe.run(arrived(3)).counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("strength", ["near", "verified"])
def test_what_another_row_of_a_tuple_has_a_say_in_is_not_kept(strength: Strength, searched: list[int]) -> None:
    """Two rows of c that joined one of a: what the first may join is not what the second may."""
    stems = {}
    for name, keys in {"a": [1], "b": [1, 2], "c": [1, 2]}.items():
        table = pa.record_batch({"k": keys})
        stems[name] = Stem(SharedRows(table.schema), index=IN_ORDER)
        arrivals = np.arange(len(keys)) + (9 if name == "a" else 0)
        stems[name].rows.append(table, np.zeros(len(keys), np.int64), [Appearance(arrivals)])
    for name in "bc":
        stems[name].rows.settle(None)
    types = {Column(name, "k"): pa.int64() for name in "abc"}
    matching = Matching("b", stems, sort_conditions([sql.parse("c.k = b.k", where="here")], types, stems, Faults()))
    meets, near = Meets(matching, Rule(lacks="b", optional=True), strength), frozenset([frozenset("c")])
    lineage = Lineage("a", frozenset("ac"), frozenset())
    tuples = Tuples(lineage, {"a": np.array([0, 0]), "c": np.array([0, 1])})
    assert meets.run(tuples).counts.tolist() == [True, True]
    found = Probe(matching, Rule(near=near, gives=frozenset("b"))).run(tuples)
    assert found.tuples.ids["b"].tolist() == [0, 1]
    assert searched == [2, 2]
