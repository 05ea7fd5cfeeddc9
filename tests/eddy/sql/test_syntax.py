"""What a text says: its parts, what binds to what, and the errors that show a place."""

from __future__ import annotations

import pytest

from eddy.errors import QueryError
from eddy.sql import Column, parse, parse_select

A_K, B_K, X = Column("a", "k"), Column("b", "k"), Column(None, "x")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a.k = b.k", (A_K, B_K)),
        ("x > 1 and b.k < a.k and x < 9", (X, B_K, A_K)),
        ("1 + 1", ()),
        ("`a`.`k` = `odd ``name`", (A_K, Column(None, "odd `name"))),
        ("year.date = interval + left", (Column("year", "date"), Column(None, "interval"), Column(None, "left"))),
        ("x -- nothing\n + /* or this: y */ a.k", (X, A_K)),
    ],
)
def test_columns_in_order_of_appearance(text: str, columns: tuple[Column, ...]) -> None:
    assert parse(text, where="here").columns == columns


def test_a_column_is_written_as_in_a_text() -> None:
    assert [str(column) for column in sorted([B_K, X, A_K])] == ["x", "a.k", "b.k"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x", ["x"]),
        ("x > 1 and a.k = b.k", ["x > 1", "a.k = b.k"]),
        ("x and (a.k and (b.k and x = 1))", ["x", "a.k", "b.k", "x = 1"]),
        ("x and a.k or b.k", ["x and a.k or b.k"]),
        ("not (x and a.k)", ["not (x and a.k)"]),
        ("x between 1 and 2 and a.k", ["x between 1 and 2", "x between 1 and 2", "a.k"]),
    ],
)
def test_conjuncts(text: str, parts: list[str]) -> None:
    assert [part.text for part in parse(text, where="here").conjuncts()] == parts


def test_a_between_is_two_comparisons() -> None:
    parts = [part.comparison() for part in parse("x between a.k and 2", where="here").conjuncts()]
    assert [(p.left.text, p.op, p.right.text) for p in parts if p] == [("x", ">=", "a.k"), ("x", "<=", "2")]


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">=", "!="])
def test_a_comparison_has_two_sides(op: str) -> None:
    found = parse(f"(a.k + 1 {op} b.k)", where="here").comparison()
    assert found is not None
    assert (found.left.text, found.op, found.right.as_column()) == ("a.k + 1", op, B_K)


@pytest.mark.parametrize(("written", "op"), [("==", "="), ("<>", "!="), ("!<", ">="), ("!>", "<=")])
def test_other_spellings_of_a_comparison(written: str, op: str) -> None:
    found = parse(f"x {written} 1", where="here").comparison()
    assert found is not None
    assert found.op == op


@pytest.mark.parametrize("text", ["x", "x <=> 1", "not x = 1", "x = 1 and x = 2", "x between 1 and 2"])
def test_what_is_no_comparison(text: str) -> None:
    assert parse(text, where="here").comparison() is None


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a+b*c", "a + (b * c)"),
        ("a or b and c", "a or (b and c)"),
        ("not a = b", "not (a = b)"),
        ("! a and b", "(not a) and b"),
        ("a = b is null", "(a = b) is null"),
        ("a = b < c", "(a = b) < c"),
        ("a = b in (c)", "(a = b) in (c)"),
        ("a || b + c", "(a || b) + c"),
        ("-a % b", "(-a) % b"),
        ("- a::int", "-(cast(a as int))"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("a not in (1)", "not (a in (1))"),
        ("a is not distinct from b", "a <=> b"),
        ("nvl(a, b)", "coalesce(a, b)"),
        ("mod(a, b)", "a % b"),
        ("case a when b then c end", "case when a = b then c end"),
    ],
)
def test_what_binds_to_what(text: str, same: str) -> None:
    assert parse(text, where="here") == parse(same, where="here")


def test_expressions_are_equal_when_they_say_the_same() -> None:
    assert parse("a.k  =  (1)", where="here") == parse("a.k = 1", where="there")
    assert parse("a.k = 1", where="here") != parse("a.k = 1L", where="here")
    assert len({parse("x + 1", where="here"), parse("x+1", where="here")}) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b.id AS key", (Column("b", "id"), "key")),
        ("b.id key", (Column("b", "id"), "key")),
        ("b.id", (Column("b", "id"), "id")),
        ("id", (Column(None, "id"), "id")),
        ("`b`.`the id` as `the key`", (Column("b", "the id"), "the key")),
    ],
)
def test_selected_columns(text: str, expected: tuple[Column, str]) -> None:
    assert parse_select(text, where="here") == expected


@pytest.mark.parametrize("text", ["b.id + 1 AS n", "upper(b.id)", "1", "b.id AS", "b.id AS 1", "b.id AS n m", "*", ""])
def test_only_columns_can_be_selected(text: str) -> None:
    with pytest.raises(QueryError, match=r"^select 2: "):
        parse_select(text, where="select 2")


# The text, the part of it that the carets must stand under ("" for the end of the text), and words of the error.
WRONG = [
    ("a +", "", "expected a value, the text ends here"),
    ("a + * b", "*", '"*" is not a value'),
    ("(a = b", "", 'expected ")" to close the parenthesis'),
    ("a = 'open", "'", "the quote ' that opens here is never closed"),
    ("a = b c", "c", 'expected an operator or the end of the expression, got "c"'),
    ("a = b; c", ";", "only one expression is allowed"),
    ("a > foo(3)", "foo", 'unknown function "foo"; did you mean'),
    ("a > uper(3)", "uper", 'did you mean "upper"?'),
    ("a > sondex(b)", "sondex", 'did you mean "soundex"?'),
    ("a > sum(b)", "sum", '"sum" is an aggregate function'),
    ("count(*) > 1", "count", '"count" is an aggregate function'),
    ("rank() over (order by a)", "rank", '"rank" is a window function'),
    ("a in (select b from c)", "select", "subqueries are not supported"),
    ("(select 1) = a", "select", "subqueries are not supported"),
    ("exists (select 1)", "exists (", "subqueries are not supported"),
    ("a = :p", ":", "expected a value"),
    ("a = ?", "?", "parameters are not supported"),
    ("a = b -> b", "->", "lambda functions are not supported"),
    ("a = b;", ";", 'leave out the ";" at the end'),
    ("a && b", "&&", 'write AND instead of "&&"'),
    ("select * from t where a > 1", "select", "only the condition is wanted"),
    ("SELECT a > 1", "SELECT", "only the condition is wanted"),
    ("where a > 1", "where", "only the condition is wanted; leave out the word WHERE"),
    ("where (a > 1)", "where", "only the condition is wanted"),
    ("from t where a", "from", "only the condition is wanted"),
    ("substr() = 'a'", "substr()"[:-1], "expected substr(text, position) or substr(text, position, length)"),
    ("substring(a)", "substring(a)", "expected substring(text, position)"),
    ("cast() = 1", "cast(", "expected cast(value as type)"),
    ("ltrim(a, b, c)", "ltrim(a, b, c)", "expected ltrim(text) or ltrim(characters, text)"),
    ("a = 'x${b}'", "'x${b}'", 'a text with "${" is not supported'),
    ("a & b", "&", 'the bit operator "&" is not supported'),
    ("a[1] = 2", "[", "elements of arrays and maps is not supported"),
    ("a.b.c = 2", "a.b.c", "struct fields are not supported"),
    ("a rlike '\\\\bx'", "'\\\\bx'", "Java's word boundary"),
    ("a rlike b", "b", "no text in quotes"),
    ("regexp_extract(a, 'x', 1) = ''", "'x'", "no group 1"),
    ("a like any ('x')", "like", "LIKE ANY is not supported"),
    ("a like 'x' escape 'xy'", "'xy'", "ESCAPE takes one character"),
    ("cast(a as strnig)", "strnig", 'unknown type "strnig"; did you mean "string"?'),
    ("cast(a as decimal(40,2))", "decimal(40,2)", "1 to 38 digits"),
    ("a > interval 5 months", "interval 5", 'intervals of "months" are not supported'),
    ("a > interval 5 parsecs", "parsecs", "expected a unit of time"),
    ("a > DATE '2024-13-01'", "'2024-13-01'", "is not a date"),
    ("a > TIMESTAMP 'soon'", "'soon'", "is not a timestamp"),
    ("upper(a, b)", "upper", '"upper" takes 1 argument, got 2'),
    ("greatest(a)", "greatest", '"greatest" takes at least 2 arguments, got 1'),
    ("a is 5", "5", "after IS"),
    ("a = #", "#", "expected a value"),
    ("a = é§", "§", 'the character "§" has no meaning'),
    ("300Y = a", "300Y", "does not fit the type"),
    ("extract(week from a)", "week", 'the field "week" of EXTRACT is not supported'),
    ("a > 1 and\n\t b > foo(c) and\n d", "foo", "unknown function"),
]


@pytest.mark.parametrize(("text", "part", "words"), WRONG, ids=[text for text, _, _ in WRONG])
def test_errors_show_their_place(text: str, part: str, words: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text, where='filter "f"')
    assert_marked(str(raised.value), text, part, words)


@pytest.mark.parametrize("text", ["where > 1", "select", "from is null", "`where` = 1", "t.where = 1"])
def test_columns_may_be_called_as_clauses(text: str) -> None:
    assert len(parse(text, where="here").columns) == 1


@pytest.mark.parametrize("text", ["*", "a.*"])
def test_the_star_is_not_selected(text: str) -> None:
    with pytest.raises(QueryError, match="leave select out for every column"):
        parse_select(text, where="select 2")


def assert_marked(error: str, text: str, part: str, words: str) -> None:
    said, line, carets = error.rsplit("\n", 2)
    assert said.startswith('filter "f": ')
    assert words in said
    assert line[2:] in text.split("\n")
    start = len(carets) - len(carets.lstrip())
    assert line[start : start + len(carets.strip())] == part
    assert set(carets.strip()) == {"^"}
    assert carets[2:start].count("\t") == line[2:start].count("\t")
