"""What is written is read as the same tree, and means the same."""

from __future__ import annotations

import pytest

from eddy.errors import QueryError
from eddy.sql.bind.writer import write
from eddy.sql.text.grammar import read
from eddy.sql.values.tree import Node, Place
from tests.eddy.sql import cases, generator

RANDOM_EXPRESSIONS = 2_000


def tree(text: str) -> Node:
    return read(Place("here", text))


def test_every_expression_is_read_back() -> None:
    wrong = []
    for text in (*cases.AGREED, *cases.REFUSED, *generator.expressions(7, RANDOM_EXPRESSIONS)):
        try:
            found = tree(text)
        except QueryError:
            continue
        written = write(found)
        if tree(written) != found or write(tree(written)) != written:
            wrong.append((text, written))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("(a.k)=(b . k)", "a.k = b.k"),
        ("((x and y) and z) or not (not w)", "x AND y AND z OR NOT NOT w"),
        ("x and (y or z)", "x AND (y OR z)"),
        ("(a+b)*c - (d-e)", "(a + b) * c - (d - e)"),
        ("not x in (1,2) and x is not null", "x NOT IN (1, 2) AND x IS NOT NULL"),
        ("-(-(5)) + - x", "-(-(5)) + -x"),
        ("a || (b || c) || 'it''s'", r"a || (b || c) || 'it\'s'"),
        ("interval 1 day + interval '90' minutes", "INTERVAL 1 DAY + INTERVAL 90 MINUTES"),
        ("interval 24 hours", "INTERVAL 24 HOURS"),
        ("interval 0 seconds = interval 1500 milliseconds", "INTERVAL 0 SECONDS = INTERVAL 1.5 SECONDS"),
        ("`select` = `odd ``name`", "`select` = `odd ``name`"),
        ("x = 1.50 or x = 1e3 or x = 5L or x = 3000000000", "x = 1.50 OR x = 1000.0D OR x = 5L OR x = 3000000000L"),
        ("TIMESTAMP '2024-01-05 07:08'", "CAST('2024-01-05 07:08' AS TIMESTAMP)"),
        ("date '2024-1-5' and x'aB'", "DATE '2024-01-05' AND X'AB'"),
        ("case x when 1 then 'a' else 'b' end", "CASE WHEN x = 1 THEN 'a' ELSE 'b' END"),
        ("trim(leading 'a' from s) like '%b' escape '!'", "ltrim('a', s) LIKE '%b' ESCAPE '!'"),
        ("extract(hour from t) between 1 and 2", "hour(t) BETWEEN 1 AND 2"),
        ("x = y is null", "x = y IS NULL"),
        ("x::decimal(10,2) = try_cast(y as interval day to second)", None),
    ],
)
def test_how_it_is_written(text: str, written: str | None) -> None:
    assert written is None or write(tree(text)) == written
    assert tree(write(tree(text))) == tree(text)


def test_texts_that_mean_the_same_are_written_alike() -> None:
    for one, other in [
        ("a.k = b.k", "`a`.`k`==b.k"),
        ("x >= 1", "x !< 1"),
        ("coalesce(x, 0) <> 1", "nvl(x, 0) != 1"),
        ("x between 1 and 2", "((x)) BETWEEN 1 AND 2"),
        ("interval 60 seconds", "interval '1' minute"),
    ]:
        assert write(tree(one)) == write(tree(other))
