"""The keys of what a file asks: queries, their inputs and their filters."""

from __future__ import annotations

from eddy.jobs.config.connectors import ALL_STREAM_SOURCES, ALL_TABLE_SOURCES
from eddy.jobs.config.schema import (
    COST,
    COUNT,
    DISTANCE,
    FLAG,
    INTERVAL,
    LENGTH,
    ONE_OR_MORE,
    TEXTS,
    ConfigKey,
    Section,
    Variants,
)
from eddy.predicates.faults import ON_ERROR
from eddy.query.emit import BEGIN, END

QUERY = Section(
    text="The joins, the columns of the answer, and limits.",
    keys={
        "name": ConfigKey(text="what the query is called, in reports and in Spark's pages", default="query"),
        "sql": ConfigKey(
            text="the query as one statement, [statements.md](statements.md), instead of `select` and `cross`, and "
            "beside the others; its inputs are those of `[streams]` and `[tables]`, and are called by its aliases",
            literal=True,
        ),
        "joins": ConfigKey(
            text='conditions between two or more inputs, each as SQL: `"a.k = b.k"`; any condition will do',
            kind=TEXTS,
            default=[],
            literal=True,
        ),
        "semi": ConfigKey(
            text='conditions with a table that must have a match: `"a.k = known.k"`; it adds no row and no column',
            kind=TEXTS,
            default=[],
            literal=True,
        ),
        "anti": ConfigKey(
            text='conditions with a table that must have no match: `"a.k = banned.k"`',
            kind=TEXTS,
            default=[],
            literal=True,
        ),
        "select": ConfigKey(
            text='columns of the answer: `"a.id"` or `"b.id AS b_id"`; all, as `stream_column`, when left out',
            kind=TEXTS,
            literal=True,
        ),
        "cross": ConfigKey(
            text="allow inputs that no join connects, and form every combination of them", kind=FLAG, default=False
        ),
        "emit": ConfigKey(
            text="when a combination is told: `begin`, as its last row comes, if nothing is said; `end`, when its "
            "first row leaves its window, with that time as `left_at`",
            choices=(BEGIN, END),
        ),
        "every": ConfigKey(
            text="instead of `emit`: tell all that are there at each multiple of a length, with that time as `tick`",
            kind=DISTANCE,
        ),
        "max_fanout": ConfigKey(text="the most results in which one row arrives last; more are an error", kind=COUNT),
        "max_results": ConfigKey(text="the most results of a cell in one micro-batch; more are an error", kind=COUNT),
        "max_state": ConfigKey(
            text="the most bytes of the stored rows of a cell; more are an error; indexes take what rows leave of it",
            kind=COUNT,
        ),
        "show_values": ConfigKey(
            text="show values of rows, and texts of exceptions, in reports of errors", kind=FLAG, default=False
        ),
    },
)

STREAM = Section(
    text="An unbounded input. Its name is what joins and filters call it.",
    keys={
        "time": ConfigKey(text="the column of the event time; a stream that is joined with no other needs none"),
        "window": ConfigKey(
            text="how much older than the newest row of a combination a row may be; without a limit the state grows "
            "for ever",
            kind=LENGTH,
        ),
        "rows": ConfigKey(text="instead of `window`: how many of the newest rows take part", kind=COUNT),
        "by": ConfigKey(
            text="beside `rows`: columns of whose values each has so many newest rows of its own", kind=TEXTS
        ),
        "delay": ConfigKey(
            text="how far out of order rows may come, as in Spark's `withWatermark`; later ones are dropped and "
            "counted; while any stream has none, no row is late, and none is forgotten",
            kind=LENGTH,
        ),
        "max_ahead": ConfigKey(
            text="how far after the time in `arrived` a row's own time may be; a row further ahead is a bad row, "
            "and makes no others late; needs `arrived`",
            kind=LENGTH,
        ),
        "arrived": ConfigKey(
            text="the column of the time at which the source received a row, for `max_ahead`: "
            "`kafka_timestamp`, `file_modified`, or one of your own; a row without it is not ahead"
        ),
        "malformed": ConfigKey(
            text="a column that is not null where the source could not read a row, such as Spark's "
            "`columnNameOfCorruptRecord`; such a row is a bad row"
        ),
        "bad_rows": ConfigKey(
            text="rows without a time, ahead, without a value for an equality, or malformed: `drop` counts them, "
            "`fail` fails the query",
            default="drop",
            choices=("drop", "fail"),
        ),
        "same_as": ConfigKey(
            text="instead of `source`: another stream, which this is a second name of; its rows are read, sent and "
            "stored once, and what is not said here of times, delays and bad rows is as it is there"
        ),
    },
    parts={"source": Variants(text="Where the rows come from.", formats=ALL_STREAM_SOURCES, required=True)},
    instead={"source": "same_as"},
)

TABLE = Section(
    text="A static input, read once when the job starts and sent to every worker.",
    parts={"source": Variants(text="Where the rows come from.", formats=ALL_TABLE_SOURCES, required=True)},
)

ASKING = ("rowwise", "concurrency", "batch_size", "cache", "setup", "nulls", "on_error", "time_limit", "cost")
"""Keys of a filter that say how its function is asked."""

FILTER = Section(
    text="A predicate. Filters run in any order, and may see rows that others drop, unless `after` says no.",
    keys={
        "on": ConfigKey(text="its stream or table, or a list of them", kind=ONE_OR_MORE, required=True),
        "where": ConfigKey(text="SQL as Spark reads it", literal=True),
        "function": ConfigKey(text='instead of `where`: a Python function by its import path, `"package.module:name"`'),
        "columns": ConfigKey(
            text="the columns that the function gets; those named by its parameters, when left out", kind=TEXTS
        ),
        "rowwise": ConfigKey(text="give the function plain values of one row at a time", kind=FLAG, default=False),
        "concurrency": ConfigKey(
            text="how many calls of a `rowwise` or asynchronous function, or of one with `batch_size`, may overlap",
            kind=COUNT,
        ),
        "batch_size": ConfigKey(
            text="how many rows a call of a function of columns gets at most; with `concurrency`, such calls overlap",
            kind=COUNT,
        ),
        "cache": ConfigKey(
            text='`"10000 values"`: do not ask the function again about values that it has answered, of which so many '
            "are held at most; not for one whose answer depends on anything but its columns"
        ),
        "setup": ConfigKey(
            text="a function without parameters, by its import path: called once in every worker before `function`, to "
            "load what it needs into a global of its module"
        ),
        "nulls": ConfigKey(
            text="rows with a null in a column of the function: `show` them to it as a `pandas_udf` would, NaN among "
            "numbers and None among others, or `skip` them: they do not pass, and are counted",
            default="show",
            choices=("show", "skip"),
        ),
        "on_error": ConfigKey(
            text="a row for which the function raises, or the SQL fails: `fail` fails the query if all else lets it "
            "pass; `drop` and `keep` count it, and go on without or with it; `reject` puts it aside, for `[rejected]`",
            default="fail",
            choices=ON_ERROR,
        ),
        "time_limit": ConfigKey(
            text="how long one call of the function may take, 1 millisecond or more; a longer call fails the job",
            kind=INTERVAL,
        ),
        "after": ConfigKey(
            text="one filter, or a list of them, that must act first: this one sees no row that they drop; a circle is "
            "an error",
            kind=ONE_OR_MORE,
        ),
        "cost": ConfigKey(
            text="what a row costs that it is asked about, where you know better than the clock: a time such as "
            '`"20 milliseconds"`, or a number in any unit, which every function must then have',
            kind=COST,
        ),
    },
)

FUNCTION = Section(
    text="A predicate in Python, which a statement asks about columns.",
    keys={
        "function": ConfigKey(text='its import path, `"package.module:name"`', required=True),
        **{name: FILTER.keys[name] for name in ASKING},
    },
)


SAID_AS_ALONE = (
    *("joins", "semi", "anti", "select", "cross", "emit", "every"),
    *("max_fanout", "max_results", "max_state", "show_values"),
)
"""Keys of a query that it has whether it is answered alone or with others."""

QUERIES = "Several queries over the same streams, in place of `[query]`: each has the answer that it has alone."

MEMBER = Section(
    text="Rows are read, sent and stored once for all. A query reads what its joins, filters and columns name. The "
    "answer has a column `query`, and those of all queries: null where a query has none. A stream that no query reads "
    "is read all the same, since the sources of a checkpoint are for its life.",
    keys={
        "inputs": ConfigKey(text="streams and tables that it reads beside those that it names", kind=TEXTS, default=[]),
        **{name: QUERY.keys[name] for name in SAID_AS_ALONE[:3]},
        "filters": ConfigKey(
            text="its filters, by their names in `[filters]`, in the order in which `fixed` runs them; none when left "
            "out",
            kind=TEXTS,
            default=[],
        ),
        **{name: QUERY.keys[name] for name in SAID_AS_ALONE[3:]},
        "topic": ConfigKey(text="with the sink `kafka`: its topic; that of the sink when left out"),
    },
    parts={
        "windows": Section(
            text='Windows that it has in place of those of the streams: `clicks = "1 minute"`.',
            others=ConfigKey(text="how much older than the newest row of a combination a row may be", kind=LENGTH),
        )
    },
)
