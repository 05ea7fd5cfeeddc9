"""eddy.where with lookup tables, over pandas and Arrow: what nested loops find, and what pandas' merge does."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.policies.registry import POLICIES
from eddy.query.lookups import Lookups
from eddy.query.shorthand import read_predicates
from tests.policies.choices import chosen
from tests.tries import fewer

Row = Mapping[str, Any]
SCHEMA = pa.schema({"k": pa.int16(), "s": pa.string(), "n": pa.int64()})
USERS = pa.schema({"ID": pa.int32(), "s": pa.string(), "low": pa.float64(), "tags": pa.list_(pa.string())})
KEYS = st.none() | st.integers(0, 3)
TEXTS = st.none() | st.sampled_from(["", "a", "b"])
ROWS = st.lists(st.fixed_dictionaries({"k": KEYS, "s": TEXTS, "n": st.integers(0, 3)}), max_size=8)
TABLES = st.lists(
    st.fixed_dictionaries(
        {"ID": KEYS, "s": TEXTS, "low": st.none() | st.sampled_from([0.5, 2.0]), "tags": st.just(["x", None])}
    ),
    max_size=6,
)


def is_small(n: npt.NDArray[np.int64]) -> Any:
    return n < 3


def is_above(n: pd.Series, low: pd.Series) -> pd.Series:
    return n > low


def differ(a: str | None, b: str | None) -> bool:
    return a != b


WITH_USERS: Sequence[tuple[Any, Any]] = [
    ("n > users.low", lambda row, user: user["low"] is not None and row["n"] > user["low"]),
    ((is_above, "n", "users.low"), lambda row, user: user["low"] is not None and row["n"] > user["low"]),
    ("users.id <> 2", lambda row, user: user["ID"] not in (None, 2)),
    (
        eddy.Filter("apart", on=["rows", "users"], function=differ, columns=["rows.s", "users.s"], rowwise=True),
        lambda row, user: row["s"] != user["s"],
    ),
]
"""Predicates that read a row of the table, too."""

JOINS: Sequence[tuple[str, Any]] = [
    ("k = users.ID", lambda row, user: row["k"] is not None and row["k"] == user["ID"]),
    ("users.S = rows.s", lambda row, user: row["s"] is not None and row["s"] == user["s"]),
    ("n >= users.low", lambda row, user: user["low"] is not None and row["n"] >= user["low"]),
]

ALONE: Sequence[tuple[Any, Any]] = [
    (is_small, lambda row: row["n"] < 3),
    ("s is null or s <> 'b'", lambda row: row["s"] != "b"),
]


def read(table: pa.Table) -> Sequence[Row]:
    """The rows of a frame, in their order."""
    rows: Sequence[Row] = table.to_pylist()
    return rows


@fewer(2)
@given(
    ROWS,
    TABLES,
    st.sampled_from(range(len(JOINS))),
    st.lists(st.sampled_from(range(len(WITH_USERS))), unique=True, max_size=2),
    st.lists(st.sampled_from(range(len(ALONE))), unique=True),
    st.sampled_from([*POLICIES]),
)
def test_a_join_gives_what_nested_loops_give(
    rows: list[Row], users: list[Row], join: int, both: list[int], alone: list[int], policy: str
) -> None:
    frame, table = (pa.Table.from_pylist(list(map(dict, r)), schema=s) for r, s in ((rows, SCHEMA), (users, USERS)))
    text, meets = JOINS[join]
    predicates = [WITH_USERS[place][0] for place in both] + [ALONE[place][0] for place in alone]
    names = read_predicates(
        predicates, SCHEMA.names, case_sensitive=False, lookups=Lookups(tables={"users": USERS.names})
    )
    choice = chosen(policy, [*(f.name for f in names.filters), "probe_users"], "rows.n")
    expected = [
        {**row, **{f"users_{name}": value for name, value in user.items()}}
        for row in rows
        if all(ALONE[place][1](row) for place in alone)
        for user in users
        if meets(row, user) and all(WITH_USERS[place][1](row, user) for place in both)
    ]
    found = eddy.where(frame, *predicates, tables={"users": table}, joins=text, policy=choice)
    assert read(found) == expected
    assert found.schema.types == [*SCHEMA.types, *USERS.types]


@fewer(2)
@given(ROWS, TABLES, st.sampled_from(range(len(JOINS))), st.booleans(), st.sampled_from([*POLICIES]))
def test_existence_is_what_nested_loops_say(
    rows: list[Row], users: list[Row], join: int, semi: bool, policy: str
) -> None:
    frame, table = (pa.Table.from_pylist(list(map(dict, r)), schema=s) for r, s in ((rows, SCHEMA), (users, USERS)))
    text, meets = JOINS[join]
    kind = "semi" if semi else "anti"
    asked: dict[str, Any] = {kind: [text, "users.low < 1"]}
    choice = chosen(policy, ["is_small", f"{kind}_users"], "rows.n")
    found = eddy.where(frame, is_small, tables={"users": table}, policy=choice, **asked)
    low = [user for user in users if user["low"] is not None and user["low"] < 1]
    assert read(found) == [row for row in rows if row["n"] < 3 and any(meets(row, user) for user in low) == semi]
    assert found.schema == SCHEMA


@fewer(4)
@given(ROWS, TABLES)
def test_pandas_merges_the_same_rows(rows: list[Row], users: list[Row]) -> None:
    """But for nulls, which pandas joins with each other."""
    left = pa.Table.from_pylist(list(map(dict, rows)), schema=SCHEMA).to_pandas()
    right = pa.Table.from_pylist(list(map(dict, users)), schema=USERS).to_pandas()
    left.index = left.index * 0 + 5
    ours = eddy.where(left, is_small, tables={"users": right}, joins="k = users.id")
    assert ours.index.tolist() == [5] * len(ours)
    merged = (
        left[left["n"] < 3]
        .dropna(subset=["k"])
        .merge(right.add_prefix("users_").dropna(subset=["users_ID"]), left_on="k", right_on="users_ID")
    )
    columns = ["k", "s", "n", "users_ID", "users_s"]
    one, other = (frame[columns].astype(str).sort_values(columns, ignore_index=True) for frame in (ours, merged))
    pd.testing.assert_frame_equal(one, other)


def test_several_tables_of_each_kind() -> None:
    trips = pd.DataFrame({"user": [1, 2, 3, 4], "town": ["Wien", "Graz", "Linz", "Wien"], "km": [5, 50, 500, 7]})
    tables = {
        "users": pa.table({"id": [1, 2, 3, 4], "country": ["at", "at", "de", "fr"]}),
        "eu": pd.DataFrame({"code": ["at", "de", "at"]}),
        "banned": pa.table({"town": ["Wien"], "least": [6]}),
    }
    found = eddy.where(
        trips,
        lambda km: km < 400,
        tables=tables,
        joins="user = users.id",
        semi="users.country = eu.code",
        anti="town = banned.town and km >= banned.least",
    )
    assert found.columns.tolist() == ["user", "town", "km", "users_id", "users_country"]
    assert found["user"].tolist() == [1, 2]
    operators = set(eddy.report_of(found).operators()["operator"])
    assert operators >= {"function_1", "semi_eu", "anti_banned"}
    told = eddy.explain(found)
    assert "if banned has none" in told
    # The frame keeps its columns, and has neither windows nor a state.
    assert "select" not in told
    assert "watermark" not in told


def test_columns_keep_their_types_and_names() -> None:
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    users = pd.DataFrame(
        {
            "id": pd.array([1, None, 2], dtype="Int64"),
            "kind": pd.Categorical(["a", "b", "a"]),
            "at": pd.Series([at, at, None]),
            "odd": [object(), 3, "x"],
            7: [Decimal("1.10"), None, Decimal(2)],
        }
    )
    trips = pd.DataFrame({"user": pd.array([2, 2, 1, None], dtype="Int16")}, index=list("abcd"))
    found = eddy.where(trips, tables={"u": users}, joins="user = u.id")
    assert found.index.tolist() == ["a", "b", "c"]
    assert found.dtypes.tolist() == [trips.dtypes["user"], *users.dtypes]
    assert found.columns.tolist() == ["user", "u_id", "u_kind", "u_at", "u_odd", "u_7"]
    assert found["u_odd"].tolist() == ["x", "x", users["odd"][0]]
    views = pa.table({"v": pa.array(["a", "b"]).cast(pa.string_view()), "id": [1, 2]})
    batch = pa.record_batch({"user": [2, 9, 2], "w": pa.array(["a", "b", "c"]).cast(pa.string_view())})
    joined = eddy.where(batch, tables={"u": views}, joins="user = u.id")
    assert isinstance(joined, pa.RecordBatch)
    assert joined.to_pylist() == [{"user": 2, "w": w, "u_v": "b", "u_id": 2} for w in "ac"]


def test_rows_of_several_micro_batches_and_what_is_learned(tmp_path: Any) -> None:
    table = pa.table({"i": range(25_000)})
    users = pa.table({"id": range(0, 25_000, 5), "twice": [0, 1] * 2_500})
    asked: dict[str, Any] = {"tables": {"users": users}, "joins": "i = users.id", "remember": tmp_path / "learned"}
    for _ in range(2):
        found = eddy.where(table, lambda i: i % 3 == 0, "users.twice = 1", **asked)
        assert found["i"].to_pylist() == list(range(15, 25_000, 30))
        assert eddy.report_of(found).batches()["rows"].sum() == 25_000


def test_a_row_that_is_put_aside_is_told_of_once() -> None:
    reads = eddy.Filter(
        "reads", on=["rows", "u"], function=lambda a, b: int(a) > b, columns=["rows.text", "u.n"], rowwise=True,
        on_error="reject",
    )  # fmt: skip
    frame = pa.table({"text": ["1", "x", "3"]})
    found = eddy.where(frame, reads, tables={"u": pa.table({"n": [1, 2], "any": [0, 0]})}, joins="length(text) > u.any")
    assert found.to_pylist() == [{"text": "3", "u_n": n, "u_any": 0} for n in (1, 2)]
    assert eddy.rejected(found)["text"].to_pylist() == ["x"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"joins": "k = u.id"}, 'where: joins: expected tables={"users": users} to look into, got none'),
        ({"tables": [1]}, r'where: tables: expected a dict such as {"users": users}, got \[1\]'),
        (
            {"tables": {"u": [1]}, "semi": "k = u.id"},
            'where: table "u": expected a pandas DataFrame, or a pyarrow Table',
        ),
        ({"tables": {"u u": 1}, "semi": "k = u.id"}, "where: table: expected a name of letters"),
        (
            {"tables": {"K": pa.table({"id": [1]})}, "semi": "k = k.id"},
            'table "K": the frame has a column of this name',
        ),
        ({"tables": {"u": pa.table({"id": [1]})}}, 'nothing looks into "u"; name it in joins, semi or anti'),
        ({"tables": {"u": pa.table({"id": [1]})}, "semi": "k = u.key"}, 'unknown column "u.key"'),
        ({"tables": {"u": pa.table({"id": [1]})}, "semi": "k = v.id"}, 'unknown stream or table "v"'),
        ({"tables": {"u": pa.table({"id": [1]})}, "anti": "k ="}, "where: anti"),
        ({"tables": {"u": pa.table({"id": [1]})}, "joins": "k = u.id and k > 1"}, "expected a condition between two"),
        ({"tables": {"k_u": pa.table({"id": [1]})}, "joins": "k = k_u.id"}, '"k_u.id" would be called "k_u_id" in the'),
    ],
)
def test_what_is_wrong_is_one_error(given: dict[str, Any], said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        eddy.where(pa.table({"k": [1], "k_u_id": [2]}), lambda k: k > 0, **given)


def test_a_join_without_an_answer_is_not_told_of_on_error() -> None:
    frame, users = pa.table({"k": [1]}), pa.table({"id": ["b"]})
    with pytest.raises(eddy.QueryError, match="cannot be cast") as raised:
        eddy.where(frame, tables={"u": users}, joins="k = u.id")
    assert "mend it, or guard the text" in str(raised.value)
    assert "on_error" not in str(raised.value)
