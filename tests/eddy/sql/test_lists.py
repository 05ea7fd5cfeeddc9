"""Long lists, long texts and wide tables: the same answers as short ones, for a price in proportion.

What is here took minutes, or would if it grew with the square.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy.errors import RowError
from eddy.sql import parse
from eddy.sql.text.reader import LEAST_LISTED
from tests.eddy.sql.rows import TABLE, TYPES, columns, plain

# What is looked for, and lists that hold some of it: numbers of every kind, texts, nulls, what is like nothing at all.
LISTS = [
    *(("i", ["7", "100", "5"]), ("i", ["7", "null"]), ("t", ["-128", "300"]), ("big", ["9007199254740993", "-1"])),
    *(("l", ["10", "3.0", "4e0"]), ("i", ["7.0", "'5'", "'12'"]), ("i", ["'7'", "' -100 '"]), ("k", ["12", "99"])),
    *(("d", ["0", "2.5", "-2.5"]), ("d", ["'NaN'", "-0.0", "0.1"]), ("f", ["0.1f", "1.5"]), ("f", ["0.1", "1.5"])),
    *(
        ("e", ["-0e0", "1.5D", "1e-7"]),
        ("m", ["1.25", "3", "-.01"]),
        ("w", ["3", "-7.5BD", "1e12"]),
        ("n", ["5.", ".001"]),
    ),
    *(
        ("s", ["'abc'", "''", "'a\\nb'"]),
        ("s", ['"100%"', "'Straße'"]),
        ("u", ["'a%b'", "'\\\\\\\\'", "NULL", "'it''s'"]),
    ),
    *(("a", ["'2024-02-29'", "'1970-1-1'"]), ("z", ["'2000-01-01'", "'1970-01-01 01:00:00+01:00'"]), ("x", ["'2000'"])),
    *(("b", ["'true'", "'no'"]), ("i", ["99999999999", "7Y", "5S"]), ("null", ["1", "2"]), ("i", ["null"])),
]


def found(text: str) -> list[Any]:
    return plain(parse(text, where="here").bind(TYPES).evaluate(columns(TYPES), TABLE.num_rows))


@pytest.mark.parametrize("negated", ["", "not "], ids=["in", "not in"])
@pytest.mark.parametrize(("value", "items"), LISTS, ids=[f"{value} in {items}" for value, items in LISTS])
def test_a_long_list_means_what_its_parts_mean(value: str, items: Sequence[str], negated: str) -> None:
    """Lists of literals are read, converted and looked up as one; short ones and `or` are not."""
    long = [items[place % len(items)] for place in range(LEAST_LISTED)]
    assert found(f"{value} {negated}in ({', '.join(long)})") == found(f"{value} {negated}in ({', '.join(items)})")
    if not negated:
        assert found(f"{value} in ({' , '.join(long)} )") == found(" or ".join(f"{value} = {item}" for item in items))


MISTAKES = [
    ("i in ({}, 300Y)", "300Y", "does not fit the type"),
    ("s in ({}, '\\U00110000')", "'\\U00110000'", "there is no character"),
    ("b in ({}, 1)", "b in", "needs values of one kind"),
    ("a in ({}, 'now')", "a in", "from its clock"),
]


@pytest.mark.parametrize(("text", "marked", "message"), MISTAKES, ids=[message for *_, message in MISTAKES])
def test_mistakes_in_a_long_list_are_shown_in_their_place(text: str, marked: str, message: str) -> None:
    filler = {"i": "1", "s": "'x'", "b": "1", "a": "'2024-01-01'"}[text[0]]
    whole = text.format(", ".join([filler] * LEAST_LISTED))
    with pytest.raises(eddy.QueryError, match=message) as raised:
        found(whole)
    *_, line, carets = str(raised.value).splitlines()
    assert line[carets.index("^") :].startswith(marked)


def test_what_cannot_be_converted_waits_for_a_row_that_needs_it() -> None:
    items = ["'7'"] * LEAST_LISTED + ["'x'"]
    assert found(f"i is null and i in ({', '.join(items)})") == found("i is null and null")
    with pytest.raises(RowError, match="'x' cannot be cast"):
        found(f"i in ({', '.join(items)})")


ROWS = 50
MANY = 100_000
TERMS = 5_000
COLUMNS = 5_000
DATA = pa.table({"ts": range(ROWS), "v": range(ROWS), "s": [f"x{n}" for n in range(ROWS)]})
LARGE = {
    "numbers": (f"v in ({','.join(map(str, range(25, MANY)))})", 25),
    "texts": (f"s in ({','.join(f'{chr(39)}x{n}{chr(39)}' for n in range(25, MANY))})", 25),
    "texts of numbers": (f"v in ({','.join(f'{chr(39)}{n}{chr(39)}' for n in range(25, MANY))})", 25),
    "terms": (" and ".join(f"v <> {n}" for n in range(40, 40 + TERMS)), 40),
    "alternatives": (" or ".join(f"(v = {n} and s <> 'x{n + 1}')" for n in range(40, 40 + TERMS // 5)), 10),
}


@pytest.mark.parametrize("name", LARGE)
def test_long_texts(name: str) -> None:
    text, rows = LARGE[name]
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=[eddy.Filter("f", on="a", where=text)])
    assert eddy.run_local(asked, {"a": DATA}).results.num_rows == rows


@pytest.mark.parametrize("policy", ["fixed", "content", "query_mesh"])
def test_a_table_of_which_two_columns_are_used(policy: str) -> None:
    unused = pa.array(range(ROWS), pa.int64())
    wide = pa.table({**{name: DATA[name] for name in DATA.column_names}, **{f"c{n}": unused for n in range(COLUMNS)}})
    filters = [eddy.Filter("low", on="a", where="v < 40"), eddy.Filter("high", on="a", where="v >= 10")]
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.v"])
    assert eddy.run_local(asked, {"a": wide}, policy=policy).results.num_rows == 30
