"""What each operator and function does: one literal dict each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from eddy.sql import arithmetic, comparison, like, logic, rounding, strings, times
from eddy.sql.session import Session
from eddy.sql.step import Step

Rule = Callable[[Session, Sequence[Step]], Step]


@dataclass(frozen=True)
class Function:
    """How a function binds, and how many arguments it takes."""

    rule: Rule
    counts: tuple[int, int | None]


OPERATORS: dict[str, Rule] = {
    **{name: partial(comparison.compare, name) for name in ("=", "!=", "<", "<=", ">", ">=")},
    "<=>": comparison.same,
    "between": comparison.between,
    "in": comparison.within,
    "and": partial(logic.connect, "and"),
    "or": partial(logic.connect, "or"),
    "not": logic.negate,
    "is true": logic.is_true,
    "is false": logic.is_false,
    "case": logic.case,
    "like": partial(like.like, "like"),
    "ilike": partial(like.like, "ilike"),
    "+": times.add,
    "-": times.subtract,
    "*": times.multiply,
    "/": times.divide,
    "div": times.divide_whole,
    "exact second": times.exact_second,
    "negative": arithmetic.negative,
    "positive": arithmetic.positive,
}
FUNCTIONS: dict[str, Function] = {
    "%": Function(partial(arithmetic.binary, "%"), (2, 2)),
    "abs": Function(arithmetic.absolute, (1, 1)),
    "ceil": Function(partial(rounding.whole, "ceil"), (1, 1)),
    "coalesce": Function(logic.coalesce, (1, None)),
    "concat": Function(strings.concat, (0, None)),
    "contains": Function(partial(strings.search, "contains"), (2, 2)),
    "day": Function(partial(times.part, "day"), (1, 1)),
    "dayofweek": Function(partial(times.part, "dayofweek"), (1, 1)),
    "endswith": Function(partial(strings.search, "endswith"), (2, 2)),
    "floor": Function(partial(rounding.whole, "floor"), (1, 1)),
    "greatest": Function(partial(comparison.extreme, "greatest"), (2, None)),
    "hour": Function(partial(times.part, "hour"), (1, 1)),
    "if": Function(logic.when, (3, 3)),
    "isnan": Function(comparison.isnan, (1, 1)),
    "isnotnull": Function(logic.is_not_null, (1, 1)),
    "isnull": Function(logic.is_null, (1, 1)),
    "least": Function(partial(comparison.extreme, "least"), (2, None)),
    "left": Function(strings.left, (2, 2)),
    "length": Function(strings.length, (1, 1)),
    "lower": Function(partial(strings.change_case, "lower"), (1, 1)),
    "ltrim": Function(partial(strings.trim, "ltrim"), (1, 2)),
    "minute": Function(partial(times.part, "minute"), (1, 1)),
    "month": Function(partial(times.part, "month"), (1, 1)),
    "nullif": Function(logic.null_if, (2, 2)),
    "nvl2": Function(logic.second_if_known, (3, 3)),
    "quarter": Function(partial(times.part, "quarter"), (1, 1)),
    "right": Function(strings.right, (2, 2)),
    "round": Function(rounding.round_half_up, (1, 2)),
    "rtrim": Function(partial(strings.trim, "rtrim"), (1, 2)),
    "second": Function(partial(times.part, "second"), (1, 1)),
    "startswith": Function(partial(strings.search, "startswith"), (2, 2)),
    "substring": Function(strings.substring, (2, 3)),
    "trim": Function(partial(strings.trim, "trim"), (1, 2)),
    "upper": Function(partial(strings.change_case, "upper"), (1, 1)),
    "year": Function(partial(times.part, "year"), (1, 1)),
}
RULES: dict[str, Rule] = {**OPERATORS, **{name: function.rule for name, function in FUNCTIONS.items()}}
