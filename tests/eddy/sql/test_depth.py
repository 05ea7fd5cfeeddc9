"""Long and deep expressions: the long are taken, the deep are refused with their place."""

from __future__ import annotations

import copy
import pickle
import sys

import cloudpickle
import pyarrow as pa
import pytest

from eddy.errors import QueryError
from eddy.sql import Column, parse
from eddy.sql.text.reader import DEEPEST_BRACKETS, HIGHEST

# What is left to us where the caller's own stack is this deep.
CALLERS = 200
# More than Python calls itself by some times.
MANY = 3_000
COLUMNS = {
    Column(None, "i"): pa.array([1, None, MANY - 1, -1], pa.int32()),
    Column(None, "b"): pa.array([True, None, False, False]),
    Column(None, "s"): pa.array(["a", None, "b", ""]),
}
TYPES = {column: array.type for column, array in COLUMNS.items()}


def nested(before: str, core: str, after: str, levels: int) -> str:
    return before * levels + core + after * levels


def deeper(frames: int, text: str) -> pa.Array:
    """Do all that is done with an expression, from deep inside of somebody's stack."""
    if frames:
        return deeper(frames - 1, text)
    read = parse(text, where="here")
    assert read == parse(text, where="there")
    assert len({hash(read), hash(read.qualify(lambda column: column))}) == 1
    for dump in (pickle.dumps, cloudpickle.dumps):
        assert pickle.loads(dump(read)) == read
    assert copy.deepcopy(read) == read
    return read.bind(TYPES).evaluate(COLUMNS, 4)


LONG = [
    (" or ".join(f"i = {number}" for number in range(MANY)), [True, None, True, False]),
    (" and ".join(f"i <> {number + 7}" for number in range(MANY)), [True, None, False, True]),
    (" or ".join(f"10 / (i - {MANY + number}) > 1" for number in range(300)), [False, None, False, False]),
    ("(((b or b) or b) or (b or (b or b))) or b", [True, None, False, False]),
    (f"i in ({', '.join(map(str, range(MANY)))})", [True, None, True, False]),
    (f"i in ({', '.join(['i'] * 400)})", [True, None, True, True]),
    (" || ".join(["s"] * MANY), ["a" * MANY, None, "b" * MANY, ""]),
    (f"coalesce({', '.join(['i'] * 400)})", [1, None, MANY - 1, -1]),
    (f"greatest({', '.join(['i'] * 400)})", [1, None, MANY - 1, -1]),
    (f"case {' '.join(f'when i = {number} then {number}' for number in range(400))} end", [1, None, None, None]),
    (f"case {' '.join(f'when i = {number} then 9 / i' for number in range(1, 400))} end", [9.0, None, None, None]),
]


@pytest.mark.parametrize(("text", "expected"), LONG, ids=[text[:30] for text, _ in LONG])
def test_long_expressions(text: str, expected: list[object]) -> None:
    assert deeper(CALLERS, text).to_pylist() == expected


def test_all_the_conditions_of_a_long_text() -> None:
    assert [part.text for part in parse(LONG[1][0], where="here").conjuncts()][-1] == f"i <> {MANY + 6}"


DEEP = [
    (("(", "b", ")"), DEEPEST_BRACKETS - 1),
    (("not (", "b", ")"), DEEPEST_BRACKETS - 1),
    (("(b or i is null and ", "b", ")"), HIGHEST // 2 - 1),
    (("abs(", "i", ")"), DEEPEST_BRACKETS - 1),
    (("abs(0 + ", "i", ")"), DEEPEST_BRACKETS - 1),
    (("coalesce(i / 1, ", "i", ")"), DEEPEST_BRACKETS - 1),
    (("if(i / 2 > 1, ", "i", ", 1 / i)"), DEEPEST_BRACKETS - 1),
    (("substring(", "s", ", 1)"), DEEPEST_BRACKETS - 1),
    (("trim('x' from ", "s", ")"), DEEPEST_BRACKETS - 1),
    (("case when ", "b", " then b end"), DEEPEST_BRACKETS - 1),
    (("", "b", " = b"), HIGHEST - 2),
    (("", "i", " - i"), HIGHEST - 2),
    (("", "i", " - 1.5"), HIGHEST - 2),
    (("not ", "b", ""), HIGHEST - 2),
    (("- ", "i", ""), HIGHEST - 2),
    (("", "i", "::bigint::int"), HIGHEST // 2 - 1),
]


@pytest.mark.parametrize(("parts", "levels"), DEEP, ids=["".join(parts) for parts, _ in DEEP])
def test_deep_expressions(parts: tuple[str, str, str], levels: int) -> None:
    assert len(deeper(CALLERS, nested(*parts, levels))) == 4
    for too_many in (300, MANY):
        with pytest.raises(
            QueryError, match=r"here: the expression is more than \d+ levels deep here; split it"
        ) as raised:
            deeper(CALLERS, nested(*parts, too_many))
        assert str(raised.value).rsplit("\n", 1)[1].strip("^ ") == ""


def test_what_fails_deep_inside_takes_no_longer() -> None:
    columns = {Column(None, "i"): pa.array([3, 2], pa.int32()), Column(None, "n"): pa.array([None, 1], pa.int32())}
    bound = parse(nested("(n - ", "1 / (i - 3)", ")", DEEPEST_BRACKETS - 5), where="here").bind(
        dict.fromkeys(columns, pa.int32())
    )
    assert bound.evaluate(columns, 2).to_pylist() == [None, 2.0]
    with pytest.raises(QueryError, match="division by zero"):
        bound.evaluate(dict.fromkeys(columns, pa.array([None, 3], pa.int32())), 2)


def test_the_limits_leave_room_to_the_caller() -> None:
    assert sys.getrecursionlimit() == 1000
