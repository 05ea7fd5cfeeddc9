"""Whose time zone an expression means."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import pyarrow as pa
import pytest

from eddy.errors import QueryError
from eddy.sql import Column, bind_pair, parse

A, B, C, D, S = Column("a", "t"), Column("b", "t"), Column("c", "t"), Column("d", "t"), Column("d", "s")
UTC, OSLO, WEST = (pa.timestamp("us", zone) for zone in ("UTC", "Europe/Oslo", "-05:00"))
TYPES = {A: UTC, B: OSLO, C: pa.timestamp("us"), D: pa.date32(), S: pa.string()}
NOON = dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)


def evaluate(text: str, types: Mapping[Column, pa.DataType]) -> object:
    columns = {column: pa.array([NOON], kind) for column, kind in types.items() if pa.types.is_timestamp(kind)}
    return parse(text, where="here").bind(types).evaluate(columns, 1)[0].as_py()


NEEDS = [
    *("hour(a.t) = 1", "cast(a.t as string) = ''", "a.t = c.t", "a.t > '2024-01-01'", "a.t > TIMESTAMP '2024-01-01'"),
    *(
        "cast(a.t as date) = d.t",
        "a.t > d.t",
        "cast(d.t as timestamp) = a.t",
        "a.t + interval 1 day > b.t",
        "a.t || '' = ''",
    ),
    *("a.t - b.t > interval 1 day", "TIMESTAMP '2024-01-01' is null", "cast(d.s as timestamp) is null"),
]


@pytest.mark.parametrize("text", NEEDS)
def test_what_needs_one_zone_is_refused_among_several(text: str) -> None:
    for types in (TYPES, dict(reversed(TYPES.items()))):
        with pytest.raises(QueryError) as raised:
            parse(text, where="here").bind(types)
        said, line, carets = str(raised.value).split("\n")
        assert 'the timestamps have several: Europe/Oslo of "b.t"; UTC of "a.t"; cast them to one' in said
        assert line.strip() == text
        assert set(carets.strip()) == {"^"}


@pytest.mark.parametrize("text", NEEDS)
def test_what_needs_one_zone_is_taken_with_one(text: str) -> None:
    assert parse(text, where="here").bind({**TYPES, B: UTC}).type == pa.bool_()


NEEDS_NONE = [
    *("a.t = b.t", "a.t >= b.t and b.t <=> a.t", "a.t in (b.t)", "coalesce(a.t, b.t) = greatest(b.t, a.t)"),
    *(
        "if(a.t = b.t, b.t, a.t) is not null",
        "a.t > TIMESTAMP '2024-01-01 00:00:00Z'",
        "a.t > '2024-01-01 00:00:00+02:00'",
    ),
    *("a.t + interval 23 hours > b.t", "a.t between b.t and b.t + interval 5 minutes", "cast(a.t as bigint) > 0"),
    *("cast(cast(a.t as double) as timestamp) = b.t", "hour(c.t) = 12", "c.t = TIMESTAMP_NTZ '2024-07-01 12:00:00'"),
    *("cast(a.t as timestamp) = b.t", "c.t - c.t = interval 0 days"),
]


@pytest.mark.parametrize("text", NEEDS_NONE)
def test_what_needs_no_zone_is_not_refused(text: str) -> None:
    types = {A: UTC, B: OSLO, C: pa.timestamp("us")}
    assert evaluate(text, types) is True
    assert evaluate(text, dict(reversed(types.items()))) is True


@pytest.mark.parametrize("text", ["a.t - b.t = interval 0 days", "a.t + interval 2 days - interval 2 days = b.t"])
def test_zones_that_never_change_their_clocks(text: str) -> None:
    assert evaluate(text, {A: UTC, B: WEST}) is True


def test_zones_are_the_same_if_their_names_are() -> None:
    assert parse("hour(a.t)", where="here").bind({A: UTC, B: UTC}).type == pa.int32()
    with pytest.raises(QueryError, match="several"):
        parse("hour(a.t)", where="here").bind({A: UTC, B: pa.timestamp("us", "+00:00")})


def test_an_expression_keeps_the_zone_of_its_own_columns() -> None:
    for own, types in ((A, UTC), (B, OSLO)):
        assert parse(str(own), where="here").bind(TYPES).type == types


def test_both_sides_of_a_pair_have_one_type() -> None:
    sides = bind_pair(parse("a.t", where="here"), parse("b.t", where="here"), TYPES)
    assert len({side.type for side in sides}) == 1
    found = sides[1].evaluate({B: pa.array([NOON], OSLO)}, 1)
    assert found.type == sides[0].type
    assert found.to_pylist() == [NOON]
    with pytest.raises(QueryError, match="several"):
        bind_pair(parse("a.t", where="here"), parse("c.t", where="here"), TYPES)
