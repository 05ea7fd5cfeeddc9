"""The queries of Linear Road's CQL that are joins, each as a text and in the words of the naive reference.

The benchmark (Arasu, Cherniack, Galvez, Maier, Maskey, Ryvkina, Stonebraker, Tibbetts, 2004) has cars that report where
they are; who enters a segment pays a toll that follows from how full and how slow it is, and from accidents ahead. The
STREAM group wrote it down in CQL (seeds/001, section 6.11), in single blocks that read each other. Here each block that
joins is a statement, and what other blocks work out is an input: a relation of theirs is a stream of its changes, of
which the newest for each key is in force. `RSTREAM` over one `[NOW]` stream is `ISTREAM`. What groups or asks for
distinct rows behind a join is Spark's; the blocks that DSTREAM begins have its stream as an input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any

import eddy
from tests import reference
from tests.reference import Combination, Row, Source
from tests.strategies import EPOCH

SECOND = 1_000_000
DELAY = 15
"""Seconds by which reports may be late."""

NEWEST_REPORT = {"rows": 1, "by": ["car_id"]}
OF_SEGMENT = ("exp_way", "dir", "seg")
NEWEST_OF_SEGMENT = {"rows": 1, "by": OF_SEGMENT}
NOW = {"span": 0}


@dataclass(frozen=True, kw_only=True)
class Block:
    """A single block: its text, the windows of its streams by their aliases, and its conditions in Python."""

    text: str
    windows: Mapping[str, Mapping[str, Any]]
    conditions: Sequence[Callable[[Combination], bool]]
    select: Sequence[tuple[str, str]]
    tables: Sequence[str] = ()

    @property
    def statement(self) -> eddy.Statement:
        """As the engine takes it: the text says windows, and this what CQL has no words for."""
        streams = [eddy.Stream(name, time="at", delay=f"{DELAY} seconds") for name in STREAMS]
        return eddy.Statement(self.text, streams=streams)

    def question(self, data: Mapping[str, Sequence[Row]]) -> reference.Question:
        """As the naive answer takes it."""
        sources = {alias: Source(time="at", delay=DELAY * SECOND, **window) for alias, window in self.windows.items()}
        tables = {name: data[name] for name in self.tables}
        return reference.Question(streams=sources, tables=tables, conditions=self.conditions, select=self.select)


def same(one: str, other: str, *columns: str) -> Callable[[Combination], bool]:
    """Two inputs have the same values in some columns."""
    return lambda found: all(found[one][column] == found[other][column] for column in columns)


def is_upstream(found: Combination) -> bool:
    """Whether a car is in the segment of an accident, or up to five before it in the direction of its way."""
    car, accident = found["L"], found["X"]
    ahead = accident["seg"] - car["seg"] if car["dir"] == 0 else car["seg"] - accident["seg"]
    return bool(0 <= ahead <= 5)


def is_asked_for(found: Combination) -> bool:
    asked, known = found["Q"], found["H"]
    return bool(asked["init_seg"] <= known["seg"] <= asked["fin_seg"])


UPSTREAM = "((X.dir = 0 AND L.seg BETWEEN X.seg - 5 AND X.seg) OR (X.dir = 1 AND L.seg BETWEEN X.seg AND X.seg + 5))"

BLOCKS: Mapping[str, Block] = {
    # Where the cars are that have reported within the last 30 seconds.
    "CurCarSeg": Block(
        text="""
            SELECT L.car_id, L.exp_way, L.dir, L.seg
            FROM STREAM CarSegStr [PARTITION BY car_id ROWS 1] AS L, STREAM CarSegStr [RANGE 30 SECONDS] AS A
            WHERE A.car_id = L.car_id
        """,
        windows={"L": NEWEST_REPORT, "A": {"span": 30 * SECOND}},
        conditions=[same("A", "L", "car_id")],
        select=[("L", "car_id"), ("L", "exp_way"), ("L", "dir"), ("L", "seg")],
    ),
    # Who is somewhere else than in the report before: that is whom a segment's toll is for.
    "CarSegEntryStr": Block(
        text="""
            ISTREAM(
                SELECT N.car_id, N.exp_way, N.dir, N.seg
                FROM STREAM CarSegStr [NOW] AS N JOIN STREAM CarSegStr [PARTITION BY car_id ROWS 2] AS B USING (car_id)
                WHERE B.at < N.at AND (B.exp_way <> N.exp_way OR B.dir <> N.dir OR B.seg <> N.seg)
            )
        """,
        windows={"N": NOW, "B": {"rows": 2, "by": ["car_id"]}},
        conditions=[
            same("N", "B", "car_id"),
            lambda found: found["B"]["at"] < found["N"]["at"],
            lambda found: not same("N", "B", *OF_SEGMENT)(found),
        ],
        select=[("N", "car_id"), *(("N", column) for column in OF_SEGMENT)],
    ),
    # Tolls follow from speed and volume, where the traffic is slow and dense.
    "SegToll": Block(
        text="""
            SELECT S.exp_way, S.dir, S.seg, S.speed, V.volume
            FROM STREAM SegAvgSpeed [PARTITION BY exp_way, dir, seg ROWS 1] AS S
            JOIN STREAM SegVol [PARTITION BY exp_way, dir, seg ROWS 1] AS V USING (exp_way, dir, seg)
            WHERE S.speed < 40 AND V.volume > 50
        """,
        windows={"S": NEWEST_OF_SEGMENT, "V": NEWEST_OF_SEGMENT},
        conditions=[
            same("S", "V", *OF_SEGMENT),
            lambda found: found["S"]["speed"] < 40 and found["V"]["volume"] > 50,
        ],
        select=[*(("S", column) for column in OF_SEGMENT), ("S", "speed"), ("V", "volume")],
    ),
    # What a car is told that enters a segment.
    "TollStr": Block(
        text="""
            SELECT ISTREAM(E.car_id, E.seg, T.toll)
            FROM STREAM CarSegEntryStr [NOW] AS E, STREAM SegToll [PARTITION BY exp_way, dir, seg ROWS 1] AS T
            WHERE E.exp_way = T.exp_way AND E.dir = T.dir AND E.seg = T.seg
        """,
        windows={"E": NOW, "T": NEWEST_OF_SEGMENT},
        conditions=[same("E", "T", *OF_SEGMENT)],
        select=[("E", "car_id"), ("E", "seg"), ("T", "toll")],
    ),
    # Cars whose last four reports are from one place. CQL counts them in groups; a join has each report by itself.
    "AccCars": Block(
        text="""
            SELECT d.car_id, d.x_pos
            FROM STREAM CarSegStr [PARTITION BY car_id ROWS 4] AS a
            JOIN STREAM CarSegStr [PARTITION BY car_id ROWS 4] AS b USING (car_id, x_pos)
            JOIN STREAM CarSegStr [PARTITION BY car_id ROWS 4] AS c USING (car_id, x_pos)
            JOIN STREAM CarSegStr [PARTITION BY car_id ROWS 4] AS d USING (car_id, x_pos)
            WHERE a.at < b.at AND b.at < c.at AND c.at < d.at
        """,
        windows={alias: {"rows": 4, "by": ["car_id"]} for alias in "abcd"},
        conditions=[
            lambda found: all(same(one, other, "car_id", "x_pos")(found) for one, other in pairwise("abcd")),
            lambda found: all(found[one]["at"] < found[other]["at"] for one, other in pairwise("abcd")),
        ],
        select=[("d", "car_id"), ("d", "x_pos")],
    ),
    # The segments of accidents, where their cars are now.
    "AccSeg": Block(
        text="""
            SELECT L.exp_way, L.dir, L.seg, C.acc_loc
            FROM STREAM CarSegStr [PARTITION BY car_id ROWS 1] AS L, STREAM CarSegStr [RANGE 30 SECONDS] AS A,
                STREAM AccCars [PARTITION BY car_id ROWS 1] AS C
            WHERE A.car_id = L.car_id AND L.car_id = C.car_id
        """,
        windows={"L": NEWEST_REPORT, "A": {"span": 30 * SECOND}, "C": NEWEST_REPORT},
        conditions=[same("A", "L", "car_id"), same("L", "C", "car_id")],
        select=[*(("L", column) for column in OF_SEGMENT), ("C", "acc_loc")],
    ),
    # Who comes near a new accident is told: one of the spatial joins, a band in either direction.
    "AccNotifyStr": Block(
        text=f"""
            ISTREAM(SELECT L.car_id, X.acc_loc
            FROM STREAM AccSeg [NOW] AS X JOIN STREAM CarSegStr [PARTITION BY car_id ROWS 1] AS L
              ON X.exp_way = L.exp_way AND X.dir = L.dir AND {UPSTREAM})
        """,
        windows={"X": NOW, "L": NEWEST_REPORT},
        conditions=[same("X", "L", "exp_way", "dir"), is_upstream],
        select=[("L", "car_id"), ("X", "acc_loc")],
    ),
    # Who enters a segment near an accident that is a minute old at most.
    "AccEntryStr": Block(
        text=f"""
            SELECT L.car_id, X.acc_loc
            FROM STREAM CarSegEntryStr [NOW] AS L JOIN STREAM AccSeg [RANGE 1 MINUTE] AS X
              ON X.exp_way = L.exp_way AND X.dir = L.dir AND {UPSTREAM}
        """,
        windows={"L": NOW, "X": {"span": 60 * SECOND}},
        conditions=[same("X", "L", "exp_way", "dir"), is_upstream],
        select=[("L", "car_id"), ("X", "acc_loc")],
    ),
    # Who leaves the way behind a notice gets the toll back that was paid last.
    "NegTollStr": Block(
        text="""
            SELECT E.car_id, T.toll
            FROM STREAM CarExitStr [NOW] AS E
            JOIN STREAM AccNotifyStr [RANGE 2 MINUTES] AS N USING (car_id)
            JOIN STREAM TollStr [PARTITION BY car_id ROWS 1] AS T ON T.car_id = E.car_id
        """,
        windows={"E": NOW, "N": {"span": 120 * SECOND}, "T": NEWEST_REPORT},
        conditions=[same("E", "N", "car_id"), same("E", "T", "car_id")],
        select=[("E", "car_id"), ("T", "toll")],
    ),
    # What has been booked for the car that somebody asks about; the sum comes behind it.
    "AccBalQuery": Block(
        text="""
            SELECT Q.query_id, T.toll
            FROM STREAM AccBalQueryStr [NOW] AS Q JOIN STREAM TollStr [RANGE UNBOUNDED] AS T ON Q.car_id = T.car_id
        """,
        windows={"Q": NOW, "T": {}},
        conditions=[same("Q", "T", "car_id")],
        select=[("Q", "query_id"), ("T", "toll")],
    ),
    # The same of one way and a day, which is a minute here.
    "ExpQuery": Block(
        text="""
            SELECT Q.query_id, T.toll
            FROM STREAM ExpQueryStr [NOW] AS Q JOIN STREAM TollStr [RANGE 1 MINUTE] AS T
              ON Q.car_id = T.car_id AND Q.exp_way = T.exp_way
        """,
        windows={"Q": NOW, "T": {"span": 60 * SECOND}},
        conditions=[same("Q", "T", "car_id", "exp_way")],
        select=[("Q", "query_id"), ("T", "toll")],
    ),
    # How long the segments from one to another have taken at such times of the week.
    "TravelTimeQuery": Block(
        text="""
            SELECT Q.query_id, H.seg, H.seconds
            FROM STREAM TravelTimeQueryStr [NOW] AS Q
            JOIN History AS H ON Q.exp_way = H.exp_way AND Q.day_of_week = H.day_of_week
              AND H.seg BETWEEN Q.init_seg AND Q.fin_seg
        """,
        windows={"Q": NOW},
        tables=["H"],
        conditions=[same("Q", "H", "exp_way", "day_of_week"), is_asked_for],
        select=[("Q", "query_id"), ("H", "seg"), ("H", "seconds")],
    ),
}

CAR: Mapping[str, Sequence[Any]] = {"car_id": range(3)}
SEGMENT: Mapping[str, Sequence[Any]] = {"exp_way": [0], "dir": [0, 1], "seg": range(7)}
STREAMS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "CarSegStr": {**CAR, **SEGMENT, "x_pos": [0, 0, 0, 1], "speed": range(20, 60)},
    "CarSegEntryStr": {**CAR, **SEGMENT},
    "CarExitStr": CAR,
    "SegAvgSpeed": {**SEGMENT, "speed": range(20, 60)},
    "SegVol": {**SEGMENT, "volume": range(40, 90)},
    "SegToll": {**SEGMENT, "toll": range(9)},
    "AccCars": {**CAR, "acc_loc": range(9)},
    "AccSeg": {**SEGMENT, "acc_loc": range(9)},
    "AccNotifyStr": {**CAR, "acc_loc": range(9)},
    "TollStr": {**CAR, "exp_way": [0, 1], "toll": range(9)},
    "AccBalQueryStr": {**CAR, "query_id": range(90)},
    "ExpQueryStr": {**CAR, "exp_way": [0, 1], "query_id": range(90)},
    "TravelTimeQueryStr": {
        "query_id": range(90),
        "exp_way": [0, 1],
        "day_of_week": range(2),
        "init_seg": range(4),
        "fin_seg": range(2, 7),
    },
}
"""The columns of each stream, with the values that small traffic has in them."""

HISTORY: Mapping[str, Sequence[Any]] = {
    "exp_way": [0, 1],
    "day_of_week": range(2),
    "seg": range(7),
    "seconds": range(30, 90),
}


def make_rows(random: Random, columns: Mapping[str, Sequence[Any]], count: int) -> list[dict[str, Any]]:
    """Rows of a stream: about ten seconds from one to the next, some out of order, and a few of them late."""
    rows = []
    for number in range(count):
        at = EPOCH + timedelta(seconds=number * 10 + random.randint(-12, 12))
        rows.append({"at": at, **{name: random.choice(values) for name, values in columns.items()}})
    return rows
