"""Conditions over rows of several inputs, each as SQL and as a function of a combination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from tests import reference
from tests.reference import Combination, before, same


@dataclass(frozen=True)
class Condition:
    """A condition in SQL, which the engine and DuckDB read alike, and as a function of a combination."""

    sql: str
    holds: reference.Condition


def _equal(a: str, x: str, b: str, y: str) -> Condition:
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


def sums(a: str, b: str, d: str) -> Condition:
    return Condition(f"{a}.k + {b}.k = {d}.k", lambda c: same(_plus(c[a]["k"], c[b]["k"]), c[d]["k"]))


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _near(c: Combination, a: str, b: str) -> bool | None:
    left, right = c[a]["k"], c[b]["k"]
    return None if left is None or right is None else abs(left - right) <= 1


@st.composite
def edges(draw: st.DrawFn, a: str, b: str) -> Condition:
    """A condition between two inputs."""
    kinds: list[Callable[[], Condition]] = [
        lambda: _equal(a, "k", b, "k"),
        lambda: _equal(a, "s", b, "s"),
        lambda: _equal(a, "f", b, "f"),
        lambda: _equal(a, "k", b, "x"),
        lambda: _equal(a, "x", b, "x"),
        lambda: _next(a, b),
        lambda: _less(a, "x", b, "x"),
        lambda: _at_least(a, "f", b, "f"),
        lambda: _less(a, "s", b, "s"),
        lambda: _unlike(a, "k", b, "k"),
        lambda: _band(a, b),
    ]
    return draw(st.sampled_from(kinds))()
