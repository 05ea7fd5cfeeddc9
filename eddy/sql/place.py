"""Where in a text something is wrong, shown to its writer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eddy.errors import QueryError, RowError, unknown


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
        return QueryError(f"{self.where}: {message}\n{self.marked(start, end)}")

    def fault(self, message: str, start: int, end: int) -> RowError:
        """Build the error of values in some row that `text[start:end]` has no answer for."""
        kind = f"cannot be computed: {self.text[start:end]}"
        return RowError(f"{self.where}: {message}\n{self.marked(start, end)}", kind=kind)

    def unknown(self, kind: str, name: str, known: Iterable[str], start: int, end: int) -> QueryError:
        """Build the error for a name in `text[start:end]` that nothing has."""
        return QueryError(f"{unknown(kind, name, known, where=self.where)}\n{self.marked(start, end)}")

    def marked(self, start: int, end: int) -> str:
        """Show the line that holds `start`, and carets under it."""
        first = self.text.rfind("\n", 0, start) + 1
        line = self.text[first:].split("\n", 1)[0]
        lead = "".join("\t" if c == "\t" else " " for c in line[: start - first])
        width = max(1, min(end, first + len(line)) - start)
        return f"  {line}\n  {lead}{'^' * width}"
