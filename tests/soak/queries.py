"""Random queries, in process and through Spark: the naive answer, whatever the policy, and wherever it is stopped."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import strategies as st

import eddy
from eddy.engine import Engine
from eddy.policies.registry import POLICIES
from tests import joins, reference
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import cut, frames_of
from tests.eddy.test_joins import NAMES, Found, answered, batches, choice, engine, restarted
from tests.eddy.test_same_answer import Asked, asked
from tests.eddy.test_together import ANY, Play, Restart, stopped
from tests.eddy.test_told_later import LATER, told
from tests.indexes import UNTIL_NOW
from tests.joins import Case
from tests.policies.choices import chosen
from tests.soak.hunt import Hunt
from tests.together import Set

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CELLS = (1, 2, 5)


@dataclass(frozen=True)
class Stopped:
    """A query of joins, and the micro-batches before which it is stopped, each with the policy that goes on."""

    case: Case
    stops: Mapping[int, str]


STOPS = st.dictionaries(st.integers(0, 20), st.sampled_from(NAMES), max_size=3)
CROWDED = joins.cases(crowded=True) | joins.cases(crowded=True, faults=True)
JOINED = st.builds(Stopped, joins.cases(faults=True) | CROWDED | CROWDED, STOPS)
BY_TIME = (joins.cases(by_rows=False, clocks=False) | joins.cases(by_rows=False, clocks=False, crowded=True)).map(cut)
FALLIBLE = joins.cases(by_rows=False, clocks=False, crowded=True, faults=True).map(cut)
BY_ROWS = joins.cases(clocks=False).filter(lambda case: any(s.rows for s in case.streams.values())).map(cut)


def _word(expected: Found) -> str:
    if expected == reference.FAILS:
        return "failing as they should"
    return "with results" if expected else "empty"


def _joined(drawn: Stopped, number: int) -> str:
    """Stop it, go on with another policy, and count what comes out of all of its lives."""
    policy = NAMES[number % len(NAMES)]
    found = answered(restarted(drawn.case, drawn.stops, policy), engine(drawn.case, policy).schema)
    expected = reference.answer(drawn.case.question(), drawn.case.batches())
    assert found == expected, f"policy {policy}: {found - expected} too many, {expected - found} too few"
    if drawn.case.joins:
        former = engine(replace(drawn.case, index=UNTIL_NOW), policy)
        assert answered(_run(former, drawn.case), former.schema) == expected
    return _word(expected)


def _told_later(drawn: Stopped, number: int) -> str:
    """The same where combinations are told at their end, or at ticks."""
    policy = NAMES[number % len(NAMES)]
    running = engine(drawn.case, policy)
    expected = reference.answer(drawn.case.question(), drawn.case.batches())
    for found in (told(_run(running, drawn.case), running), told(restarted(drawn.case, drawn.stops, policy), running)):
        assert found == expected, f"policy {policy}: {found - expected} too many, {expected - found} too few"
    return _word(expected)


def _run(running: Engine, case: Case) -> Iterator[pa.RecordBatch]:
    for batch in batches(case):
        yield from running.run(batch)


def _filtered(drawn: Asked, number: int) -> str:
    policy = chosen(sorted(POLICIES)[number % len(POLICIES)], [f"f{n}" for n in range(len(drawn.conditions))], "a.i")
    return _word(drawn.check(policy))


def _together(drawn: tuple[Set, Mapping[int, Restart]], number: int) -> str:
    """Several queries, that come and go; every other set is stopped everywhere."""
    some, plan = drawn
    play = Play(some, number)
    play.play(plan, everywhere=number % 2 > 0)
    if play.failures:
        return "failing as they should"
    return "with results" if play.results else "empty"


JOINS = Hunt(name="joins", cases=JOINED, check=_joined)
TOLD_LATER = Hunt(name="later", cases=st.builds(Stopped, LATER, STOPS), check=_told_later)
TOGETHER = Hunt(name="together", cases=stopped(ANY), check=_together)
FILTERS = Hunt(name="filters", cases=asked(), check=_filtered)


def _streamed(frame: DataFrame, checkpoint: Path) -> Found:
    """What comes out of Spark, or that it is an error of a predicate that has no answer."""
    from pyspark.errors import StreamingQueryException  # here, so that the other kinds do not need Spark

    try:
        return feeds.answer(frame, checkpoint).rows
    except StreamingQueryException as error:
        if "Everything else lets it pass" not in str(error):
            raise
        return reference.FAILS


def through(spark: SparkSession) -> Hunt[Case]:
    """The same through Spark."""

    def check(case: Case, number: int) -> str:
        cells = None if any(s.rows for s in case.streams.values()) else CELLS[number % len(CELLS)]
        policy = NAMES[number % len(NAMES)]
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            frames = frames_of(spark, case, place / "in")
            chosen = choice(policy, case)
            frame = eddy.attach(case.query(), frames, policy=chosen, index=case.index, cells=cells, pushdown=False)
            found = _streamed(frame, place / "checkpoint")
        expected = reference.answer(case.question(), case.batches())
        assert found == expected, f"policy {policy}: {found - expected} too many, {expected - found} too few"
        return _word(expected)

    return Hunt(name="spark", cases=BY_TIME | BY_TIME | FALLIBLE | BY_ROWS, check=check)
