"""Random expressions over `rows.TABLE`, of a wanted kind.

They are built so that no row makes Spark fail: divisors are never zero, and numbers stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

_LEAVES = {
    "number": ["i", "j", "l", "d", "m", "n", "t", "2", "-3", "1.5", "0.25e0", "7L", "null", "f"],
    "string": ["s", "u", "k", "'abc'", "'%b_'", "''", "null", "'É\\n'"],
    "condition": ["b", "true", "cast(null as boolean)", "(not b)", "(i is null)"],
    "time": ["z", "x", "a", "TIMESTAMP '2024-03-31 01:30:00'", "DATE '1969-12-31'"],
    "length": ["v", "interval 1 day", "interval '90' minutes", "interval -1.5 seconds"],
}


def expressions(seed: int, count: int) -> Iterator[str]:
    """Yield so many expressions, the same for the same seed."""
    random = Random(seed)
    for _ in range(count):
        yield make(random, random.choice(["number", "string", "condition", "condition", "time"]), random.randint(1, 4))


def make(random: Random, kind: str, depth: int) -> str:
    """Write an expression of a kind, so many levels deep at most."""
    if depth == 0:
        return random.choice(_LEAVES[kind])
    template = random.choice(_TEMPLATES[kind])
    return _FILL[kind](random, template, depth - 1)


def _fill(random: Random, template: str, depth: int) -> str:
    parts = template.split("{")
    text = parts[0]
    for part in parts[1:]:
        kind, rest = part.split("}", 1)
        text += make(random, _KINDS[kind], depth) + rest
    return text


_KINDS = {"N": "number", "S": "string", "B": "condition", "T": "time", "V": "length"}
_FILL: dict[str, Callable[[Random, str, int], str]] = dict.fromkeys(_KINDS.values(), _fill)
_TEMPLATES = {
    "number": [
        *("({N} + 1.0e0)", "({N} - {N} * 0e0)", "-({N})", "({N} / 3e0)", "(i % nullif({F}, 0))", "abs({N} * 1e0)"),
        *("length({S})", "coalesce({N}, {N})", "case when {B} then {N} else {N} end", "if({B}, {N}, {N})"),
        *("nullif({N}, {N})", "greatest({N}, {N})", "least({N}, {N}, 5)", "year({T})", "second({T})", "dayofweek({T})"),
        *("case when {N} <> 0 then 1e0 / ({N} * 0e0 + 2) end", "(j * 2 + {N} * 1e0)", "round({N}, 1)"),
        *("({D} + {D})", "({D} - {D})", "({D} * {D})", "({D} / nullif({D}, 0))", "({D} % nullif({F}, 0))"),
    ],
    "string": [
        *("upper({S})", "lower({S})", "substring({S}, {I}, {I})", "({S} || {S})", "trim({S})", "left({S}, {I})"),
        *("right({S}, {I})", "concat({S}, i, {S})", "coalesce({S}, {S})", "if({B}, {S}, {S})", "nullif({S}, {S})"),
        *("case when {B} then {S} when {B} then {S} end", "ltrim({S})", "rtrim('b', {S})"),
        *("greatest({S}, {S})", "least({S}, 'b')"),
    ],
    "condition": [
        *("({N} < {N})", "({N} = {N})", "({N} <=> {N})", "({N} >= {N})", "({S} = {S})", "({S} < {S})", "({T} <= {T})"),
        *(
            "({T} <> {T})",
            "({B} and {B})",
            "({B} or {B})",
            "(not {B})",
            "({N} in ({N}, {N}, 3))",
            "({S} in ({S}, 'abc'))",
        ),
        *("({N} not in (1, 2.5, null))", "({N} between {N} and {N})", "({S} like '%b%')", "({S} like 'a_c%')"),
        *("({S} not like '%\\n_')", "({S} ilike '%É%')", "({N} is null)", "({B} is not true)", "({B} is false)"),
        *("isnan({N})", "startswith({S}, {S})", "contains({S}, 'b')", "endswith({S}, {S})", "({B} <=> {B})"),
        *(
            "(j <> 0 and i / j > {N})",
            "(j = 0 or i % j = {N})",
            "if({B}, {B}, {B})",
            "({T} - {T} > {V})",
            "({V} < {V})",
        ),
        *("coalesce({B}, {B})", "({T} + {V} > {T})", "({T} not between {T} and {T})"),
    ],
    "time": [
        "({T} + {V})",
        "({T} - {V})",
        "(a + interval 1 day)",
        "coalesce({T}, {T})",
        "greatest({T}, {T})",
        "if({B}, {T}, {T})",
    ],
    "length": ["-({V})", "({T} - {T})", "abs({V})"],
}
_LEAVES["decimal"] = ["m", "n", "cast(j as decimal(6,2))", "-7.25", "3"]
_LEAVES["few digits"] = ["n", "cast(j as decimal(6,2))", "-7.25", "0.3"]
_LEAVES["index"] = ["0", "1", "2", "-2", "3", "-7"]
for letter, kind in (("I", "index"), ("D", "decimal"), ("F", "few digits")):
    _TEMPLATES[kind], _KINDS[letter], _FILL[kind] = _LEAVES[kind], kind, _fill
