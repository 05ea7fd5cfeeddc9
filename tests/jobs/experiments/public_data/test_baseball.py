"""The seasons as the files have them, and answers that DuckDB gives too."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow.compute as pc
import pytest

import eddy
from eddy.jobs.experiments.public_data.baseball import baseball, load

POWER = 'AB > 0 AND (coalesce("2B", 0) + 2 * coalesce("3B", 0) + 3 * coalesce(HR, 0)) / AB > 0.15'
ANSWERS = {
    "all_round": f"""
        SELECT playerID, yearID FROM seasons WHERE AB >= 100 AND {POWER} AND BB / (AB + BB) > 0.08
        AND SO IS NOT NULL AND 1 - SO / AB > 0.88 AND H + BB > 0 AND coalesce(SB, 0) / (H + BB) > 0.12""",
    "bargains": f"""
        SELECT nameLast, teams.name, seasons.yearID, salary FROM seasons JOIN people USING (playerID)
        JOIN teams ON teams.yearID = seasons.yearID AND teams.teamID = seasons.teamID
        JOIN salaries ON salaries.playerID = seasons.playerID AND salaries.yearID = seasons.yearID
             AND salaries.teamID = seasons.teamID
        WHERE {POWER} AND salary < 500000 AND W > 1.2 * L AND bats <> 'R'""",
}


@pytest.mark.parametrize("policy", ["fixed", "content", "query_mesh"])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_that_of_duckdb(name: str, policy: str) -> None:
    workload = baseball(query=name)
    with duckdb.connect() as connection:
        for table, rows in workload.data.items():
            connection.register(table, rows)
        wanted = Counter(connection.sql(ANSWERS[name]).fetchall())
    assert wanted.total() > 100
    run = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=5_000)
    assert Counter(tuple(row.values()) for row in run.results.to_pylist()) == wanted
    assert run.report.batches()["late"].sum() == 0


def test_the_files_are_read_as_they_are() -> None:
    seasons = load()["seasons"]
    assert seasons.num_rows == 108_789
    assert seasons.column("yearID").to_pylist() == sorted(seasons.column("yearID").to_pylist())
    assert seasons.filter(pc.equal(seasons.column("lgID"), "NA")).column("yearID").to_pylist()[-1] == 1875
    assert seasons.column("SO").null_count > 2_000
    assert pc.min(load()["salaries"].column("yearID")).as_py() == 1985
