"""The grammar of statements: SELECT .. FROM .. JOIN .. WHERE.

It is Spark's, with windows in brackets before an alias, as in CQL, and calls of named Python functions:

    SELECT o.id, c.page
    FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE [RANGE 10 MINUTES] AS o
    JOIN STREAM clicks WATERMARK at DELAY OF INTERVAL 1 MINUTE AS c ON o.user = c.user
    WHERE o.price > 100 AND suspicious(c.body)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from eddy.errors import QueryError
from eddy.query.emit import LEFT_AT, TICK
from eddy.query.statements.after import RESULT_TIME
from eddy.query.statements.spark_words import FLINK, NO_RANKS, refuse_words, split_alias
from eddy.query.statements.tree import JoinKind, Selected, SelectTree, Source, Told, Watermark, Written
from eddy.query.statements.views import Named, add_clock, make_view
from eddy.query.statements.windows import read_every, read_length, read_window
from eddy.sql.text import grammar
from eddy.sql.text.reader import DEEPEST_BRACKETS, Token, TokenReader
from eddy.sql.values.name_case import fold_case
from eddy.sql.values.tree import Call, Column, Node, Place, Ref

_UNSORTED = "a stream has no last row to be sorted before; sort what a sink has"
_UNCUT = "a stream has no first rows; limit what a sink has"
_REFUSED = {
    **dict.fromkeys(("ORDER", "SORT", "CLUSTER", "DISTRIBUTE"), _UNSORTED),
    **dict.fromkeys(("LIMIT", "OFFSET"), _UNCUT),
    "UNION": "write a statement for each part, and unite what they give after the eddy, or unite the inputs before the "
    "eddy, in one view or frame",
    "EXCEPT": "write a LEFT ANTI JOIN with a table; what is no table belongs after the eddy",
    "MINUS": "write a LEFT ANTI JOIN with a table; what is no table belongs after the eddy",
    "INTERSECT": "write a LEFT SEMI JOIN with a table; what is no table belongs after the eddy",
    "WINDOW": NO_RANKS,
    "QUALIFY": NO_RANKS,
    "PIVOT": "it belongs after the eddy: pivot what the statement gives",
    "UNPIVOT": "it belongs after the eddy: unpivot what the statement gives",
    "TABLESAMPLE": "it belongs before the eddy: sample the view or frame that the statement reads",
}
_OUTER = (
    "only inner joins are there, and LEFT SEMI and LEFT ANTI joins with tables; what has no match is not told, and an "
    "outer join with a table belongs after the eddy"
)
_REFUSED_JOINS = {
    "LEFT": _OUTER,
    "RIGHT": _OUTER,
    "FULL": _OUTER,
    "NATURAL": "name the columns, with USING (..)",
    "LATERAL": "it asks for each row anew; what it works out belongs before the eddy, as columns of an input",
}
_GROUPS_BEHIND = "windows that tumble make groups after the eddy, by GROUP BY {instead}; those of joins are [RANGE ..]"
# What goes on after an input, and so is not its alias.
_CLAUSES = frozenset({"WHERE", "GROUP", "HAVING"})
_FOLLOWING = _CLAUSES | {"ON", "USING", "JOIN", "INNER", "CROSS", "SEMI", "ANTI", "AS", *_REFUSED, *_REFUSED_JOINS}


_TOLD = frozenset({"ISTREAM", "DSTREAM", "RSTREAM"})
_AFTER_ENTRY = frozenset({",", "FROM", "AS"})
_AFTER_GROUP = frozenset({"HAVING", ")", ";", *_REFUSED}) - {"WINDOW"}  # a function that makes groups, too
_VALUES = frozenset({"NOT", "NULL", "TRUE", "FALSE", "CASE", "INTERVAL"})
_ELSEWHERE = {
    LEFT_AT: f'"{LEFT_AT}" is known when a combination ends, and conditions are asked before; it may stand in the '
    "list, in GROUP BY and in HAVING of DSTREAM(..)",
    TICK: f'"{TICK}" is known when combinations are told, and conditions are asked before; it may stand in the list, '
    "in GROUP BY and in HAVING of RSTREAM(..) EVERY ..",
    RESULT_TIME: f'"{RESULT_TIME}" may stand in the list, in GROUP BY and in HAVING; in a condition, write '
    "greatest(..) of the times of the streams",
}
"""The functions of results, which conditions do not know."""
_OPENING, _CLOSING = frozenset({"(", "["}), frozenset({")", "]"})


def read_statement(place: Place, functions: Collection[str] = ()) -> SelectTree:
    """Read a text that is one statement; `functions` are the names of predicates in Python."""
    reader = TokenReader(place, functions, _ELSEWHERE)
    named = _read_named(reader, place)
    opened = _open_told(reader)
    tree = _read_select(reader, place, named)
    if opened is not None:
        if tree.told is not None:
            raise reader.error(f"{opened.text} stands around the statement already; leave one out", tree.told.span)
        tree = replace(tree, told=_close_told(reader, opened))
    reader.accept(";")
    _refuse_rest(reader)
    return tree


def _read_named(reader: TokenReader, place: Place) -> Named:
    """Read the common table expressions before a statement; each may name those before it."""
    named: dict[tuple[str, int], Source] = {}
    if reader.accept("WITH") is None:
        return named
    while True:
        token = reader.now
        name = grammar.identifier(reader)
        if fold_case(name) in named:
            raise reader.error(f'two of them are called "{name}"; give one another name', token)
        reader.expect("AS", f'after "{name}"')
        named[fold_case(name)] = replace(_read_subquery(reader, place, named), alias=name)
        if reader.accept(",") is None:
            return named


def _read_subquery(reader: TokenReader, place: Place, named: Named) -> Source:
    """Read a statement in brackets, as the input that it stands for."""
    start = reader.now.start
    reader.expect("(", "before a subquery")
    with reader.nest():
        tree = _read_select(reader, place, named)
        _refuse_beyond(reader)
        reader.expect(")", "to close the subquery")
    return make_view(tree, reader, reader.span(start))


def _open_told(reader: TokenReader) -> Token | None:
    """Read the ISTREAM, DSTREAM or RSTREAM that may stand around a statement or its columns."""
    word = reader.now
    if word.key not in _TOLD or reader.look_ahead().key != "(":
        return None
    reader.accept(word.key, "(")
    return word


def _close_told(reader: TokenReader, opened: Token) -> Told:
    """Read what closes it, and the ticks that may stand behind RSTREAM."""
    _refuse_every(reader)
    reader.expect(")", f"to close {opened.key}")
    word = reader.now
    if word.key != "EVERY":
        return Told(word=opened.key, span=reader.span(opened.start))
    if opened.key != "RSTREAM":
        raise reader.error(f"EVERY goes with RSTREAM; {opened.key} tells each combination once", word)
    return Told(word=opened.key, every=read_every(reader), span=reader.span(word.start))


def _read_select(reader: TokenReader, place: Place, named: Named) -> SelectTree:
    reader.expect("SELECT", "at the beginning of a statement")
    hints = list(_read_hints(reader))
    opened = _open_told(reader)
    distinct = reader.accept("DISTINCT") is not None
    selected = reader.read_list(_read_selected)
    told = None if opened is None else _close_told(reader, opened)
    _refuse_every(reader)
    reader.expect("FROM", "after the select list")
    sources = list(_read_sources(reader, place, named))
    where = _read_boolean(reader) if reader.accept("WHERE") else None
    group = _read_written(reader, _AFTER_GROUP, "GROUP BY") if reader.accept("GROUP", "BY") else None
    if group is None and reader.now.key == "HAVING":
        raise reader.error("HAVING goes with GROUP BY; a condition on rows stands in WHERE", reader.now)
    having = _read_written(reader, _AFTER_GROUP, "HAVING") if reader.accept("HAVING") else None
    return SelectTree(
        place=place,
        hints=hints,
        selected=selected,
        sources=sources,
        where=where,
        distinct=distinct,
        group=group,
        having=having,
        told=told,
    )


def _read_boolean(reader: TokenReader) -> Node:
    """Read the condition of a join, or that of WHERE."""
    node = grammar.boolean(reader)
    reader.check_height(node)
    return node


def _read_written(reader: TokenReader, following: Collection[str], place: str) -> Written:
    """Read words for Spark, up to one that goes on after them."""
    words: list[Token] = []
    depth = 0
    while reader.now.kind != "end" and (depth or reader.now.key not in following):
        depth += (reader.now.key in _OPENING) - (reader.now.key in _CLOSING)
        if depth > DEEPEST_BRACKETS:
            raise reader.too_deep(DEEPEST_BRACKETS, reader.now)
        if not depth:
            _refuse_every(reader)
        words.append(reader.take())
    if not words:
        raise reader.stuck(f"expected an expression after {place}")
    refuse_words(words, reader)
    return Written(words=words)


def _read_hints(reader: TokenReader) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Read `/*+ POLICY(content), CELLS(4) */`, which Spark passes over."""
    if reader.accept("/", "*", "+") is None:
        return
    while reader.now.is_name:
        name = reader.take()
        reader.expect("(", f'after the hint "{name.text}"')
        values = reader.read_list(_read_hinted)
        reader.expect(")", f'to close the hint "{name.text}"')
        yield name.text.lower(), tuple(values)
        reader.accept(",")
    if reader.accept("*", "/") is None:
        raise reader.stuck('expected a hint such as POLICY(content), or "*/" to close them')


def _read_hinted(reader: TokenReader) -> str:
    if reader.now.kind not in ("word", "number"):
        raise reader.stuck("expected a name or a number in a hint")
    return reader.take().text


def _read_selected(reader: TokenReader) -> Selected:
    start = reader.now.start
    if reader.accept("*"):
        return Selected(column=None, span=reader.span(start))
    if (reader.look_ahead().key, reader.look_ahead(2).key) == (".", "*"):
        name = grammar.identifier(reader)
        reader.accept(".", "*")
        return Selected(column=None, every_of=name, span=reader.span(start))
    if not _is_column(reader):
        words, called = split_alias(_read_written(reader, _AFTER_ENTRY, "SELECT").words)
        if called is None and reader.now.key == "AS":
            called = grammar.alias(reader, _AFTER_ENTRY)
        return Selected(column=None, words=Written(words=words), alias=called, span=reader.span(start))
    words = [reader.now, *([reader.look_ahead(), reader.look_ahead(2)] if reader.look_ahead().key == "." else [])]
    node = grammar.boolean(reader)
    assert isinstance(node, Ref)
    return Selected(
        column=node, words=Written(words=words), alias=grammar.alias(reader, _AFTER_ENTRY), span=reader.span(start)
    )


def _is_column(reader: TokenReader) -> bool:
    """Tell whether an entry is a column, and nothing around it but the name that it gets."""
    names = 3 if reader.look_ahead().key == "." and reader.look_ahead(2).is_name else 1
    if not reader.now.is_name or reader.now.key in _VALUES:
        return False
    # A word behind it is its new name if the entry ends with that.
    return any(_ends_entry(reader.look_ahead(names + more)) for more in (0, 1) if not more or _is_alias(reader, names))


def _is_alias(reader: TokenReader, names: int) -> bool:
    return reader.look_ahead(names).is_name


def _ends_entry(word: Token) -> bool:
    return word.kind == "end" or word.key in (*_AFTER_ENTRY, ")", ";")


def _read_sources(reader: TokenReader, place: Place, named: Named) -> Iterator[Source]:
    yield _read_source(reader, JoinKind.FIRST, place, named)
    while True:
        if reader.accept(","):
            yield _read_source(reader, JoinKind.LISTED, place, named)
        elif (kind := _read_join_kind(reader)) is not None:
            yield _read_condition(reader, _read_source(reader, kind, place, named))
        else:
            return


def _read_join_kind(reader: TokenReader) -> JoinKind | None:
    """Read the words up to JOIN, or none if no join comes next."""
    for words, kind in (
        (("JOIN",), JoinKind.INNER),
        (("INNER", "JOIN"), JoinKind.INNER),
        (("CROSS", "JOIN"), JoinKind.CROSS),
        (("LEFT", "SEMI", "JOIN"), JoinKind.SEMI),
        (("SEMI", "JOIN"), JoinKind.SEMI),
        (("LEFT", "ANTI", "JOIN"), JoinKind.ANTI),
        (("ANTI", "JOIN"), JoinKind.ANTI),
    ):
        if reader.accept(*words) is not None:
            return kind
    if reader.now.key in _REFUSED_JOINS:
        raise reader.error(_REFUSED_JOINS[reader.now.key], reader.now)
    return None


def _read_source(reader: TokenReader, kind: JoinKind, place: Place, named: Named) -> Source:
    """Read an input: a subquery or the name of one, or STREAM and a name; its watermark, window and alias."""
    start = reader.now.start
    if reader.now.key in _REFUSED_JOINS:
        raise reader.error(_REFUSED_JOINS[reader.now.key], reader.now)
    if reader.now.key == "(":
        base = _read_subquery(reader, place, named)
    elif reader.look_ahead().key != "." and (known := named.get(fold_case(reader.now.text))) is not None:
        reader.take()
        base = known
    else:
        base = _read_named_input(reader)
    watermark = _read_watermark(reader) if _accept_before_name(reader, "WATERMARK") else None
    window = read_window(reader) if reader.now.key == "[" else None
    _refuse_every(reader)
    alias = grammar.alias(reader, _FOLLOWING) or base.alias
    if reader.now.key == "[":
        raise reader.error("a window stands before the alias, as in orders [RANGE 10 MINUTES] AS o", reader.now)
    found = replace(base, alias=alias, kind=kind, span=reader.span(start))
    return add_clock(found, watermark, window, place)


def _read_named_input(reader: TokenReader) -> Source:
    """Read STREAM, if it is there, and a name, which may then stand in brackets."""
    start = reader.now.start
    is_inside = reader.accept("STREAM", "(") is not None
    is_stream = is_inside or _accept_before_name(reader, "STREAM")
    parts = [grammar.identifier(reader)]
    while reader.accept("."):
        parts.append(grammar.identifier(reader))
    if is_inside:
        reader.expect(")", "behind the name of a stream")
    if reader.now.key == "(":
        raise _refuse_table_function(reader, parts[-1])
    span = reader.span(start)
    return Source(alias=parts[-1], name=".".join(parts), span=span, is_stream=is_stream, kind=JoinKind.FIRST)


def _refuse_table_function(reader: TokenReader, name: str) -> QueryError:
    """Build the error for a function in the place of an input; `TABLE(TUMBLE(..))` is one that Flink has."""
    if name.upper() == "TABLE" and reader.look_ahead().is_name:
        name = reader.look_ahead().text
    instead = FLINK.get(name.upper())
    way_out = (
        _GROUPS_BEHIND.format(instead=instead) if instead else "give what it makes a name before the eddy, as a view"
    )
    return reader.error(f'table functions such as "{name}" are not supported; {way_out}', reader.now)


def _accept_before_name(reader: TokenReader, word: str) -> bool:
    """Go past a word that is none of SQL's unless a name follows: an input may be called so."""
    return reader.look_ahead().is_name and reader.accept(word) is not None


def _read_watermark(reader: TokenReader) -> Watermark:
    token = reader.now
    time = grammar.identifier(reader)
    if reader.accept("DELAY", "OF") is None:
        raise reader.error(
            "expected a column with the event time, then DELAY OF INTERVAL ..; compute a time before the eddy",
            token if reader.now.key in ("(", ".") else reader.now,
        )
    if reader.now.key != "INTERVAL":
        raise reader.stuck("expected an interval such as INTERVAL 10 MINUTES")
    return Watermark(time=time, delay=read_length(reader, reader.take().start))


def _read_condition(reader: TokenReader, source: Source) -> Source:
    """Read the ON or USING of a join."""
    if source.kind is JoinKind.CROSS:
        if reader.now.key in ("ON", "USING"):
            raise reader.error("a CROSS JOIN has no condition; leave CROSS out", reader.now)
        return source
    if reader.accept("ON"):
        return replace(source, on=_read_boolean(reader))
    if reader.accept("USING", "("):
        using = reader.read_list(_read_shared_column)
        reader.expect(")", "to close USING")
        return replace(source, using=using)
    raise reader.stuck(f'expected ON and a condition, or USING, for "{source.alias}"; every combination is CROSS JOIN')


def _read_shared_column(reader: TokenReader) -> Ref:
    start = reader.now.start
    column = Column(None, grammar.identifier(reader))
    return Ref(reader.span(start), column, column)


def _refuse_beyond(reader: TokenReader) -> None:
    """Refuse clauses that are none of ours."""
    _refuse_every(reader)
    if reader.now.key in _REFUSED:
        raise reader.error(f"{reader.now.key}: {_REFUSED[reader.now.key]}", reader.now)


def _refuse_every(reader: TokenReader) -> None:
    """Refuse ticks that stand elsewhere than behind RSTREAM; `every` alone may be a name."""
    behind = reader.look_ahead()
    if reader.now.key == "EVERY" and (behind.kind == "number" or behind.key == "INTERVAL"):
        raise reader.error(
            "EVERY stands behind the bracket that closes RSTREAM, as in RSTREAM(SELECT ..) EVERY INTERVAL 1 MINUTE, or "
            "SELECT RSTREAM(..) EVERY INTERVAL 1 MINUTE FROM ..",
            reader.now,
        )


def _refuse_rest(reader: TokenReader) -> None:
    """Demand the end of the statement."""
    _refuse_beyond(reader)
    if reader.now.kind != "end":
        raise reader.stuck("expected a join, WHERE or the end of the statement")


def split_conditions(node: Node | None) -> list[Node]:
    """Split at every AND that is not below anything else."""
    if node is None:
        return []
    return [*node.args] if isinstance(node, Call) and node.name == "and" else [node]
