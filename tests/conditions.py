"""Conditions over rows of several inputs, each as SQL and as a function of a combination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests import reference
from tests.reference import Combination, before, same


@dataclass(frozen=True)
class Condition:
    """A condition in SQL, which the engine and DuckDB read alike, and as a function of a combination."""

    sql: str
    holds: reference.Condition


def equal(a: str, x: str, b: str, y: str) -> Condition:
    return Condition(f"{a}.{x} = {b}.{y}", lambda c: same(c[a][x], c[b][y]))


def negation(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _less(a: str, x: str, b: str, y: str) -> Condition:
    return Condition(f"{a}.{x} < {b}.{y}", lambda c: before(c[a][x], c[b][y]))


def _at_least(a: str, x: str, b: str, y: str) -> Condition:
    return Condition(f"{a}.{x} >= {b}.{y}", lambda c: negation(before(c[a][x], c[b][y])))


def _unlike(a: str, x: str, b: str, y: str) -> Condition:
    return Condition(f"{a}.{x} <> {b}.{y}", lambda c: negation(same(c[a][x], c[b][y])))


def _next(a: str, b: str) -> Condition:
    return Condition(f"{a}.k + 1 = {b}.k", lambda c: same(_plus(c[a]["k"], 1), c[b]["k"]))


def _band(a: str, b: str) -> Condition:
    return Condition(f"abs({a}.k - {b}.k) <= 1", lambda c: _near(c, a, b))


def _quotient(a: str, b: str) -> Condition:
    """A key that cannot be computed for some rows."""
    return Condition(f"6 div {a}.k = {b}.k", lambda c: _same_quotient(c[a]["k"], c[b]["k"]))


def _same_quotient(divisor: int | None, other: int | None) -> bool | None:
    """Null joins nothing, whatever cannot be computed beside it."""
    return None if divisor is None or other is None else same(_divided(6, divisor), other)


def ratio(a: str, b: str) -> Condition:
    """A comparison that cannot be computed for some pairs."""
    return Condition(f"{a}.x / ({b}.k - 1) > 0.5", lambda c: _above(c[a]["x"], c[b]["k"]))


def _above(x: int | None, k: int | None) -> bool | None:
    if k is None or x is None:
        return None
    return x / (k - 1) > 0.5 if k != 1 else _fails()


def _order(a: str, b: str) -> Condition:
    """An order by a key that cannot be computed for some rows."""
    return Condition(f"6 div {a}.k <= {b}.k", lambda c: _at_most(c[a]["k"], c[b]["k"]))


def _at_most(divisor: int | None, other: int | None) -> bool | None:
    return None if divisor is None or other is None else _divided(6, divisor) <= other


def _divided(number: int, divisor: int) -> int:
    return number // divisor if divisor else _fails()


def _fails() -> Any:
    raise reference.NoAnswer


def sums(a: str, b: str, d: str) -> Condition:
    return Condition(f"{a}.k + {b}.k = {d}.k", lambda c: same(_plus(c[a]["k"], c[b]["k"]), c[d]["k"]))


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _near(c: Combination, a: str, b: str) -> bool | None:
    left, right = c[a]["k"], c[b]["k"]
    return None if left is None or right is None else abs(left - right) <= 1


def alone(a: str) -> Condition:
    """A condition on one input."""
    return Condition(f"{a}.k <> 1", lambda c: negation(same(c[a]["k"], 1)))


@st.composite
def edges(draw: st.DrawFn, a: str, b: str, *, faults: bool = False) -> Condition:
    """A condition between two inputs; now and then one that has no answer for some rows, if there may be any."""
    if faults and draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([_quotient, ratio, _order]))(a, b)
    kinds: list[Callable[[], Condition]] = [
        lambda: equal(a, "k", b, "k"),
        lambda: equal(a, "s", b, "s"),
        lambda: equal(a, "f", b, "f"),
        lambda: equal(a, "k", b, "x"),
        lambda: equal(a, "x", b, "x"),
        lambda: _next(a, b),
        lambda: _less(a, "x", b, "x"),
        lambda: _at_least(a, "f", b, "f"),
        lambda: _less(a, "s", b, "s"),
        lambda: _unlike(a, "k", b, "k"),
        lambda: _band(a, b),
    ]
    return draw(st.sampled_from(kinds))()
