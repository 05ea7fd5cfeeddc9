"""Conditions that Spark alone evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eddy import sql
from eddy.errors import QueryError
from eddy.sql.bind.expression import Find

INSTEAD = {
    "after": "Spark evaluates its text before the eddy sees a row; put the guard into the text, as in `x <> 0 AND ...`",
    "on_error": "an error in its text is one of Spark's, and of the query; use try_cast, try_divide and the like",
}
"""What to do in place of keys that Spark knows nothing of."""


@dataclass(frozen=True, kw_only=True)
class SparkText:
    """A text over one input, and the reason for which it is none of ours.

    Which columns it reads only Spark knows, which finds them by their names.
    """

    text: str
    reason: str = field(compare=False)
    columns: Sequence[sql.Column] = ()

    def is_spelled(self, find: Find) -> bool:
        """Tell that nothing is to be done: Spark finds columns in any case."""
        return True

    def respell(self, find: Find) -> str:
        """Give the text as it is."""
        return self.text

    def refuse_key(self, key: str, where: str) -> None:
        """Refuse a key that says something of how the eddy evaluates a filter."""
        raise QueryError(f"{where}: {key}: {INSTEAD[key]}\n{self.reason}")
