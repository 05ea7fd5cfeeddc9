"""A query is checked when it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pandas as pd
import pytest

import eddy
from eddy.sql import Column

A = eddy.Stream("a", time="ts")
B = eddy.Stream("b", time="ts")


def needs(one: int) -> None: ...


def wrong(value: object) -> Any:
    """An argument of a type that the checker would not let through."""
    return value


def query(**changes: Any) -> eddy.Query:
    return eddy.Query(**{"streams": [A, B], "joins": ["a.k = b.k"], **changes})


def waiting(**after: Any) -> eddy.Query:
    """A query with filters that wait for others."""
    return query(filters=[eddy.Filter(name, on="a", where="v", after=others) for name, others in after.items()])


def test_a_query_is_a_frozen_value() -> None:
    assert query() == query()
    built: Any = query()
    with pytest.raises(FrozenInstanceError):
        built.name = "other"


def test_lists_become_tuples() -> None:
    built = query(filters=[eddy.Filter("f", on="a", where="v > 1")], select=["a.v"])
    assert (built.streams, built.joins, built.select) == ((A, B), ("a.k = b.k",), ("a.v",))
    assert built.filters[0].on == ("a",)


def test_a_join_is_split_into_its_conditions() -> None:
    assert [p.text for p in query(joins=["a.k = b.k and a.x < b.x"]).predicates] == ["a.k = b.k", "a.x < b.x"]


def test_columns_of_a_filter_get_their_stream() -> None:
    assert eddy.Filter("f", on="a", where="v > 1 and a.w < v").predicate.columns == (Column("a", "v"), Column("a", "w"))


def test_a_function_reads_the_columns_its_parameters_name() -> None:
    def cheap(price: pd.Series, size: pd.Series) -> pd.Series:
        return price / size < 3

    assert eddy.Filter("f", on="a", function=cheap).predicate.columns == (Column("a", "price"), Column("a", "size"))


def test_outputs_are_called_what_their_columns_are_called() -> None:
    assert query(select=["a.id", "b.id AS b_id"]).outputs == ((Column("a", "id"), "id"), (Column("b", "id"), "b_id"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: eddy.Stream("", time="ts"), "stream: expected a name of letters, digits and underscores, got ''"),
        (lambda: eddy.Stream("a b", time="ts"), "got 'a b'"),
        (lambda: eddy.Stream("a", time=""), 'stream "a": expected the name of its event-time column'),
        (lambda: eddy.Stream("a", window=eddy.Range(5)), r'stream "a": window Range\(5\) is by event time; name the'),
        (lambda: eddy.Stream("a", delay="1 second"), 'stream "a": delay 1 second is by event time'),
        (lambda: eddy.Stream("a", max_ahead=3), 'stream "a": max_ahead 3 is by event time'),
        (
            lambda: query(streams=[A, eddy.Stream("b")]),
            'stream "b": expected the name of its event-time column as time',
        ),
        (
            lambda: eddy.Query(streams=[eddy.Stream("b"), eddy.Stream("c")], joins=["b.k = c.k"]),
            "only a stream that is joined with no other goes without",
        ),
        (lambda: eddy.Stream("a", time="ts", window=wrong(30)), r'stream "a": expected a window Range\(...\)'),
        (lambda: eddy.Stream("a", time="ts", delay="soon"), 'stream "a": delay: expected a duration such as'),
        (lambda: eddy.Range("5 months"), 'intervals of "months" are not supported'),
        (lambda: eddy.Range(-1), "or a number of 0 or more, got -1"),
        (lambda: eddy.Range(float("nan")), "got nan"),
        (lambda: eddy.Range(True), "got True"),
        (lambda: eddy.Rows(0), "expected a whole number of 1 or more, got 0"),
        (lambda: eddy.Rows(wrong(1.5)), "got 1.5"),
        (lambda: eddy.Filter("f", on=["a", "b"], where="v > 1"), 'column "v" names no stream'),
        (lambda: eddy.Filter("f", on=[], where="v > 1"), 'filter "f": on: expected one text or more'),
        (lambda: eddy.Query(streams=[]), "expected at least one stream, got none"),
        (lambda: eddy.Query(streams=wrong("a")), r"query: streams: expected a list of Stream\(...\), got 'a'"),
        (lambda: eddy.Query(streams=wrong(["a"])), r"expected Stream\(...\), got 'a'"),
        (lambda: query(cross=wrong("no")), "query: cross: expected True or False, got 'no'"),
        (lambda: query(show_values=wrong("no")), "query: show_values: expected True or False, got 'no'"),
        (lambda: query(streams=[A, A]), 'stream or table "a" stands twice'),
        (lambda: query(tables=[eddy.Table("a")]), 'stream or table "a" stands twice'),
        (
            lambda: query(filters=[eddy.Filter("f", on="c", where="c.v")]),
            'unknown stream or table "c"; known: "a", "b"',
        ),
        (
            lambda: query(filters=[eddy.Filter("f", on="a", where="v"), eddy.Filter("f", on="b", where="v")]),
            'filter "f" stands twice',
        ),
        (lambda: waiting(f="h", big="f"), 'filter "f": after: unknown filter "h"; known: "big"$'),
        (lambda: waiting(f="bigg", big=None), 'unknown filter "bigg"; did you mean "big"[?]'),
        (lambda: waiting(f="a"), 'filter "f": after: unknown other filter "a"; there is no other filter at all'),
        (
            lambda: waiting(f="f", g=None),
            'filter "f": after: expected other filters of the query, got this one; leave it',
        ),
        (
            lambda: waiting(e="f", f=["x", "g"], g="h", h="f", x=None),
            'filter "f": after: expected filters that do not wait for this one, got a circle, '
            '"f" after "g" after "h" after "f"; leave one out',
        ),
        (lambda: query(joins=["a.k = c.k"]), 'join "a.k = c.k": unknown stream or table "c"'),
        (lambda: query(joins=["k = b.k"]), 'column "k" names no stream'),
        (lambda: query(joins=["a.k = 1"]), "a condition on one of them is a filter"),
        (lambda: query(joins=["a.k = b.k", "a.k = b.k"]), "stands twice"),
        (lambda: query(select=["id"]), "names no stream"),
        (lambda: query(select=["c.id"]), 'unknown stream or table "c"'),
        (lambda: query(select=["a.id", "b.id"]), 'output column "id" stands twice'),
        (lambda: query(select=["a.id + 1"]), 'select "a.id [+] 1"'),
        (lambda: query(select=[]), "query: select: expected one text or more"),
    ],
)
def test_a_wrong_query_says_what_is_wrong(build: Callable[[], object], message: str) -> None:
    with pytest.raises(eddy.QueryError, match=message):
        build()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "expected either where or function, got neither"),
        ({"where": "v", "function": len}, ".*got both"),
        ({"where": "b.v > 1"}, '.*column "b.v": unknown stream "b"'),
        ({"where": "v >"}, r"(.|\n)*v >(.|\n)*\^"),
        ({"function": 3}, "expected a function, got 3"),
        ({"function": lambda: True}, ".*has no parameter to hand a column to"),
        ({"function": lambda x: x, "columns": ["x", "y"]}, r'.*cannot be called with 2 column\(s\) "x", "y"'),
        ({"where": "v > 1", "columns": ["v"]}, "columns goes with function"),
        ({"function": len, "rowwise": "no"}, "rowwise: expected True or False, got 'no'"),
        ({"where": "v", "after": []}, "after: expected one text or more, got"),
        ({"where": "v", "after": 3}, "after: expected a text or a list of texts, got 3"),
        ({"where": "v", "after": ["g", 3]}, "after: expected one text or more, got 3"),
        ({"where": "v", "after": ["g", "g"]}, 'after: entry "g" stands twice'),
        (
            {"function": needs, "on_error": "ignore"},
            'on_error: expected "fail", "drop", "keep", "reject", got \'ignore\'',
        ),
        ({"function": needs, "nulls": "drop"}, 'nulls: expected "show", "skip", got \'drop\''),
        ({"where": "v > 1", "nulls": "skip"}, "nulls goes with function; SQL has nulls of its own"),
        ({"function": needs, "time_limit": 5}, 'time_limit: .* such as "5 seconds", of 1 millisecond or more, got 5'),
        ({"function": needs, "time_limit": "999 microseconds"}, "time_limit: .*of 1 millisecond or more, got '999 mic"),
        ({"function": needs, "time_limit": "0 seconds"}, "time_limit: expected a duration"),
        ({"where": "v > 1", "time_limit": "5 seconds"}, "time_limit goes with function"),
        ({"function": needs, "setup": 3}, "setup: expected a function, got 3"),
        ({"function": needs, "setup": needs}, '.*"needs" cannot be called without arguments'),
        ({"where": "v > 1", "setup": needs}, "setup goes with function"),
        ({"function": needs, "batch_size": 0}, "batch_size: expected a whole number of 1 or more, got 0"),
        ({"function": needs, "batch_size": "3"}, "batch_size: expected a whole number"),
        ({"function": needs, "batch_size": 3, "rowwise": True}, "batch_size goes with a function of columns"),
        ({"where": "v > 1", "batch_size": 2, "cache": "2 values"}, "batch_size and cache go with function"),
        ({"function": needs, "concurrency": 2}, "concurrency goes with a function whose calls may overlap"),
        ({"function": needs, "concurrency": 0, "rowwise": True}, "concurrency: expected a whole number"),
        ({"where": "v > 1", "concurrency": 2}, "concurrency goes with function"),
    ],
)
def test_a_wrong_key_of_a_filter_is_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(eddy.QueryError, match=f'^filter "f": {message}'):
        eddy.Filter("f", on="a", **keys)
