"""The answers of the engine are those of DuckDB, for the month and for the year."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import eddy
from eddy.jobs.experiments.flights.load import FILES, read
from eddy.jobs.experiments.flights.queries import flights
from tests.jobs.experiments.flights.answers import ANSWERS, BASE

MONTH, YEAR = 1, 12

LEAST = {"risky": 50, "described": 270_000, "caught_up": 50, "watched": 1_000}
"""Rows of a year at least: an empty answer would be right too easily."""


def expected(name: str, months: int) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for file in FILES:
            connection.register(file, read(file))
        connection.execute(BASE.format(months=months))
        answer: pa.Table = connection.sql(ANSWERS[name]).to_arrow_table()
        return answer


def agree(name: str, months: int, policy: str) -> int:
    workload = flights(query=name, months=months)
    got = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=5_000).results
    want = expected(name, months).select(got.schema.names).cast(got.schema)
    order = [(column, "ascending") for column in got.schema.names]
    assert got.sort_by(order).combine_chunks().equals(want.sort_by(order).combine_chunks())
    return int(got.num_rows)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_month(name: str) -> None:
    assert agree(name, MONTH, "content") > 0


@pytest.mark.long
@pytest.mark.parametrize("name", ANSWERS)
def test_the_year(name: str) -> None:
    assert agree(name, YEAR, "query_mesh") >= LEAST[name]
