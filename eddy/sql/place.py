"""Where in a text something is wrong, shown to its writer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eddy.errors import NAME, QueryError, RowError, shortened, unknown

WIDE = 160
"""Characters of a line that are shown around a mark; a line of a text may be as long as the text."""


@dataclass(frozen=True)
class Place:
    """A text, and the name under which its writer knows it."""

    where: str
    text: str

    def error(self, message: str, start: int, end: int) -> QueryError:
        """Build the error that points at `text[start:end]`.

        >>> print(Place('filter "f"', "a + b").error("no", 4, 5))
        filter "f": no
          a + b
              ^
        """
        return QueryError(self._told(message, start, end))

    def fault(self, message: str, start: int, end: int) -> RowError:
        """Build the error of values in some row that `text[start:end]` has no answer for."""
        kind = f"cannot be computed: {shortened(self.text[start:end], NAME)}"
        return RowError(self._told(message, start, end), kind=kind)

    def unknown(self, kind: str, name: str, known: Iterable[str], start: int, end: int) -> QueryError:
        """Build the error for a name in `text[start:end]` that nothing has."""
        return QueryError(f"{unknown(kind, name, known, where=shortened(self.where))}\n{self.marked(start, end)}")

    def marked(self, start: int, end: int) -> str:
        """Show the line that holds `start`, or a part of it, and carets under it."""
        first = self.text.rfind("\n", 0, start) + 1
        line = self.text[first:].split("\n", 1)[0]
        at, low = start - first, 0
        if len(line) > WIDE:
            low = max(0, min(at - WIDE // 2, len(line) - WIDE))
        part = line[low : low + WIDE]
        lead = "".join("\t" if c == "\t" else " " for c in part[: at - low])
        width = max(1, min(end - first - low, len(part)) - (at - low))
        before, after = "... " if low else "", " ..." if low + WIDE < len(line) else ""
        return f"  {before}{part}{after}\n  {' ' * len(before)}{lead}{'^' * width}"

    def _told(self, message: str, start: int, end: int) -> str:
        return f"{shortened(self.where)}: {shortened(message)}\n{self.marked(start, end)}"
