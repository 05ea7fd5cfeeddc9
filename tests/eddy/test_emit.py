"""When an answer tells of a combination: what is refused, and a few answers by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.errors import CheckpointError, QueryError
from eddy.query import fingerprint
from eddy.query.binding import bind
from eddy.spark.layout.planning import plan_layout
from eddy.tuples.arrow import one_batch
from tests import tiny
from tests.policies.checks import steady_clock

ORDERS = eddy.Stream("o", time="at", delay=0, window=eddy.Range(10))
CLICKS = eddy.Stream("c", time="at", delay=0, window=eddy.Rows(1))
SCHEMA = pa.schema({"id": pa.int64(), "at": pa.int64()})


def query(*streams: eddy.Stream, **more: Any) -> eddy.Query:
    joins = ["o.id = c.id"] if len(streams) > 1 else []
    return eddy.Query(**{"streams": streams, "joins": joins, "select": ["o.id"], **more})


def rows(*pairs: tuple[int, int]) -> pa.Table:
    return pa.table({"id": [one for one, _ in pairs], "at": [at for _, at in pairs]}, schema=SCHEMA)


def told(asked: eddy.Query, **data: list[pa.Table]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in eddy.run_local(asked, data).results.to_pylist()]


def test_a_combination_ends_with_its_first_row() -> None:
    asked = query(ORDERS, CLICKS, emit="end")
    # Order 1 meets click 1 at 2 and is there up to 11; click 2 takes the place of click 1 at 9, that of order 3 at 30.
    orders = [rows((1, 1)), rows((2, 9), (2, 12)), rows((3, 30)), rows((9, 99))]
    clicks = [rows((1, 2)), rows((2, 9)), rows((3, 30)), rows((9, 99))]
    assert told(asked, o=orders, c=clicks) == [(1, 9), (2, 19), (2, 22), (3, 40)]


def test_ticks_tell_who_is_there() -> None:
    asked = query(ORDERS, emit=eddy.Every(5))
    assert told(asked, o=[rows((1, 3), (2, 5)), rows((3, 21))]) == [(1, 5), (1, 10), (2, 5), (2, 10), (2, 15)]


def test_the_newest_row_of_each_at_every_tick() -> None:
    newest = eddy.Stream("o", time="at", delay=0, window=eddy.Rows(1, by=["id"]))
    asked = query(newest, emit=eddy.Every(10), select=["o.id", "o.at"])
    found = told(asked, o=[rows((1, 1), (2, 4)), rows((1, 15), (2, 31))])
    assert sorted(found) == [(1, 1, 10), (1, 15, 20), (1, 15, 30), (2, 4, 10), (2, 4, 20), (2, 4, 30)]


def test_rows_of_one_micro_batch_outrun_each_other_by_their_times() -> None:
    last = eddy.Stream("o", time="at", delay=0, window=eddy.Rows(1))
    assert told(query(last, emit="end"), o=[rows((1, 1)), rows((2, 9), (3, 4)), rows((4, 99))]) == [(1, 4), (3, 9)]


def test_a_row_that_comes_late_takes_a_place_when_the_combination_begins() -> None:
    last = eddy.Stream("c", time="at", delay=5, window=eddy.Rows(1))
    slow = eddy.Stream("o", time="at", delay=5, window=eddy.Range(30))
    # Click 1 meets its order at 9; click 2, of time 6, comes after that and takes its place: the combination was never.
    asked = query(slow, last, emit="end")
    orders, clicks = [rows((1, 9)), rows(), rows((9, 99))], [rows((1, 8)), rows((2, 6)), rows((9, 99))]
    assert told(asked, o=orders, c=clicks) == [(1, 9)]
    assert told(query(slow, last, emit=eddy.Every(1)), o=orders, c=clicks) == []


def test_a_row_waits_for_newer_ones_although_nothing_can_meet_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.parts_of(monkeypatch, 1)
    newest = eddy.Stream("c", time="at", delay=0, window=eddy.Rows(1, by=["id"]))
    joins = ["o.id = c.id", "o.at >= c.at", "o.at <= c.at + 2"]
    asked = query(eddy.Stream("o", time="at", delay=0), newest, joins=joins, emit="end")
    # No order can meet click 1 after 3; the next click of its value comes at 50.
    orders, clicks = [rows((1, 2)), rows((7, 40)), rows((7, 60))], [rows((1, 1)), rows((7, 40)), rows((1, 50), (7, 60))]
    assert told(asked, o=orders, c=clicks) == [(1, 50)]


def test_ticks_are_told_once_over_a_restart() -> None:
    asked, found, state = query(ORDERS, emit=eddy.Every(5)), [], None
    for batch in [rows((1, 3)), rows((2, 8)), rows((3, 21))]:
        running = wiring.engine(asked, {"o": SCHEMA}, "fixed", tables={}, clock=steady_clock(), seed=0)
        if state is not None:
            running.restore(state)
        found += [row for part in running.run({"o": one_batch("o", batch)}) for row in part.to_pylist()]
        state = running.snapshot()
    assert [tuple(row.values()) for row in found] == [(1, 5), (1, 10), (2, 10), (2, 15)]


def test_a_lone_stream_with_a_window_of_rows_has_one_cell() -> None:
    bound = bind(query(eddy.Stream("o", time="at", delay=0, window=eddy.Rows(1)), emit="end"), {"o": SCHEMA})
    assert plan_layout(bound, None, default=4).cells == 1
    each = eddy.Stream("o", time="at", delay=0, window=eddy.Rows(1, by=["id"]))
    assert plan_layout(bind(query(each, emit="end"), {"o": SCHEMA}), None, default=4).cells == 1


def test_filters_stay_while_results_wait() -> None:
    parts = [
        fingerprint.of(bind(query(ORDERS, emit="end", filters=filters), {"o": SCHEMA}))
        for filters in ([], [eddy.Filter("late", on="o", where="id > 1")])
    ]
    with pytest.raises(CheckpointError, match='filter "late": the checkpoint has nothing'):
        fingerprint.check(parts[0], parts[1])


def test_names_that_become_one_source_go_on_with_what_waits() -> None:
    names = [eddy.Stream(name, time="at", delay=0, window=eddy.Rows(1, by=["id"])) for name in "oc"]
    apart = query(*names, emit=eddy.Every(5))
    one = query(*(replace(stream, source="s") for stream in names), emit=eddy.Every(5))
    parts = [rows((1, 1), (2, 2), (3, 3)), rows((2, 10)), rows((9, 21))]
    found, state = [], None
    for asked, batch in zip((apart, one, one), parts, strict=True):
        schemas = dict.fromkeys("oc", SCHEMA)
        running = wiring.engine(asked, schemas, "fixed", tables={}, clock=steady_clock(), seed=0)
        if state is not None:
            running.restore(state)
        given = dict.fromkeys("oc" if asked is apart else "s", one_batch("o", batch))
        found += [row for part in running.run(given) for row in part.to_pylist()]
        state = running.snapshot()
    ended = [(row["id"], row["tick"]) for row in found]
    assert sorted(ended) == [
        (1, 5),
        (1, 10),
        (1, 15),
        (1, 20),
        (2, 5),
        (2, 10),
        (2, 15),
        (2, 20),
        *[(3, t) for t in (5, 10, 15, 20)],
    ]


def test_times_are_of_the_kind_of_the_first_stream() -> None:
    moment = pa.timestamp("ms", "Europe/Berlin")
    schemas = {"o": SCHEMA.set(1, pa.field("at", moment))}
    timed = eddy.Stream("o", time="at", delay="1 second", window=eddy.Range("1 second"))
    assert bind(query(timed, emit="end"), schemas).schema.field("left_at").type == pa.timestamp("us", "Europe/Berlin")
    assert bind(query(ORDERS, emit=eddy.Every(5)), {"o": SCHEMA}).schema.field("tick").type == pa.int64()


def test_a_nought_has_no_sign() -> None:
    schema = SCHEMA.set(1, pa.field("at", pa.float64()))
    parts = [pa.table({"id": [1, 2], "at": at}, schema=schema) for at in ([-0.0, -0.0], [50.0, 99.0])]
    asked = query(eddy.Stream("o", time="at", delay=0, window=eddy.Range(0)), emit="end")
    assert str(eddy.run_local(asked, {"o": parts}).results["left_at"].to_pylist()) == "[0.0, 0.0, 50.0]"


def test_results_that_wait_are_counted_and_limited() -> None:
    asked = query(ORDERS, emit="end")
    run = eddy.run_local(asked, {"o": [rows((1, 1), (2, 2)), rows((3, 12)), rows((4, 99))]})
    assert run.report.batches()["held"].tolist() == [2, 2, 1]
    assert run.report.batches()["results"].tolist() == [0, 1, 2]
    limited = query(ORDERS, emit="end", max_state=1_000)
    many = rows(*((n, 1) for n in range(1_000)))
    with pytest.raises(QueryError, match=r"max_state allows 1,000: .*results that wait to be told in 0\.0 MB"):
        told(limited, o=[many])
    assert len(told(query(ORDERS, emit="end", max_results=3), o=[rows(*((n, n) for n in range(5)))])) == 0
    with pytest.raises(QueryError, match="more results than the 7 that max_results allows"):
        told(query(ORDERS, emit=eddy.Every(1), max_results=7), o=[rows((1, 1)), rows((2, 99))])


def test_what_is_selected_belongs_to_a_state_with_results_that_wait() -> None:
    parts = {
        text: fingerprint.of(bind(query(ORDERS, emit=emit, select=[text]), {"o": SCHEMA}))
        for text, emit in (("o.id", "end"), ("o.id AS other", "end"), ("o.at AS id", eddy.Every(3)))
    }
    with pytest.raises(CheckpointError, match=r'select "id": the checkpoint has "o\.id", the query has nothing'):
        fingerprint.check(parts["o.id"], parts["o.id AS other"])
    with pytest.raises(CheckpointError, match='emit: the checkpoint has "end", the query has "every 3"'):
        fingerprint.check(parts["o.id"], parts["o.at AS id"])


ENDLESS = eddy.Stream("o", time="at", delay=0)


@pytest.mark.parametrize(
    ("streams", "more", "said"),
    [
        ([ORDERS], {"emit": "ends"}, 'expected "begin", "end" or Every'),
        ([eddy.Stream("o", time="at")], {"emit": "end"}, 'every stream needs a delay; got none for "o"'),
        ([eddy.Stream("o")], {"emit": "end"}, 'every stream needs an event time; got none for "o"'),
        ([ENDLESS], {"emit": "end"}, "no combination ever ends, since no stream has a window"),
        ([ORDERS], {"emit": "end", "select": ["o.at AS left_at"]}, '"left_at" is in the answer by itself, as its'),
        ([CLICKS], {"select": ["c.id"]}, "has no meaning in a query over one stream"),
    ],
)
def test_what_nobody_could_tell(streams: list[eddy.Stream], more: dict[str, Any], said: str) -> None:
    with pytest.raises(QueryError, match=said):
        query(*streams, **more)


@pytest.mark.parametrize(
    ("every", "said"),
    [
        (eddy.Every("1 second"), "so the length of Every must be a number; got '1 second'"),
        (eddy.Every(0.5), "times are whole numbers, so the length of Every must be one; got 0.5"),
    ],
)
def test_ticks_are_of_the_kind_of_the_times(every: eddy.Every, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        bind(query(ORDERS, emit=every), {"o": SCHEMA})


def test_a_tick_has_a_length() -> None:
    with pytest.raises(QueryError, match="expected a length of more than 0"):
        eddy.Every(0)
    with pytest.raises(QueryError, match="Every: expected a duration"):
        eddy.Every("soon")


def test_too_many_ticks_are_refused() -> None:
    forever = query(ENDLESS, emit=eddy.Every(1))
    with pytest.raises(QueryError, match="take a longer length between two ticks"):
        told(forever, o=[rows((1, 1)), rows((2, 1 << 50))])
