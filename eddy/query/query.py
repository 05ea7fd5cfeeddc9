"""A query: streams, tables, joins, filters, selected columns.

A `Query` is a value. It knows no data yet, so what depends on types is checked when it meets a schema
(`eddy.query.binding`); everything else, from a name that is used twice to a syntax error in a filter, is found here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eddy.errors import LONGEST_NAME, QueryError, check_flag, check_whole, quote, shorten, unknown_name
from eddy.observe.notebook import folded, heading, preformatted, table
from eddy.query.cost import read_tariff
from eddy.query.emit import BEGIN, Emit, check_emit, name_time
from eddy.query.existence import ANTI, SEMI, Existence, read_existence
from eddy.query.filter import Filter, check_after, write_after
from eddy.query.inputs import Rows, Stream, Table, check_sources, group_streams
from eddy.query.join_graph import RESERVED, find_reachable, meets_name, probe_name
from eddy.query.validation import check_name, distinct, fill, members, texts
from eddy.sql import Column, Expression, parse, parse_select
from eddy.sql.values.name_case import find_own
from eddy.tuples.pandas_frames import make_frame


@dataclass(frozen=True, kw_only=True)
class Query:
    """Streams, tables, joins, filters and selected columns.

    A join is a condition between two or more inputs: an equality, a comparison, or any other SQL. `cross` allows
    inputs that no join connects, and then every combination of them is formed. `semi` and `anti` are such conditions
    too: only combinations pass for which a table, which no join names, has a match, or has none. It adds no columns.

    Three limits make an error of what would else fill a memory. `max_fanout` is the most results that one row may set
    off: those in which it arrives last, whatever the routing. `max_results` is the most results of one micro-batch,
    and `max_state` the most bytes that stored rows may occupy; where the work is divided among cells, both are for
    each cell. Reports of errors show values of rows only with `show_values`.

    `emit` says when a combination is told: when it begins, as its last row comes; "end" tells it when it is no more,
    with the column `left_at`; `Every("1 minute")` tells all that are there at each tick, with the column `tick`.

    Columns are found in any case, as Spark finds them; with `case_sensitive`, only as they are written. On Spark its
    own setting counts, `spark.sql.caseSensitive`.

    >>> query = Query(
    ...     streams=[Stream("a", time="ts")], filters=[Filter("big", on="a", where="v > 10")], select=["a.v"]
    ... )
    >>> query.inputs
    ('a',)
    """

    name: str = "query"
    streams: Sequence[Stream]
    tables: Sequence[Table] = ()
    joins: Sequence[str] = field(default=(), compare=False)
    semi: Sequence[str] = field(default=(), compare=False)
    anti: Sequence[str] = field(default=(), compare=False)
    filters: Sequence[Filter] = ()
    select: Sequence[str] | None = field(default=None, compare=False)
    emit: Emit = BEGIN
    cross: bool = False
    max_fanout: int | None = None
    max_results: int | None = None
    max_state: int | None = None
    show_values: bool = False
    case_sensitive: bool = False
    predicates: tuple[Expression, ...] = field(init=False, repr=False, compare=False)
    existence: tuple[Existence, ...] = field(init=False, repr=False)
    outputs: tuple[tuple[Column, str], ...] | None = field(init=False, repr=False)
    _shared: frozenset[frozenset[str]] = field(init=False, repr=False)
    _joined: frozenset[Expression] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_name("query", self.name)
        for flag in ("cross", "show_values", "case_sensitive"):
            check_flag(getattr(self, flag), flag, where="query")
        for kind, member in (("streams", Stream), ("tables", Table), ("filters", Filter)):
            fill(self, kind, members(getattr(self, kind), member, f"query: {kind}"))
        if not self.streams:
            raise QueryError("query: expected at least one stream, got none")
        distinct("stream or table", self.given, "query")
        check_sources(self.streams, [one.name for one in self.tables])
        # Where the rows come from matters as far as streams have them together.
        named = (frozenset(one.name for one in several) for several in self.sources.values())
        fill(self, "_shared", frozenset(names for names in named if len(names) > 1))
        for kind in ("joins", SEMI, ANTI):
            fill(self, kind, texts(getattr(self, kind), f"query: {kind}") if getattr(self, kind) else ())
        # `x and y` becomes two predicates, so that each can serve as soon as its own inputs are there.
        fill(self, "predicates", tuple(part for text in self.joins for part in self._join(text)))
        # Two queries are equal when they say the same, in whatever order and words.
        fill(self, "_joined", frozenset(self.predicates))
        self._check_filters()
        fill(self, "outputs", self._outputs())
        fill(self, "existence", self._read_existence())
        self._check_shape()
        self._check_times()
        check_emit(self.emit, tuple(self.streams))

    @property
    def given(self) -> tuple[str, ...]:
        """The names of all streams and tables, streams first."""
        return (*(stream.name for stream in self.streams), *(table.name for table in self.tables))

    @property
    def sources(self) -> dict[str, tuple[Stream, ...]]:
        """The streams of each source: usually one, which has its name."""
        return group_streams(self.streams)

    def list_names(self, name: str) -> tuple[str, ...]:
        """List the names of an input's rows: its own, and those of the other streams of its source."""
        alike = next((several for several in self.sources.values() if name in [one.name for one in several]), ())
        return tuple(one.name for one in alike) or (name,)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of which a combination has a row: all but the tables that are only asked for a match."""
        asked = {one.table for one in self.existence}
        return tuple(name for name in self.given if name not in asked)

    @property
    def own_time(self) -> str | None:
        """The column that the answer has beside those that are selected: when a combination ended, or was there."""
        return name_time(self.emit)

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """All conditions between inputs: those of joins, and those by which tables are asked for a match."""
        return (*self.predicates, *(part for one in self.existence for part in one.conditions))

    def _repr_html_(self) -> str:
        from eddy.query.explain.describe import describe_query  # noqa: PLC0415  it describes what is defined here

        rows = [("stream", s.name, f"by {s.time}, {s.window}, delay {s.delay}") for s in self.streams]
        rows += [("table", one.name, "") for one in self.tables]
        rows += [("join", "", text) for text in self.joins]
        rows += [(kind, "", text) for kind in (SEMI, ANTI) for text in getattr(self, kind)]
        rows += [
            ("filter", f.name, f"{', '.join(f.on)}{write_after(f)}: {f.where or _spell_call(f)}") for f in self.filters
        ]
        rows += [("select", "", ", ".join(self.select))] if self.select else []
        parts = table(make_frame(rows, ["part", "name", "says"]), len(rows))
        return f"{heading(f'Query {self.name}')}{parts}{folded('explained', preformatted(describe_query(self)))}"

    def sql(self) -> str:
        """Write the query as a statement, as far as SQL can say it: see `eddy.Statement`.

        What streams have beside a watermark and a window, functions, and limits are said beside it. Read back with
        these it is an equal query:

        >>> query = Query(
        ...     streams=[Stream("a", time="ts"), Stream("b", time="ts")], joins=["a.k=b.k"], select=["a.v"],
        ...     filters=[Filter("big", on="a", where="v>10")],
        ... )
        >>> print(query.sql())
        SELECT /*+ NAMED(v_3b2b, big) */ a.v
        FROM STREAM a
        JOIN STREAM b ON a.k = b.k
        WHERE a.v > 10
        """
        from eddy.query.statements.writing import write_statement  # noqa: PLC0415  it writes what is defined here

        return write_statement(self)

    def qualify(self, column: Column) -> Column:
        """Spell the stream of a column as the query does.

        A text may write it in another case.
        """
        return column if column.stream is None else Column(find_own(column.stream, self.given), column.name)

    def _check_shape(self) -> None:
        """Check the limits, and that tuples can reach every input."""
        for limit in ("max_fanout", "max_results", "max_state"):
            most = getattr(self, limit)
            if most is not None:
                fill(self, limit, check_whole(most, limit, where="query"))
        sets = [predicate.inputs for predicate in self.predicates]
        for stream in self.streams:
            # From every stream, since any of its rows may arrive last and set the tuple off.
            apart = [name for name in self.inputs if name not in find_reachable(stream.name, sets)]
            if apart and not self.cross:
                raise QueryError(
                    f'query: no join leads from "{stream.name}" to {quote(apart)}; '
                    "add a join, or say cross=True for every combination"
                )
        operators = {of(name): name for name in self.inputs for of in (probe_name, meets_name)}
        operators |= {one.name: one.table for one in self.existence}
        for taken in operators.keys() & {f.name for f in self.filters}:
            raise QueryError(
                f'filter "{taken}": an operator that looks up "{operators[taken]}" has this name; choose another'
            )
        self._check_reserved()

    def _check_reserved(self) -> None:
        """Refuse filters that are called like operators of a join: reports and routes could not tell them apart."""
        if len(self.inputs) < 2:
            return
        for name in (one.name for one in self.filters if one.name.startswith(RESERVED)):
            begins = " or ".join(f'"{one}"' for one in RESERVED)
            raise QueryError(
                f'filter "{name}": operators of joins have names that begin with {begins}; choose another name'
            )

    def _check_times(self) -> None:
        """Check that streams have times where they are needed."""
        timeless = [stream.name for stream in self.streams if stream.time is None]
        # Without a time nothing says which of two rows came later, and set off what they are part of.
        if timeless and len(self.streams) > 1:
            raise QueryError(
                f'stream "{timeless[0]}": expected the name of its event-time column as time, got none; only a stream '
                "that is joined with no other goes without"
            )
        if len(self.streams) == 1 and isinstance(self.streams[0].window, Rows) and self.emit == BEGIN:
            raise QueryError(
                f'stream "{self.streams[0].name}": window {self.streams[0].window} has no meaning in a query over one '
                "stream: a row is always the newest when it arrives; use Unbounded()"
            )

    def _check_filters(self) -> None:
        distinct("filter", [f.name for f in self.filters], "query")
        for name, where in [(name, f'filter "{f.name}"') for f in self.filters for name in f.on]:
            self._check_input(name, where)
        for name, error in check_after({f.name: f.after or () for f in self.filters}):
            raise QueryError(f'filter "{name}": {error}')
        read_tariff(self.filters)

    def _check_input(self, name: str, where: str) -> None:
        if name not in self.given:
            raise unknown_name("stream or table", name, self.given, where=where)

    def _read(self, text: str, kind: str) -> Expression:
        """Read a condition between inputs."""
        where = f'{kind} "{shorten(text, LONGEST_NAME)}"'
        read = parse(text, where=where).qualify(self.qualify)
        for column in read.columns:
            if column.stream is None:
                raise QueryError(f'{where}: column "{column.name}" names no stream; write "stream.{column.name}"')
            self._check_input(column.stream, where)
        return read

    def _read_existence(self) -> tuple[Existence, ...]:
        asked = {kind: [self._read(text, kind) for text in getattr(self, kind)] for kind in (SEMI, ANTI)}
        named = {str(column.stream) for column, _ in self.outputs or ()}.union(*(f.on for f in self.filters))
        joined = named.union(*(predicate.inputs for predicate in self.predicates))
        return read_existence(asked, [table.name for table in self.tables], joined)

    def _join(self, text: str) -> tuple[Expression, ...]:
        where = f'join "{shorten(text, LONGEST_NAME)}"'
        parts = self._read(text, "join").conjuncts()
        for part in parts:
            if len(part.inputs) < 2:
                raise QueryError(
                    f"{where}: expected a condition between two or more streams or tables, got "
                    f'"{shorten(part.text, LONGEST_NAME)}"; a condition on one of them is a filter'
                )
        return parts

    def _outputs(self) -> tuple[tuple[Column, str], ...] | None:
        if self.select is None:
            return None
        fill(self, "select", texts(self.select, "query: select"))
        read = [parse_select(text, where=f'select "{shorten(text, LONGEST_NAME)}"') for text in self.select]
        outputs = tuple((self.qualify(column), name) for column, name in read)
        for column, _ in outputs:
            if column.stream is None:
                raise QueryError(f'select "{column.name}": names no stream; write "stream.{column.name}"')
            self._check_input(column.stream, f'select "{column}"')
        names = [name for _, name in outputs]
        distinct("output column", names, "query: select")
        if self.own_time in names:
            raise QueryError(
                f'query: select: "{self.own_time}" is in the answer by itself, as its last column; leave it out, or '
                "give a column of an input another name"
            )
        return outputs


def _spell_call(f: Filter) -> str:
    name = getattr(f.function, "__name__", type(f.function).__name__)
    return f"{name}({', '.join(f.columns or ())})"
