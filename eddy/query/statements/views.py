"""Subqueries and common table expressions, inlined: columns of one input under other names, and conditions on them.

    WITH dear AS (SELECT id, user AS buyer, price FROM STREAM orders WHERE price > 100)
    SELECT d.id FROM dear AS d JOIN users AS u ON u.id = d.buyer

is `SELECT d.id FROM STREAM orders AS d JOIN users AS u ON u.id = d.user WHERE d.price > 100`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from eddy.query.inputs import Rows, Window
from eddy.query.statements.tree import SelectTree, Source, View, Watermark
from eddy.sql.text.reader import TokenReader
from eddy.sql.values.name_case import fold_case
from eddy.sql.values.tree import Column, Place, Ref, TextSpan, UserCall, rename_refs

ONLY_ONE = (
    "a subquery here selects, projects and filters one input; what joins, computes or groups belongs before the eddy, "
    "as an input of its own, or after it"
)
"""What is inlined, and what to do with the rest."""

Named = Mapping[tuple[str, int], Source]
"""The common table expressions of a statement, by their folded names."""


def make_view(tree: SelectTree, reader: TokenReader, span: TextSpan) -> Source:
    """Make the input of an outer statement that a subquery stands for; its alias is that of the inner input."""
    if len(tree.sources) != 1 or not tree.is_selection:
        raise reader.error(ONLY_ONE, span)
    (inner,) = tree.sources
    if tree.told is not None and tree.told.word != "ISTREAM":
        raise reader.error(f"{tree.told.word} stands around the whole statement, or its columns", tree.told.span)
    if tree.hints:
        raise reader.error("hints stand behind the first SELECT", span)
    own = _Inner(inner, tree.place)
    for node in tree.where.walk() if tree.where is not None else ():
        if isinstance(node, UserCall):
            raise reader.error(f'"{node.name}" is a predicate in Python: ask it in the outer WHERE', node.span)
    where = [] if tree.where is None else [rename_refs(tree.where, own.find)]
    return replace(inner, span=span, view=View(columns=own.list_columns(tree), where=(*own.view.where, *where)))


class _Inner:
    """The columns that a subquery sees."""

    def __init__(self, source: Source, place: Place) -> None:
        self._source, self._place = source, place
        self.view = source.view or View()

    def find(self, ref: Ref) -> Column:
        """Find the column of the base that a name means."""
        stream, name = ref.column
        if stream is not None and fold_case(stream) != fold_case(self._source.alias):
            raise self._place.unknown("input", stream, [self._source.alias], ref.span)
        return Column(None, find_base(self.view, name, self._place, ref.span))

    def list_columns(self, tree: SelectTree) -> Mapping[str, str] | None:
        """List the columns that are selected, with those of the base; None for all as they are."""
        if any(one.column is None for one in tree.selected):
            if len(tree.selected) > 1:
                raise self._place.error("a subquery selects * or columns, one by one", tree.selected[1].span)
            return self.view.columns
        found: dict[str, str] = {}
        for one in tree.selected:
            assert one.column is not None
            name = one.alias or one.column.column.name
            if fold_case(name) in map(fold_case, found):
                raise self._place.error(f'two columns are called "{name}"; give one another alias', one.span)
            found[name] = self.find(one.column).name
        return found


def find_base(view: View, name: str, place: Place, span: TextSpan) -> str:
    """Find what the base calls a column of a view."""
    if view.columns is None:
        return name
    base = {fold_case(shown): own for shown, own in view.columns.items()}
    if fold_case(name) not in base:
        raise place.unknown("column", name, view.columns, span)
    return base[fold_case(name)]


def add_clock(source: Source, watermark: Watermark | None, window: Window | None, place: Place) -> Source:
    """Add a watermark and a window behind an input; those of a subquery name its columns as it does."""
    for name, own, inner in (("watermark", watermark, source.watermark), ("window", window, source.window)):
        if own is not None and inner is not None:
            raise place.error(f"the subquery has a {name} already; leave one out", source.span)
    view = source.view or View()
    if isinstance(window, Rows) and view.where:
        raise place.error(
            "a window of rows counts all that come, before any filter, and the subquery filters; put the window inside "
            "of it, or filter before the eddy",
            source.span,
        )
    if watermark is not None:
        watermark = replace(watermark, time=find_base(view, watermark.time, place, source.span))
    if isinstance(window, Rows) and window.by:
        window = Rows(window.count, by=[find_base(view, name, place, source.span) for name in window.by])
    return replace(source, watermark=watermark or source.watermark, window=window or source.window)
