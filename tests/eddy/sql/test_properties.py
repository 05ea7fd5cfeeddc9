"""LIKE and substrings against models that are too simple to be wrong."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from eddy.sql import Column, parse

TEXT = st.text(alphabet="aB%_\\\n.*ßé🎉", max_size=6)
SIZES = st.integers(-8, 8)
COLUMNS = [Column(None, name) for name in ("s", "p")]


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def evaluate(text: str, *arrays: pa.Array) -> list[object]:
    columns = dict(zip(COLUMNS, arrays, strict=False))
    bound = parse(text, where="here").bind({column: array.type for column, array in columns.items()})
    return bound.evaluate(columns, len(arrays[0])).to_pylist()


def like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(text[at:], pattern[1:]) for at in range(len(text) + 1))
    if pattern[0] == "/":
        return text[:1] == pattern[1] and like(text[1:], pattern[2:])
    return bool(text) and pattern[0] in ("_", text[0]) and like(text[1:], pattern[1:])


PATTERNS = st.lists(st.sampled_from([*"aB%%__\\\n.*ßé🎉", "/%", "/_", "//"]), max_size=6).map("".join)


@given(st.lists(TEXT, min_size=1, max_size=5), PATTERNS)
def test_like(texts: list[str], pattern: str) -> None:
    expected = [like(text, pattern) for text in texts]
    assert evaluate(f"s like {quoted(pattern).replace(chr(92) + '%', '%')} escape '/'", pa.array(texts)) == expected
    assert evaluate("s like p escape '/'", pa.array(texts), pa.array([pattern] * len(texts))) == expected


@given(st.lists(st.tuples(TEXT, PATTERNS), min_size=1, max_size=5))
def test_like_with_a_pattern_in_each_row(rows: list[tuple[str, str]]) -> None:
    texts, patterns = (pa.array(column) for column in zip(*rows, strict=True))
    assert evaluate("s like p escape '/'", texts, patterns) == [like(*row) for row in rows]


def substring(text: str, start: int, size: int) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return "".join(text[at] for at in range(begin, begin + size) if 0 <= at < len(text))


@given(st.lists(TEXT, min_size=1, max_size=4), SIZES, SIZES)
def test_substring_of_constants(texts: list[str], start: int, size: int) -> None:
    expected = [substring(text, start, size) for text in texts]
    assert evaluate(f"substring(s, {start}, {size})", pa.array(texts)) == expected


@given(st.lists(TEXT, min_size=1, max_size=4), SIZES)
def test_left_and_right(texts: list[str], size: int) -> None:
    kept = max(size, 0)
    assert evaluate(f"left(s, {size})", pa.array(texts)) == [text[:kept] for text in texts]
    assert evaluate(f"right(s, {size})", pa.array(texts)) == [
        text[len(text) - kept :] if kept < len(text) else text for text in texts
    ]
