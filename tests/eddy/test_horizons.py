"""Rows leave as soon as no other row can meet them, and never sooner."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import eddy
from eddy.query.binding import bind
from eddy.query.explain.describe import list_aggregates, list_warnings, list_windows
from eddy.query.horizons import find_horizons
from tests import reference

NAMES = "abc"

Bound = tuple[str, str, str, int]
"""One stream's time compares so with another's plus a constant."""

TIMES = range(14)

HOLDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}

SPELLINGS = (
    "{x}.t {op} {y}.t + {c}",
    "{x}.t - {c} {op} {y}.t",
    "{x}.t - {y}.t {op} {c}",
    "{c} + {y}.t {mirrored} {x}.t",
)
MIRRORED = {"<": ">", "<=": ">=", "=": "=", ">=": "<=", ">": "<"}


def spell(bound: Bound, spelling: str) -> str:
    x, op, y, constant = bound
    return spelling.format(x=x, y=y, op=op, mirrored=MIRRORED[op], c=f"({constant})")


def holds(bound: Bound, times: Mapping[str, Any]) -> Any:
    x, op, y, constant = bound
    return HOLDS[op](times[x], times[y] + constant)


@st.composite
def bounds(draw: st.DrawFn) -> list[Bound]:
    pairs = st.sampled_from([(x, y) for x in NAMES for y in NAMES if x != y])
    bound = st.tuples(pairs, st.sampled_from(sorted(HOLDS)), st.integers(-3, 4)).map(
        lambda one: (one[0][0], one[1], one[0][1], one[2])
    )
    return draw(st.lists(bound, min_size=1, max_size=5, unique=True))


def make_query(
    asked: Sequence[Bound],
    windows: Mapping[str, int | None],
    *,
    delays: Mapping[str, int] | None = None,
    spellings: Sequence[str] = SPELLINGS[:1],
    more: Sequence[str] = (),
) -> eddy.Query:
    texts = [spell(bound, spellings[n % len(spellings)]) for n, bound in enumerate(asked)]
    return eddy.Query(
        streams=[
            eddy.Stream(
                name,
                time="t",
                delay=(delays or {}).get(name, 0),
                window=eddy.Unbounded() if (length := windows.get(name)) is None else eddy.Range(length),
            )
            for name in NAMES
        ],
        joins=[*texts, *more],
        cross=True,
    )


WINDOWS = st.fixed_dictionaries({name: st.none() | st.integers(0, 6) for name in NAMES})


def list_possible(asked: Sequence[Bound], windows: Mapping[str, int | None]) -> dict[str, Any]:
    """All times, among a few, that satisfy everything."""
    times = dict(zip(NAMES, map(np.ravel, np.meshgrid(TIMES, TIMES, TIMES)), strict=True))
    newest = np.max([*times.values()], axis=0)
    inside = [newest - times[name] <= span for name, span in windows.items() if span is not None]
    possible = np.all([*inside, *(holds(bound, times) for bound in asked)], axis=0)
    return {name: values[possible] for name, values in times.items()}


@settings(max_examples=150, deadline=None)
@given(asked=bounds(), windows=WINDOWS, spellings=st.permutations(SPELLINGS))
def test_a_horizon_is_the_most_by_which_another_row_can_be_later(
    asked: list[Bound], windows: dict[str, int | None], spellings: list[str]
) -> None:
    possible = list_possible(asked, windows)
    # With few times, some combination must show each bound; with none nothing can be said.
    assume(len(possible["a"]))
    horizons = find_horizons(make_query(asked, windows, spellings=spellings))
    for name in NAMES:
        most = max((times - possible[name]).max() for other, times in possible.items() if other != name)
        if name in horizons:
            assert most <= horizons[name].ticks
            # Constants of at most four along two steps leave room in the fourteen times for the widest bound.
            if horizons[name].ticks < 4:
                assert most == horizons[name].ticks
        else:
            assert most >= 4  # without a bound another row can be as late as one likes


ROWS = st.lists(
    st.fixed_dictionaries(
        {name: st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), max_size=3) for name in NAMES}
    ),
    min_size=1,
    max_size=5,
)


def make_batches(rows: Sequence[Mapping[str, Sequence[tuple[int, int]]]], pace: int) -> list[dict[str, Any]]:
    """Micro-batches of rows whose times go on with the number of the micro-batch."""
    number = iter(range(1_000))
    return [
        {name: [{"t": pace * n + t, "k": k, "id": next(number)} for t, k in batch[name]] for name in NAMES}
        for n, batch in enumerate(rows)
    ]


SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("id", pa.int64())])


def run(query: eddy.Query, batches: Sequence[Mapping[str, Any]], policy: str = "source") -> Any:
    """Run micro-batch by micro-batch, as the rows were put into them."""
    data = {name: [pa.Table.from_pylist(batch[name], SCHEMA) for batch in batches] for name in NAMES}
    return eddy.run_local(query, data, policy=policy)


def answer(query: eddy.Query, asked: Sequence[Bound], batches: Sequence[Mapping[str, Any]]) -> Counter[Any]:
    def satisfies(found: reference.Combination) -> bool:
        times = {n: found[n]["t"] for n in NAMES}
        return found["a"]["k"] == found["b"]["k"] == found["c"]["k"] and all(holds(bound, times) for bound in asked)

    streams = {
        s.name: reference.Source(
            time="t", span=s.window.ticks if isinstance(s.window, eddy.Range) else None, delay=s.delay_ticks
        )
        for s in query.streams
    }
    select = [(n, c) for n in NAMES for c in ("t", "k", "id")]
    return reference.answer(reference.Question(streams=streams, conditions=[satisfies], select=select), batches)


def is_refused(query: eddy.Query) -> bool:
    """Tell whether windows rule a join out."""
    try:
        bind(query, dict.fromkeys(NAMES, SCHEMA))
    except eddy.QueryError as error:
        return "no two rows inside their windows" in str(error)
    return False


KEYED = ("a.k = b.k", "b.k = c.k")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    asked=bounds(),
    windows=WINDOWS,
    rows=ROWS,
    pace=st.integers(0, 5),
    delays=st.fixed_dictionaries({name: st.integers(0, 3) for name in NAMES}),
    spellings=st.permutations(SPELLINGS),
)
def test_rows_that_leave_are_missed_by_no_answer(
    asked: list[Bound],
    windows: dict[str, int | None],
    rows: list[dict[str, Any]],
    pace: int,
    delays: dict[str, int],
    spellings: list[str],
) -> None:
    query = make_query(asked, windows, delays=delays, spellings=spellings, more=KEYED)
    batches = make_batches(rows, pace)
    expected = answer(query, asked, batches)
    if is_refused(query):
        assert not expected
    else:
        assert Counter(tuple(row.values()) for row in run(query, batches).results.to_pylist()) == expected


def test_a_condition_keeps_as_few_rows_as_a_window_by_hand() -> None:
    # Segments are dropped as a whole: enough rows for many of them.
    times = np.arange(40_000)
    table = pa.table({"t": times, "k": times % 50, "id": times})
    kept = {}
    for name, window in (("by hand", 100), ("too wide", 10_000), ("none", None)):
        query = make_query(
            [("a", "<=", "b", 0), ("b", "<=", "a", 100), ("c", "=", "b", 0)],
            dict.fromkeys(NAMES, window),
            more=KEYED,
        )
        report = eddy.run_local(query, dict.fromkeys(NAMES, table), policy="source", batch_rows=500).report
        kept[name] = report.streams().groupby("batch")["stored"].sum().iloc[10:].mean()
    assert kept["none"] == kept["too wide"] <= kept["by hand"]
    assert kept["none"] < 15_000  # of 120,000


def test_contradictions_leave_rows_to_their_windows() -> None:
    asked = [("a", "<", "b", 0), ("b", "<", "c", 0), ("c", "<", "a", 0)]
    assert find_horizons(make_query(asked, {"a": 5})) == {"a": (5, ())}
    assert (
        run(make_query(asked, {"a": 5}, more=KEYED), [{n: [{"t": 1, "k": 1, "id": 1}] for n in NAMES}]).results.num_rows
        == 0
    )


@pytest.mark.parametrize(
    ("join", "ticks"),
    [
        ("o.at = c.at", 0),
        ("c.at BETWEEN o.at - INTERVAL 5 MINUTES AND o.at + INTERVAL 30 SECONDS", 30_000_000),
        ("c.at - o.at <= INTERVAL 1 HOUR", 3_600_000_000),
        ("c.at < o.at + INTERVAL 2 HOURS", 7_200_000_000 - 1),
        ("o.at >= c.at + INTERVAL 5 MINUTES", -300_000_000),
        # Where clocks change, a day may be longer by two hours.
        ("c.at <= o.at + INTERVAL 1 DAY", 26 * 3_600_000_000),
        ("c.at <= o.at OR o.user = c.user", None),
        ("NOT c.at > o.at", None),
        ("hour(c.at) = hour(o.at)", None),
        ("c.sent <= o.at", None),
        ("o.unzoned >= c.at", None),
    ],
)
def test_timestamps(join: str, ticks: int | None) -> None:
    schema = pa.schema(
        [
            ("at", pa.timestamp("us", "UTC")),
            ("sent", pa.timestamp("us", "UTC")),
            ("unzoned", pa.timestamp("us")),
            ("user", pa.int64()),
        ]
    )
    streams = [eddy.Stream(name, time="at", delay="1 minute") for name in ("o", "c")]
    found = bind(eddy.Query(streams=streams, joins=[join], cross=True), {"o": schema, "c": schema}).horizons
    assert (found["o"].ticks if "o" in found else None) == ticks


def test_other_columns_lead_from_time_to_time() -> None:
    schema = pa.schema([("t", pa.int64()), ("s", pa.int64())])
    asked = eddy.Query(
        streams=[eddy.Stream(name, time="t", delay=0) for name in NAMES],
        joins=["b.t <= a.s + 3", "a.s < c.t", "abs(a.t - c.t) <= 10"],
    )
    found = bind(asked, dict.fromkeys(NAMES, schema)).horizons
    assert found["c"] == (10, ("abs(a.t - c.t) <= 10",))
    assert found["a"] == (12, ("abs(a.t - c.t) <= 10", "a.s < c.t", "b.t <= a.s + 3"))
    assert "b" not in found


@pytest.mark.parametrize("narrow", [pa.int32(), pa.float64(), pa.uint8()])
def test_numbers_that_may_overflow_or_be_rounded_bound_nothing(narrow: pa.DataType) -> None:
    streams = [eddy.Stream(name, time="t", delay=0) for name in ("a", "b")]
    schema = pa.schema([("t", narrow)])
    assert not bind(eddy.Query(streams=streams, joins=["b.t <= a.t + 3"]), {"a": schema, "b": schema}).horizons


def test_what_is_told() -> None:
    query = eddy.Query(
        streams=[eddy.Stream(name, time="at", delay="1 minute") for name in ("o", "c")],
        joins=["o.user = c.user", "c.at BETWEEN o.at - INTERVAL 5 MINUTES AND o.at"],
    )
    assert list(list_windows(query))[1::2][:2] == [
        "    a row can be met until the watermark has come to its time: "
        "c.at BETWEEN o.at - INTERVAL 5 MINUTES AND o.at",
        "    a row can be met until the watermark is 5 minutes past its time: "
        "c.at BETWEEN o.at - INTERVAL 5 MINUTES AND o.at",
    ]
    assert list(list_warnings(query)) == []
    assert list(list_aggregates(query))[3:] == ['  o_at            "360 seconds"', '  c_at            "360 seconds"']


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    asked=bounds(),
    windows=st.fixed_dictionaries({name: st.integers(0, 8) for name in NAMES}),
    rows=ROWS,
    pace=st.integers(0, 5),
    delays=st.fixed_dictionaries({name: st.integers(0, 9) for name in NAMES}),
)
def test_aggregates_with_the_told_delays_lose_nothing(
    asked: list[Bound], windows: dict[str, int], rows: list[dict[str, Any]], pace: int, delays: dict[str, int]
) -> None:
    query = make_query(asked, windows, delays=delays, more=KEYED)
    told = [line.split('"')[1].split() for line in list_aggregates(query) if '"' in line]
    millis = [int(length) * (1_000 if unit == "seconds" else 1) for length, unit in told]
    # The promise holds while no row comes later than its own stream's delay says.
    newest = dict.fromkeys(NAMES, -1)
    batches = make_batches(rows, pace)
    for batch in batches:
        for name in NAMES:
            batch[name] = [row for row in batch[name] if row["t"] >= newest[name] - delays[name]]
            newest[name] = max([newest[name], *(row["t"] for row in batch[name])])
    if is_refused(query):
        return
    found = run(query, batches)
    times = [[row[f"{name}_t"] for name in NAMES] for row in found.results.to_pylist()]
    done, seen = 0, -1
    for count in found.report.batches()["results"]:
        part, done = times[done : done + count], done + count
        if seen >= 0:
            assert all(one >= seen - delay for row in part for one, delay in zip(row, millis, strict=True))
        seen = max([seen, *map(max, part)])
