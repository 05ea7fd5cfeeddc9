"""Baseball: what every player did in every season since 1871.

The package `lahman` (MIT) has the Baseball Databank (CC BY-SA 3.0): 108,789 rows of batting, and tables of people,
teams and salaries. Event times are years. Rules, equipment and leagues have changed with them, so that what drops most
rows is not the same in 1871, 1910 and 2000; and salaries are known from 1985 on only.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import check_choice, check_whole, need_package
from eddy.jobs.experiments.public_data.files import read

PACKAGE = "lahman"
ARCHIVE = Path("data") / "_source.zip"
FILES: dict[str, dict[str, pa.DataType]] = {
    "Batting": {
        **dict.fromkeys(("playerID", "teamID", "lgID"), pa.string()),
        **dict.fromkeys(("yearID", "stint", "G", "AB", "R", "H", "2B", "3B", "HR", "SB", "BB", "SO"), pa.int64()),
    },
    "People": {
        **dict.fromkeys(("playerID", "birthCountry", "bats", "nameLast"), pa.string()),
        **dict.fromkeys(("birthYear", "height"), pa.int64()),
    },
    "Teams": {
        **dict.fromkeys(("teamID", "name", "WSWin"), pa.string()),
        **dict.fromkeys(("yearID", "W", "L", "attendance"), pa.int64()),
    },
    "Salaries": {
        **dict.fromkeys(("playerID", "teamID"), pa.string()),
        **dict.fromkeys(("yearID", "salary"), pa.int64()),
    },
}
"""The files, and the columns that are read of them."""

TABLES = {"people": "People", "teams": "Teams", "salaries": "Salaries"}

LEAST_AT_BATS = 100
"""Fewer say nothing about a hitter."""

POWER, PATIENCE, CONTACT, SPEED = 0.15, 0.08, 0.88, 0.12
"""Bases beyond the first for each time at bat, walks for each appearance, times without a strikeout, stolen bases for
each time on base."""


def has_power(
    at_bats: int | None, hits: int | None, doubles: int | None, triples: int | None, homers: int | None
) -> bool:
    """Tell whether hits go far.

    >>> has_power(500, 150, 30, 2, 40), has_power(500, 150, 10, 2, 5)
    (True, False)
    """
    if not at_bats or hits is None:
        return False
    return ((doubles or 0) + 2 * (triples or 0) + 3 * (homers or 0)) / at_bats > POWER


def is_patient(at_bats: int | None, walks: int | None) -> bool:
    """Tell whether a hitter waits for four balls.

    >>> is_patient(500, 60), is_patient(500, 20)
    (True, False)
    """
    return bool(at_bats) and (walks or 0) / ((at_bats or 0) + (walks or 0)) > PATIENCE


def makes_contact(at_bats: int | None, strikeouts: int | None) -> bool:
    """Tell whether a hitter seldom strikes out. In some years nobody counted.

    >>> makes_contact(500, 40), makes_contact(500, 150), makes_contact(500, None)
    (True, False, False)
    """
    return bool(at_bats) and strikeouts is not None and 1 - strikeouts / (at_bats or 1) > CONTACT


def is_quick(hits: int | None, walks: int | None, stolen: int | None) -> bool:
    """Tell whether a runner steals bases.

    >>> is_quick(150, 60, 40), is_quick(150, 60, 3)
    (True, False)
    """
    on_base = (hits or 0) + (walks or 0)
    return bool(on_base) and (stolen or 0) / on_base > SPEED


def _judge(name: str, function: Callable[..., bool], *columns: str) -> eddy.Filter:
    return eddy.Filter(name, on="seasons", function=function, columns=list(columns), rowwise=True)


HITS_FAR = _judge("power", has_power, "AB", "H", "2B", "3B", "HR")
PATIENT = _judge("patient", is_patient, "AB", "BB")
SURE = _judge("contact", makes_contact, "AB", "SO")
QUICK = _judge("quick", is_quick, "H", "BB", "SB")
OFTEN = eddy.Filter("often", on="seasons", where=f"AB >= {LEAST_AT_BATS}")


def all_round() -> eddy.Query:
    """Ask for hitters who do everything: Python functions alone."""
    return _query("all_round", [HITS_FAR, PATIENT, SURE, QUICK, OFTEN], ["seasons.playerID", "seasons.yearID"])


def bargains() -> eddy.Query:
    """Ask for good hitters of good teams who earned little, with three joins."""
    return _query(
        "bargains",
        [
            HITS_FAR,
            eddy.Filter("cheap", on="salaries", where="salary < 500000"),
            eddy.Filter("winning", on="teams", where="W > 1.2 * L"),
            eddy.Filter("left_handed", on="people", where="bats <> 'R'"),
        ],
        ["people.nameLast", "teams.name AS team", "seasons.yearID", "salaries.salary"],
        joins={"people": ["playerID"], "teams": ["yearID", "teamID"], "salaries": ["playerID", "yearID", "teamID"]},
    )


def _query(
    name: str, filters: list[eddy.Filter], select: list[str], joins: Mapping[str, list[str]] | None = None
) -> eddy.Query:
    joined = joins or {}
    return eddy.Query(
        name=name,
        streams=[eddy.Stream("seasons", time="yearID", window=eddy.Range(1), delay=0)],
        tables=[eddy.Table(table) for table in joined],
        joins=[f"seasons.{key} = {table}.{key}" for table, keys in joined.items() for key in keys],
        filters=filters,
        select=select,
    )


QUERIES: dict[str, Callable[[], eddy.Query]] = {"all_round": all_round, "bargains": bargains}
"""The queries, by name."""


@lru_cache(maxsize=1)
def load() -> Mapping[str, pa.Table]:
    """Load the seasons in the order of their years, and the tables.

    >>> load()["seasons"].num_rows
    108789
    """
    with zipfile.ZipFile(need_package(PACKAGE, "baseball", "data") / ARCHIVE) as packed:
        names = {Path(name).stem: name for name in packed.namelist() if "/core/" in name}
        found = {}
        for file, types in FILES.items():
            with packed.open(names[file]) as opened:
                found[file] = read(opened, types)
    tables = {name: found[file] for name, file in TABLES.items()}
    return {"seasons": found["Batting"].sort_by("yearID").combine_chunks(), **tables}


def baseball(*, query: str = "all_round", rows: int | None = None, seed: int = 0) -> Workload:
    """Build one of the queries over the seasons.

    The data is what happened, so `seed` changes nothing here; the policies have their chance from it.

    >>> baseball(query="bargains", rows=100).query.inputs
    ('seasons', 'people', 'teams', 'salaries')
    """
    del seed
    check_choice(query, QUERIES, "query", where="workload baseball")
    if rows is not None:
        check_whole(rows, "rows", where="workload baseball")
    asked = QUERIES[query]()
    data = {name: load()[name] for name in asked.given}
    data["seasons"] = data["seasons"].slice(0, rows)
    facts = {"query": query, "operators": len(asked.filters) + len(asked.inputs) - 1}
    return Workload(name="baseball", query=asked, data=data, facts=facts)
