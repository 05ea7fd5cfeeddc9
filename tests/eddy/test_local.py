"""run_local: what goes in, what comes out, and what cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy

TABLE = pa.table({"ts": range(10), "v": range(10), "w": [None, "x"] * 5})
SMALL = eddy.Filter("small", on="a", where="v < 5")
PRESENT = eddy.Filter("present", on="a", where="w is not null")


def query(*filters: eddy.Filter, **changes: Any) -> eddy.Query:
    return eddy.Query(**{"streams": [eddy.Stream("a", time="ts")], "filters": filters, **changes})


def run(*filters: eddy.Filter, data: Any = TABLE, **options: Any) -> eddy.Run:
    return eddy.run_local(query(*filters), {"a": data}, **options)


SHAPES: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "frame": TABLE.to_pandas,
    "chunked": lambda: pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3)]),
    "tables": lambda: [TABLE.slice(0, 3), TABLE.slice(3)],
    "generator": lambda: (part for part in [TABLE.slice(0, 3), TABLE.slice(3)]),
    "frames": lambda: [TABLE.to_pandas()],
    "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=2)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
def test_data_may_come_in_many_shapes(shape: str, batch_rows: int) -> None:
    found = run(SMALL, PRESENT, data=SHAPES[shape](), batch_rows=batch_rows)
    assert found.results.to_pydict() == {"a_ts": [1, 3], "a_v": [1, 3], "a_w": ["x", "x"]}


def test_selected_columns() -> None:
    asked = query(SMALL, select=["a.w AS word", "a.v"])
    found = eddy.run_local(asked, {"a": TABLE.slice(0, 2)})
    assert found.results.to_pydict() == {"word": [None, "x"], "v": [0, 1]}


def test_no_filters_let_everything_through() -> None:
    assert run().results.num_rows == 10


@pytest.mark.parametrize("data", [TABLE.slice(0, 0), [TABLE.slice(0, 0), TABLE, TABLE.slice(0, 0)]])
def test_empty_input_is_a_right_input(data: Any) -> None:
    found = run(SMALL, data=data)
    assert found.results.schema.names == ["a_ts", "a_v", "a_w"]
    assert found.results.num_rows == (5 if isinstance(data, list) else 0)


def test_rows_without_a_time_are_dropped_and_counted() -> None:
    table = pa.table({"ts": [1.0, None, float("nan")], "v": [1, 1, 1], "w": ["x"] * 3})
    found = run(SMALL, data=table)
    assert found.results.num_rows == 1
    assert found.report.batches()["untimed"].tolist() == [2]


def test_filters_alone_need_no_time() -> None:
    """Nothing is late, and what comes out is in the order of the source, micro-batch by micro-batch."""
    table = pa.table({"v": [3, None, 9, 1, 4], "bad": [None, None, None, "x", None]})
    stream = eddy.Stream("a", malformed="bad")
    asked = eddy.Query(streams=[stream], filters=[eddy.Filter("few", on="a", where="v < 5")], select=["a.v"])
    for rows in (1, 2, 5):
        found = eddy.run_local(asked, {"a": table}, batch_rows=rows)
        assert found.results["v"].to_pylist() == [3, 4]
        assert found.report.batches()[["rows", "late", "untimed", "malformed"]].sum().tolist() == [5, 0, 0, 1]
    unfit = eddy.Filter("unfit", on="a", where="1 / (v - 2) < 5")
    first = "the first of 1 such rows .* is row 3 of what came with it; mend it"
    with pytest.raises(eddy.QueryError, match=f"{first}, guard the text, or give the filter on_error"):
        eddy.run_local(query(unfit, streams=[eddy.Stream("a")]), {"a": TABLE})
    raising = eddy.Filter("raising", on="a", function=lambda v: 1 / (v - 2) < 5, columns=["v"], rowwise=True)
    with pytest.raises(eddy.QueryError, match=f"{first}, or give the filter on_error"):
        eddy.run_local(query(raising, streams=[eddy.Stream("a")]), {"a": TABLE})


def test_the_report_counts_rows() -> None:
    found = run(SMALL, PRESENT, batch_rows=4)
    frame = found.report.operators()
    assert frame[["operator", "rows_in", "evaluated", "rows_out"]].to_numpy().tolist() == [
        ["small", 10, 10, 5],
        ["present", 5, 5, 2],
    ]
    batches = found.report.batches()
    assert batches["rows"].tolist() == [4, 4, 2]
    assert batches["results"].tolist() == [2, 0, 0]
    assert batches["routing_calls"].tolist() == [8, 5, 2]
    by_batch = found.report.operators(by_batch=True)
    assert by_batch["batch"].tolist() == [0, 0, 1, 1, 2]


def test_the_report_of_nothing_has_its_columns() -> None:
    report = eddy.Report([])
    assert list(report.operators().columns) == [
        "operator",
        "pattern",
        *["rows_in", "evaluated", "skipped", "reused", "rows_out", "seconds", "rate", "microseconds"],
    ]
    assert len(report.batches()) == 0


def test_a_filter_function_sees_each_row_once() -> None:
    seen: list[int] = []

    def note(v: np.ndarray) -> np.ndarray:
        seen.extend(v.tolist())
        return v >= 0

    run(eddy.Filter("note", on="a", function=note), SMALL, PRESENT, policy="random", batch_rows=3)
    assert len(seen) == len(set(seen)) <= 10


def test_a_given_order() -> None:
    found = run(SMALL, PRESENT, policy={"name": "fixed", "order": ["present"]})
    assert found.report.operators()["operator"].tolist() == ["present", "small"]


OTHER = pa.table({"ts": [1], "v": ["one"], "x": [1]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: run(data=None), 'data "a": expected a pyarrow Table or RecordBatch, .* got NoneType'),
        (lambda: run(data=["x"]), "got str"),
        (lambda: run(data=[]), 'data "a": expected at least one micro-batch'),
        (lambda: run(batch_rows=0), "batch_rows: expected a whole number of 1 or more, got 0"),
        (lambda: eddy.run_local(query(), {"b": TABLE}), 'data: unknown stream or table "b"; known: "a"'),
        (lambda: eddy.run_local(query(), {}), 'expected data for every stream and table, got none for "a"'),
        (
            lambda: run(data=[TABLE, OTHER]),
            'data "a": micro-batch 1 has another schema .* column "v": expected int64, got string; '
            'column "w": expected string, got no such column; column "x": expected no such column, got int64',
        ),
        (lambda: run(data=[TABLE, TABLE.select(["v", "ts", "w"])]), "the columns stand in another order"),
        (lambda: run(data=TABLE.drop_columns("ts")), 'stream "a": time "ts": unknown column "ts"'),
        (lambda: run(data=pa.table({"ts": ["now"]})), "expected a time column that is a timestamp, .* got string"),
        (
            lambda: run(data=pa.Table.from_arrays([pa.array([1])] * 3, names=["ts", "v", "v"])),
            'data "a": column "v" stands twice',
        ),
        (lambda: run(eddy.Filter("f", on="a", where="vv > 1")), 'filter "f": unknown column "vv"; did you mean "v"'),
        (lambda: run(eddy.Filter("f", on="a", where="v + 1")), 'filter "f": expected a condition .* got '),
        (lambda: run(eddy.Filter("f", on="a", where="v and w is null")), 'filter "f"'),
        (lambda: run(eddy.Filter("f", on="a", function=lambda x: x)), 'filter "f": unknown column "x"'),
        (lambda: run(eddy.Filter("f", on="a", function=lambda v: v[1:] > 0)), "one boolean for each of 10 rows, got 9"),
        (lambda: run(policy="fixt"), 'policy: unknown policy "fixt"; did you mean "fixed"'),
        (lambda: run(index="bitts"), 'index: unknown kind "bitts"; did you mean "bits"'),
        (lambda: run(policy={"order": []}), "policy: expected a name"),
        (lambda: run(policy={"name": "fixed", "ordre": []}), 'unknown parameter "ordre"; did you mean "order"'),
        (
            lambda: run(SMALL, policy={"name": "fixed", "order": ["smal"]}),
            'policy "fixed": order: unknown operator "smal"; did you mean "small"',
        ),
        (lambda: run(SMALL, policy={"name": "fixed", "order": ["small", "small"]}), "order names an operator twice"),
        (
            lambda: eddy.run_local(query(select=["a.x"]), {"a": TABLE}),
            'select "a.x": unknown column "x"; known: "ts", "v", "w"',
        ),
        (
            lambda: eddy.run_local(query(streams=[eddy.Stream("a", time="ts", delay="1 second")]), {"a": TABLE}),
            "is a number, so its delay must be a number; got '1 second'",
        ),
        (
            lambda: eddy.run_local(
                query(streams=[eddy.Stream("a", time="ts", window=eddy.Range(5))]),
                {"a": pa.table({"ts": pa.array([0], pa.timestamp("us"))})},
            ),
            'its window must be a duration such as "30 seconds"; got 5',
        ),
    ],
)
def test_bad_input_is_explained(call: Callable[[], object], message: str) -> None:
    with pytest.raises(eddy.QueryError, match=message):
        call()


def test_indexes_of_a_query_that_joins_nothing_are_a_warning() -> None:
    with pytest.warns(eddy.EddyWarning, match='it joins nothing, so there are no indexes; take "index" away'):
        run(index="bits")


def test_nothing_is_reported_before_a_batch_has_ended() -> None:
    from eddy import wiring

    engine = wiring.engine(query(), {"a": TABLE.schema}, "fixed", tables={}, clock=lambda: 0.0, seed=0)
    with pytest.raises(eddy.EngineError, match="no micro-batch has been run to its end"):
        engine.read_counters()
