"""The tree of a statement: its inputs, conditions and selected columns.

Names of columns are as the text has them: which input a bare one belongs to depends on what columns there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from eddy.query.emit import Every
from eddy.query.inputs import Window
from eddy.sql.text.reader import Token
from eddy.sql.values.tree import Node, Place, Ref, TextSpan

WHERE = "statement"
"""What errors call the text."""


class JoinKind(Enum):
    """How an input is joined to those before it."""

    FIRST = "first"
    INNER = "inner"
    CROSS = "cross"
    LISTED = "listed"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True, kw_only=True)
class Watermark:
    """`WATERMARK time DELAY OF INTERVAL ..`, in microseconds."""

    time: str
    delay: int


@dataclass(frozen=True, kw_only=True)
class View:
    """What a subquery makes of its input: columns by the names that it gives them, None for all, and conditions.

    Conditions name columns as the input does.
    """

    columns: Mapping[str, str] | None = None
    where: Sequence[Node] = ()


@dataclass(frozen=True, kw_only=True)
class Source:
    """One input of FROM, with the name that the statement gives it."""

    alias: str
    name: str
    span: TextSpan = field(compare=False)
    is_stream: bool
    kind: JoinKind
    watermark: Watermark | None = None
    window: Window | None = None
    on: Node | None = None
    using: Sequence[Ref] = ()
    view: View | None = None


@dataclass(frozen=True, kw_only=True)
class Written:
    """A part of a statement that is Spark's: its words as they stand."""

    words: Sequence[Token]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """One entry of the select list: a column, or what Spark computes; neither for `*`, of one input if it is named.

    What looks like a column may be a part of a group, `window.start`: its words are there too.
    """

    column: Ref | None
    words: Written | None = None
    alias: str | None = None
    every_of: str | None = None
    span: TextSpan = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Told:
    """ISTREAM, DSTREAM or RSTREAM around a statement or its columns, and the ticks behind EVERY."""

    word: str
    span: TextSpan = field(compare=False)
    every: Every | None = None


@dataclass(frozen=True, kw_only=True)
class SelectTree:
    """A statement as it is written."""

    place: Place = field(compare=False)
    hints: Sequence[tuple[str, tuple[str, ...]]]
    selected: Sequence[Selected]
    sources: Sequence[Source]
    where: Node | None
    distinct: bool = False
    group: Written | None = None
    having: Written | None = None
    told: Told | None = None

    @property
    def is_selection(self) -> bool:
        """Whether it selects columns and nothing else."""
        computed = any(one.column is None and one.words is not None for one in self.selected)
        return not (computed or self.distinct or self.group is not None or self.having is not None)
