"""Semi and anti joins with tables, in any routing: the naive answer, and DuckDB's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.operators import matching
from tests import joins
from tests.eddy.test_joins import NAMES, check_answer, check_duckdb, check_stops
from tests.joins import Case
from tests.tries import fewer

ANY = joins.cases(faults=True).flatmap(lambda case: joins.asking(case, faults=True))
CROWDED = joins.cases(crowded=True).flatmap(joins.asking)


@given(case=ANY | CROWDED, policy=st.sampled_from([*NAMES, *["wild"] * len(NAMES)]), seed=st.integers(0, 2**32))
def test_any_routing_gives_the_naive_answer(case: Case, policy: str, seed: int) -> None:
    check_answer(policy, case, seed)


@fewer(3)
@given(case=ANY, most=st.tuples(st.integers(1, 8), st.integers(1, 4)), seed=st.integers(0, 2**32))
def test_candidates_in_parts_of_any_size_give_the_naive_answer(case: Case, most: tuple[int, int], seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_CANDIDATES", most[0])
        patch.setattr(matching, "MOST_TUPLES", most[1])
        check_answer("wild", case, seed)


@fewer(3)
@given(
    case=joins.cases(late=False, by_rows=False, clocks=False, crowded=True).flatmap(joins.asking),
    policy=st.sampled_from(NAMES),
)
def test_duckdb_gives_the_same_answer(case: Case, policy: str) -> None:
    check_duckdb(case, policy)


@fewer(4)
@given(case=ANY, stops=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(NAMES)), max_size=4))
def test_a_run_that_is_stopped_anywhere_goes_on_as_it_was(case: Case, stops: list[tuple[int, str]]) -> None:
    check_stops(case, stops)


USER = "a.user = users.id"
OLD = eddy.Filter("old", on="users", where="level > 1")
TAKEN = eddy.Filter("anti_users", on="a", where="n > 1")
USERS = pa.table({"id": [1, 2, 2, None], "level": [5, 1, 7, 9]})


def ask(**texts: Any) -> list[Any]:
    inputs: dict[str, Any] = {"streams": [eddy.Stream("a")], "tables": [eddy.Table("users")]}
    asked = eddy.Query(**inputs, **{"select": ["a.n"], **texts})
    rows = pa.table({"n": [1, 2, 3, 4], "user": [1, 2, 3, None], "low": [5, 1, 0, 0]})
    return list(eddy.run_local(asked, {"a": rows, "users": USERS}).results["n"].to_pylist())


def test_rows_without_a_key_have_no_match() -> None:
    assert ask(semi="a.user = users.id") == [1, 2]
    assert ask(anti="a.user = users.id") == [3, 4]


def test_all_conditions_on_a_table_are_about_one_row() -> None:
    assert ask(semi=["a.user = users.id", "users.level > a.low"]) == [2]
    assert ask(anti="a.user = users.id and users.level > a.low and users.level < 7") == [1, 2, 3, 4]
    assert ask(anti="a.user = users.id and users.level between a.low and 6") == [3, 4]


def test_a_match_for_sure_hides_a_row_that_has_no_answer() -> None:
    assert ask(semi="10 / (users.level - a.low) > 1 and a.user = users.id", filters=_upto(2)) == [2]
    with pytest.raises(eddy.QueryError, match="Everything else lets it pass"):
        ask(anti="10 / (users.level - a.low) > 9 and a.user = users.id", filters=_upto(2))


def _upto(most: int) -> list[eddy.Filter]:
    return [eddy.Filter("few", on="a", where=f"n = {most}")]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"semi": USER, "anti": "a.n = users.id"}, 'table "users" is asked by semi and by anti'),
        ({"joins": "a.n = users.id", "semi": USER}, f'semi "{USER}": joins, filters or select name "users" as well'),
        ({"semi": USER, "filters": [OLD]}, 'joins, filters or select name "users" as well, so results have its rows'),
        ({"semi": USER, "select": ["users.id"]}, 'joins, filters or select name "users" as well'),
        (
            {"semi": "users.level > 3"},
            'semi: expected a condition between "users" and a stream .* asks all rows the same',
        ),
        ({"anti": "a.user > 3"}, 'anti "a.user > 3": expected a condition on one table .* got one of "a" alone'),
        ({"semi": f"{USER} and a.n > 1"}, 'expected conditions on "users", got "a.n > 1"; a condition on others is'),
        (
            {"semi": f"{USER} and 1 = 2"},
            'expected conditions on "users", got "1 = 2", which has no column and asks all',
        ),
        ({"semi": "user = users.id"}, 'semi "user = users.id": column "user" names no stream'),
        ({"semi": "a.user = user.id"}, 'unknown stream or table "user"; did you mean "users"'),
        ({"semi": "a.user = users.ids"}, 'unknown column "users.ids"; did you mean "users.id"'),
        ({"anti": USER, "filters": [TAKEN]}, 'filter "anti_users": an operator that looks up "users" has this name'),
        ({"semi": 3}, "query: semi: expected a text or a list of texts, got 3"),
    ],
)
def test_what_is_wrong_is_one_error(texts: dict[str, Any], said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        ask(**texts)


def test_a_query_says_what_it_asks() -> None:
    asked = eddy.Query(
        streams=[eddy.Stream("a")],
        tables=[eddy.Table("users"), eddy.Table("banned")],
        semi=["a.user = users.id"],
        anti=["a.user = banned.id and banned.at < a.at"],
    )
    assert [asked.inputs, asked.given] == [("a",), ("a", "users", "banned")]
    text = eddy.explain(asked)
    assert "if users has a match: a.user = users.id" in text
    assert "if banned has none: a.user = banned.id and banned.at < a.at" in text
    assert "  users: users.id (from a)" in text
