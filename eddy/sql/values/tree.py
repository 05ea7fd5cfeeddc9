"""The tree of an expression, and places in its text.

Nodes compare by what they say; where they stand in the text is not part of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa

from eddy.errors import LONGEST_NAME, QueryError, RowError, SparkOnlyError, shorten, unknown_name

WIDE = 160
"""Characters of a line that are shown around a mark; a line of a text may be as long as the text."""

ONLY_SPARK = "Spark alone evaluates it, in a filter over one input, by eddy.attach, or eddy.where on a frame of Spark's"
"""Where SQL has its place that we have not."""


COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
"""The names of comparisons; `<=>`, which null passes, is another thing."""


class Column(NamedTuple):
    """A column, with its stream where the text names one."""

    stream: str | None
    name: str

    def __str__(self) -> str:
        return self.name if self.stream is None else f"{self.stream}.{self.name}"

    def __lt__(self, other: tuple[str | None, ...]) -> bool:
        stream, name = other
        return (self.stream or "", self.name) < (stream or "", name or "")


# Frozen it would take three times as long to make, and a text has hundreds.
@dataclass(slots=True)
class TextSpan:
    """The part of the text that a node was read from."""

    start: int
    end: int


@dataclass(frozen=True)
class Node:
    """One node of the tree."""

    span: TextSpan = field(compare=False)

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes below this one, in the order of the text."""
        return ()

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, in the order of the text."""
        return (node for _, node in self.levels())

    def levels(self) -> Iterator[tuple[int, Node]]:
        """Yield the same with the level of each.

        This one is on the first.
        """
        pending: list[tuple[int, Node]] = [(1, self)]
        while pending:
            level, node = pending.pop()
            yield level, node
            pending += [(level + 1, child) for child in reversed(node.children)]


@dataclass(frozen=True)
class Ref(Node):
    """A column, and what the text calls it."""

    column: Column
    written: Column = field(compare=False)

    @property
    def bare(self) -> bool:
        """Whether the text names no stream."""
        return self.written.stream is None


@dataclass(frozen=True)
class Literal(Node):
    """A value; `whole_days` marks intervals that count days only.

    Spark gives such intervals a type of their own: a date plus one of them stays a date.
    """

    value: object
    type: pa.DataType
    whole_days: bool = False


@dataclass(frozen=True)
class Literals(Node):
    """Many values of one type, as the list of IN has them."""

    values: tuple[object, ...]
    type: pa.DataType


@dataclass(frozen=True)
class AnyCall(Node):
    """Whatever takes arguments."""

    name: str
    args: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The arguments."""
        return self.args


class Call(AnyCall):
    """An operator or a function, by its one lower-case name."""


class UserCall(AnyCall):
    """A predicate in Python, asked in a statement."""


@dataclass(frozen=True)
class Cast(Node):
    """A conversion to a type; a safe one gives null, not an error."""

    child: Node
    type: pa.DataType
    safe: bool

    @property
    def children(self) -> tuple[Node, ...]:
        """The value to be converted."""
        return (self.child,)


def join_conditions(span: TextSpan, name: str, parts: Iterable[Node]) -> Call:
    """Join conditions by AND or OR, into one flat node.

    It does not matter how they were nested. Which of them comes first does not matter to the value, and neither does it
    to what Spark evaluates.
    """
    flat = [part.args if isinstance(part, Call) and part.name == name else (part,) for part in parts]
    return Call(span, name, tuple(node for nodes in flat for node in nodes))


def list_refs(node: Node) -> list[Ref]:
    """List the columns that a tree names, in the order of the text."""
    return [part for part in node.walk() if isinstance(part, Ref)]


def rename_refs(node: Node, name: Callable[[Ref], Column]) -> Node:
    """The same tree with other names for its columns, which may depend on where they stand."""
    if isinstance(node, Ref):
        return replace(node, column=name(node))
    if isinstance(node, AnyCall):
        return replace(node, args=tuple(rename_refs(arg, name) for arg in node.args))
    if isinstance(node, Cast):
        return replace(node, child=rename_refs(node.child, name))
    return node


@dataclass(frozen=True)
class Place:
    """A text, and the name under which its writer knows it.

    `only_spark` says where that has its place which Spark alone evaluates.
    """

    where: str
    text: str
    only_spark: str = ONLY_SPARK

    def error(self, message: str, at: TextSpan) -> QueryError:
        """Build the error that points at a part of the text.

        >>> print(Place('filter "f"', "a + b").error("no", TextSpan(4, 5)))
        filter "f": no
          a + b
              ^
        """
        return QueryError(self._write_error(message, at))

    def beyond(self, message: str, at: TextSpan) -> SparkOnlyError:
        """Build the error for what Spark alone evaluates."""
        return SparkOnlyError(self._write_error(f"{message}; {self.only_spark}", at))

    def fault(self, message: str, at: TextSpan) -> RowError:
        """Build the error of values that have no answer.

        They are in some row, and this part of the text has no answer for them.
        """
        kind = f"cannot be computed: {shorten(self.text[at.start : at.end], LONGEST_NAME)}"
        return RowError(self._write_error(message, at), kind=kind)

    def unknown(
        self, kind: str, name: str, known: Iterable[str], at: TextSpan, unlisted: Iterable[str] = (), hint: str = ""
    ) -> QueryError:
        """Build the error for a name that nothing has."""
        error = unknown_name(kind, name, known, where=shorten(self.where), unlisted=unlisted)
        return QueryError(f"{error}{hint}\n{self._mark(at)}")

    def _mark(self, at: TextSpan) -> str:
        """Show the line in which a part begins, and carets under it.

        A long line is shown in part.
        """
        first = self.text.rfind("\n", 0, at.start) + 1
        line = self.text[first:].split("\n", 1)[0]
        start, low = at.start - first, 0
        if len(line) > WIDE:
            low = max(0, min(start - WIDE // 2, len(line) - WIDE))
        part = line[low : low + WIDE]
        lead = "".join("\t" if c == "\t" else " " for c in part[: start - low])
        width = max(1, min(at.end - first - low, len(part)) - (start - low))
        before, after = "... " if low else "", " ..." if low + WIDE < len(line) else ""
        return f"  {before}{part}{after}\n  {' ' * len(before)}{lead}{'^' * width}"

    def _write_error(self, message: str, at: TextSpan) -> str:
        return f"{shorten(self.where)}: {shorten(message)}\n{self._mark(at)}"
