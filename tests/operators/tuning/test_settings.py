"""A choice of indexes: what is read, and what every mistake is answered with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eddy.errors import QueryError
from eddy.operators.tuning.settings import KINDS, TOLD, IndexSettings, find_mistakes, list_defaults, read_index

COMING = [{"a": {"k": 3.0}}]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, IndexSettings()),
        ("chosen", IndexSettings(kind="chosen")),
        ({}, IndexSettings()),
        ({"kind": "hash", "count": np.int64(2)}, IndexSettings(kind="hash", count=2)),
        ({"kind": "bits", "cost": "work", "theta": 1}, IndexSettings(kind="bits", cost="work", theta=1)),
        (IndexSettings(kind="static", training=7), IndexSettings(kind="static", training=7)),
        (IndexSettings(kind=TOLD, coming=COMING), IndexSettings(kind=TOLD, coming=COMING)),
    ],
)
def test_a_choice_is_a_kind_or_its_keys_or_all_settings(choice: Any, expected: IndexSettings) -> None:
    read = read_index(choice)
    assert read == expected
    assert not isinstance(read.count, np.generic)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_kind_uses_may_be_said_of_it(kind: str) -> None:
    said = IndexSettings(kind=kind).describe()
    assert said.keys() == set(KINDS[kind].keys) <= list_defaults().keys()
    assert read_index(said, may_be_told=True) == IndexSettings(kind=kind)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (3, r'index: expected a kind, or \{"kind": ..., key: value\}, or IndexSettings\(...\), got 3$'),
        ("chossen", 'index: unknown kind "chossen"; did you mean "chosen"\\? known: "bits"'),
        ({"kind": ["bits"]}, "unknown kind \"\\['bits'\\]\""),
        ({"kind": "bits", "bit": 4}, 'index: unknown key "bit"; did you mean "bits"\\?'),
        ({"kind": "bits", "bits": 63}, "index: bits: expected a whole number from 1 to 32, got 63$"),
        ({"kind": "bits", "bits": 0}, "bits: expected a whole number from 1 to 32, got 0$"),
        ({"kind": "bits", "bits": True}, "bits: expected a whole number from 1 to 32, got True$"),
        ({"kind": "hash", "count": 0}, "index: count: expected a whole number of 1 or more, got 0$"),
        ({"kind": "hash", "assess": "cdia"}, 'unknown assess "cdia"; did you mean "dia"|"cdia_'),
        ({"kind": "hash", "schedule": "hybird"}, 'unknown schedule "hybird"; did you mean "hybrid"\\?'),
        ({"kind": "hash", "migrate": "some"}, 'unknown migrate "some"'),
        ({"kind": "bits", "cost": "seconds"}, 'unknown cost "seconds"; known: "paper", "work"'),
        ({"kind": "hash", "epsilon": 0}, "epsilon: expected a number above 0 and below 1, got 0$"),
        ({"kind": "hash", "theta": float("nan")}, "theta: expected a number above 0, and 1 at most, got nan$"),
        (
            {"kind": "hash", "theta": 1e-4},
            "expected theta of epsilon or more, got theta 0.0001 and epsilon 0.0002",
        ),
        (
            {"kind": "hash", "epsilon": 0.2},
            "epsilon: expected theta of .* or more, got theta 0.0005 and epsilon 0.2",
        ),
        ({"merge": 1}, "merge: expected true or false, got 1$"),
        ({"count": 3}, 'count: the kind "patterns" does not use it, only "hash" does; take it away$'),
        ({"kind": "hash", "bits": 3}, 'bits: the kind "hash" does not use it, only "bits", "static" do; take it away$'),
        ({"kind": "static", "period": 9}, 'the kind "static" does not use it, only "hash", "bits", "chosen" do'),
        (TOLD, 'index: kind: the kind "told" knows what is to come, .*; write "chosen"$'),
        (IndexSettings(kind=TOLD), 'the kind "told" knows what is to come'),
        (IndexSettings(kind="bits", bits=63), "bits: expected a whole number from 1 to 32, got 63$"),
        (IndexSettings(kind="bitts"), 'unknown kind "bitts"; did you mean "bits"'),
    ],
)
def test_a_wrong_choice_is_one_error_that_says_what_to_do(choice: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        read_index(choice)
    assert str(caught.value).startswith("index: ")


def test_no_mistake_hides_another() -> None:
    given = {"kind": "bits", "bits": 33, "count": 2, "theta": 0.0001, "trigger": 0}
    assert [key for key, _ in find_mistakes(given)] == ["bits", "trigger", "count", "theta"]
    assert [key for key, _ in find_mistakes({"kind": "bitts", "bits": 33, "count": 2})] == ["kind", "bits"]
