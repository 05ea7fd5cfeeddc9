"""Every section of a job's file.

    [query]                      what is joined and selected
    [streams.NAME]               an unbounded input, with [streams.NAME.source]
    [tables.NAME]                a static input, with [tables.NAME.source]
    [filters.NAME]               a predicate
    [policy] [engine]            who goes first, and over how many cells
    [index]                      how a join finds its rows
    [trigger] [checkpoint]       when a micro-batch begins, and where its state is kept
    [sink]                       where the answer goes
    [rejected]                   where rows go that filters have no answer for
    [metrics]                    where Prometheus and OpenTelemetry find what the job does
    [spark]                      settings of Spark

Sources and sinks are in `eddy.jobs.config.connectors`.
"""

from __future__ import annotations

from eddy.jobs.config.connectors import ALL_SINKS, ALL_STREAM_SOURCES, ALL_TABLE_SOURCES
from eddy.jobs.config.schema import (
    ANYTHING,
    COST,
    COUNT,
    DISTANCE,
    FLAG,
    INDEX,
    INTERVAL,
    LENGTH,
    NUMBER,
    ONE_OR_MORE,
    PORT,
    SCALAR,
    SHARE,
    TEXT,
    TEXTS,
    VALUES,
    ConfigKey,
    NamedSections,
    Section,
    ValueKind,
    Variants,
)
from eddy.predicates.faults import ON_ERROR
from eddy.query.emit import BEGIN, END
from eddy.query.state_need import CACHE_STATES, FORGET, STATES
from eddy.wiring import INDEX_NAMES, list_index_defaults

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

POLICY = Section(
    text="Who goes first. A restart on the same checkpoint may have another one.",
    keys={"name": ConfigKey(text="one of the policies listed below", default="auto")},
    others=ConfigKey(text="a parameter of the policy, by its name", kind=ANYTHING),
)

ENGINE = Section(
    text="How the work is divided. `cells`, `sizes` and `heavy` are for the life of a checkpoint.",
    keys={
        "cells": ConfigKey(text="how many engines share the work, each with a part of the state", kind=COUNT),
        "pushdown": ConfigKey(
            text="let Spark evaluate SQL filters on one stream before the eddy does", kind=FLAG, default=True
        ),
        "seed": ConfigKey(text="what all chance is drawn from", kind=INDEX, default=0),
        "state": ConfigKey(
            text="`store` keeps what must outlive a micro-batch, and what was learned, in the checkpoint; `none` does "
            "without a state store and without a shuffle, for one stream without a delay; when left out, `none` where "
            "that is enough and there is no `checkpoint.location`",
            kind=TEXT,
            choices=STATES,
        ),
        "remember": ConfigKey(
            text="a folder in which what was learned stays for the next start, where there is no state; on a cluster "
            "one that all machines see; `eddy learned` carries it to another job",
            place=True,
        ),
        "cache_memory": ConfigKey(
            text="the most bytes of a cell's caches: what parts of a join have found, kept for policies that use it; "
            "without room for it rows of one step share what they find, and no more",
            kind=INDEX,
            default=64 << 20,
        ),
        "cache_state": ConfigKey(
            text="what becomes of caches in a restart: `forget` fills them anew as keys come; `keep` saves those with "
            "the checkpoint that take more to be filled anew than to be saved",
            kind=TEXT,
            default=FORGET,
            choices=CACHE_STATES,
        ),
    },
    parts={
        "sizes": Section(
            text="Rows of each stream, by its name and in any unit, times what a row costs in filters: where streams "
            "share no key, the cells are laid out for the fewest copies.",
            others=ConfigKey(text="how many rows the stream has", kind=NUMBER),
        ),
        "heavy": Section(
            text='Values that many rows have, by column: `"a.k" = [0]`.',
            others=ConfigKey(text="the values", kind=VALUES),
            flat=True,
        ),
    },
)

INDEX_DEFAULTS = list_index_defaults()


def _index_key(name: str, text: str, kind: ValueKind = TEXT) -> dict[str, ConfigKey]:
    return {name: ConfigKey(text=text, kind=kind, default=INDEX_DEFAULTS[name], choices=INDEX_NAMES.get(name, ()))}


INDEXES = Section(
    text="How a join finds its rows: [docs/indexes.md](indexes.md). A restart on the same checkpoint may have another "
    "one: it keeps the rows, and learns anew. A key that the `kind` does not use is an error.",
    keys={
        **_index_key(
            "kind",
            "which indexes an input has: `patterns`, one for each set of columns by which it is searched; `hash`, "
            "those of the `count` most frequent ones; `bits`, a single one in which each column has some bits; "
            "`static`, that one, chosen once; `chosen`, those that cost least; `told` is for experiments alone, which "
            "know what is to come",
        ),
        **_index_key("count", "with `hash`: how many indexes an input has", COUNT),
        **_index_key("bits", "with `bits` and `static`: the bits of the one index, 32 at most", COUNT),
        **_index_key("assess", "how searches are counted, by the columns that they know"),
        **_index_key(
            "epsilon",
            "the share of searches that a count may miss, above 0 and below 1; a smaller one remembers more",
            SHARE,
        ),
        **_index_key(
            "theta",
            "the share of all searches from which on an index is made for them; `epsilon` or more, 1 at most",
            SHARE,
        ),
        **_index_key("schedule", "when indexes are chosen anew"),
        **_index_key("period", "with `periodic` and `hybrid`: after how many searches", COUNT),
        **_index_key("trigger", "with `triggered` and `hybrid`: after how many searches to look for a change", COUNT),
        **_index_key("migrate", "which of the rows that are stored get new indexes too; `none` waits until they leave"),
        **_index_key("merge", "keep neighbouring parts of a window as one index", FLAG),
        **_index_key("time_order", "keep rows of one value in order of time, so that windows bound a search", FLAG),
        **_index_key(
            "chains", "let a search by equalities follow chains of rows, the newest first, with compiled kernels", FLAG
        ),
        **_index_key("training", "with `static`: after how many searches it chooses", COUNT),
        **_index_key(
            "cost",
            "by which price indexes are chosen; when left out, `paper` for `bits` and `static`, `work` for all others",
        ),
    },
)

TRIGGER = Section(
    text="When a micro-batch begins; without either key, as soon as the last one is over.",
    keys={
        "every": ConfigKey(text="at this interval", kind=INTERVAL),
        "available_now": ConfigKey(
            text="read what is there when the job starts, in micro-batches, and end", kind=FLAG, default=False
        ),
    },
)

CHECKPOINT = Section(
    text="Where Spark keeps what a restart goes on from. Sinks that last need one.",
    keys={"location": ConfigKey(text="a folder, or a URL that Spark can write to", place=True)},
)

METRICS = Section(
    text="Metrics of the job while it runs, from the driver: [monitoring.md](monitoring.md) has their names.",
    parts={
        "prometheus": Section(
            text='Served at `http://HOST:PORT/metrics`; `pip install "eddy-spark[prometheus]"`.',
            keys={
                "port": ConfigKey(text="the port; 0 takes any free one; without it nothing is served", kind=PORT),
                "host": ConfigKey(
                    text="the address of this machine at which it is served; `0.0.0.0` lets other machines read it",
                    default="127.0.0.1",
                ),
            },
        ),
        "otel": Section(
            text='Sent by OTLP over HTTP to a collector of OpenTelemetry; `pip install "eddy-spark[otel]"`. '
            "Headers are taken from `OTEL_EXPORTER_OTLP_HEADERS`.",
            keys={
                "endpoint": ConfigKey(text="its URL: `http://localhost:4318/v1/metrics`; without it nothing is sent"),
                "every": ConfigKey(text="how often", kind=INTERVAL, default="10 seconds"),
            },
        ),
    },
)

SPARK = Section(
    text="Settings of Spark: `sql.shuffle.partitions = 4`, with or without the leading `spark.`. What spark-submit was "
    "given wins.",
    others=ConfigKey(text="a value of the setting", kind=SCALAR),
    flat=True,
)

JOB = Section(
    text="One file is one job.",
    parts={
        "query": QUERY,
        "streams": NamedSections(
            text="The streams, in the order that `fixed` would probe.", each=STREAM, required=True
        ),
        "tables": NamedSections(text="The lookup tables.", each=TABLE),
        "filters": NamedSections(text="The filters, in the order in which `fixed` runs them.", each=FILTER),
        "functions": NamedSections(
            text="The functions that the statement in `[query] sql` calls, by the names that it has for them.",
            each=FUNCTION,
        ),
        "policy": POLICY,
        "engine": ENGINE,
        "index": INDEXES,
        "trigger": TRIGGER,
        "checkpoint": CHECKPOINT,
        "sink": Variants(text="Where the answer goes.", formats=ALL_SINKS, default="console"),
        "rejected": Variants(
            text='Where rows go that pass everything but a filter with `on_error = "reject"` that has no answer for '
            "them: the columns of the stream, and `rejected_by` and `rejected_because`. For one stream without state. "
            "A stream has a query of its own for them, which asks the filters once more; its checkpoint is in "
            "`rejected` of the job's. A batch asks them once for both.",
            formats=ALL_SINKS,
            like="sink",
        ),
        "metrics": METRICS,
        "spark": SPARK,
    },
)
