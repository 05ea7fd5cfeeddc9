"""Regular expressions: RLIKE and REGEXP_EXTRACT, over Arrow's RE2.

The grammar has let pass only patterns that mean the same to Java, which Spark asks: see `eddy.sql.values.regex`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels.strings import to_string
from eddy.sql.values import types
from eddy.sql.values.arrays import Value, on_arrays
from eddy.sql.values.regex import translate
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, apply

LAST_LINE_END = r"(?:\x{d}\x{a}|[\x{a}\x{d}\x{85}\x{2028}\x{2029}])\z"
"""What Java's `$` may stand before."""


def rlike(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind RLIKE: whether a pattern is found anywhere."""
    value, pattern = to_string(args[0], session), args[1].value
    assert pattern is not None, "the grammar lets nothing else through"
    found = translate(pattern.as_py())
    match = _match(found.pattern)
    return apply(_match_before_line_end(match) if found.dollar else match, (value,), types.BOOLEAN)


def _match(pattern: str) -> Callable[[Value], Value]:
    return lambda value: pc.match_substring_regex(value, pattern)


def _match_before_line_end(match: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """Ask about a text, and about what stands before the line end that it has last."""

    def kernel(values: Value) -> Value:
        cut = pc.replace_substring_regex(values, LAST_LINE_END, "")
        return pc.or_(match(values), match(cut))

    return kernel


def extract(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind REGEXP_EXTRACT: what a group holds where the pattern is found first; nothing where it is not."""
    value, pattern = to_string(args[0], session), args[1].value
    group = args[2].value if len(args) == 3 else pa.scalar(1)
    assert pattern is not None, "the grammar lets nothing else through"
    assert group is not None, "nor here"
    found = translate(pattern.as_py(), group.as_py()).pattern

    @on_arrays
    def kernel(values: pa.Array) -> pa.Array:
        held = pc.struct_field(pc.extract_regex(values, found), [0]).cast(types.STRING)
        return pc.if_else(pc.is_valid(values), pc.fill_null(held, ""), pa.scalar(None, types.STRING))

    return apply(kernel, (value,), types.STRING)
