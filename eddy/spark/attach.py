"""Makes a query a step of a streaming job."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eddy.errors import QueryError, need_package
from eddy.query import Query, Statement
from eddy.query.together import Queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eddy.spark.plan import Options
    from eddy.wiring import IndexChoice, PolicyChoice


def attach(  # noqa: PLR0913  what a user may say
    query: Query | Queries | Statement | str,
    frames: Mapping[str, Any] | None = None,
    *,
    policy: PolicyChoice = "auto",
    index: IndexChoice = None,
    cache_memory: int | None = None,
    cache_state: str | None = None,
    cells: int | None = None,
    pushdown: bool = True,
    seed: int = 0,
    sizes: Mapping[str, float] | None = None,
    heavy: Mapping[str, Sequence[Any]] | None = None,
    state: str | None = None,
    remember: str | os.PathLike[str] | None = None,
    time: str | None = None,
) -> DataFrame:
    """Answer a query, or a statement, or several queries together, over streaming DataFrames, as one more.

    A statement may go without `frames`: then it names views and tables of the session, as for `spark.sql`. Where its
    hint names a policy or cells, and nothing else is said here, those are taken. `frames` has a streaming DataFrame for
    each stream, or for its source, and for each lookup table a batch DataFrame, a pyarrow Table or a pandas DataFrame,
    which is read now and sent to the workers. Write the answer in append mode. A query that keeps nothing takes a batch
    DataFrame for its stream as well, and then so is the answer. `cells` is how many engines share the work, for the
    life of a checkpoint; a restart with another policy, `index` or `cache_memory`, which are as in `run_local`, keeps
    the rows. `pushdown` lets Spark evaluate SQL filters on one stream before the eddy does, in compiled code. Where
    streams share no key, rows are copied to several cells: fewer if `sizes` says how many rows each stream has, times
    what a row costs in filters, and `heavy` which values of a key many rows have, as {"a.k": [0]}. A query over one
    stream without a delay keeps nothing: unless `cells` or `state="store"` asks for a state, it is one step without
    shuffle. A checkpoint that has state needs `state="store"`. Without it `remember` is a folder in which what was
    learned stays, as in `where`. With `cache_state="keep"` caches are a part of the state, where that costs less than
    to fill them anew. With `time` the answer has a watermark, for aggregates: by its column of that name, a stream's
    event time, or by a new one, the newest time in each result. Of several queries it has all columns: see `eddy.of`.
    """
    need_package("pyspark", "spark", "attach")
    from eddy.spark.plan import Options  # noqa: PLC0415  so that the engine can be used where there is no Spark

    how = Options(policy=policy, index=index, cells=cells, pushdown=pushdown, seed=seed, sizes=sizes, time=time)
    how = replace(how, cache_memory=cache_memory, cache_state=cache_state, heavy=heavy, state=state, remember=remember)
    return _attach(Statement(query) if isinstance(query, str) else query, frames, how)


def _attach(asked: Query | Queries | Statement, frames: Mapping[str, Any] | None, how: Options) -> DataFrame:
    """Answer a query; of a statement the eddy's part, and what Spark does after that."""
    from eddy.spark import stream  # noqa: PLC0415  so that the engine can be used where there is no Spark
    from eddy.spark.after.select import select_after  # noqa: PLC0415
    from eddy.spark.before.frames import read_statement  # noqa: PLC0415
    from eddy.spark.together import attach as together  # noqa: PLC0415

    if isinstance(asked, Queries):
        return together.attach(asked, {} if frames is None else frames, how)
    if not isinstance(asked, Statement):
        return stream.attach(asked, {} if frames is None else frames, how)
    statement, found = read_statement(asked, frames)
    how = replace(how, policy=statement.choose_policy(how.policy), cells=statement.choose_cells(how.cells))
    after = statement.after
    if after is not None:
        if how.time is not None:
            raise QueryError("attach: time: the statement computes its columns, and says by what time groups close")
        how = replace(how, time=after.time)
    return select_after(stream.attach(statement.ask(found), found, how), after)
