"""Tells whether a query keeps anything from one micro-batch to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.errors import QueryError, check_choice, quote
from eddy.query.query import Query

KEPT, NOT_KEPT = "store", "none"

STATES = (KEPT, NOT_KEPT)
"""Where what must outlive a micro-batch is kept on Spark: in its state store, or nowhere."""

OF_CELLS = ("cells", "sizes", "heavy")
"""The options that speak of the cells of a state store; without one there are no cells."""

FORGET, KEEP = CACHE_STATES = ("forget", "keep")
"""Whether caches are a part of what is saved; who keeps them speaks of a state store too."""


def list_store_options(options: Mapping[str, Any]) -> list[str]:
    """List the options that were given and that only a state store has a use for.

    >>> list_store_options({"cells": 2, "sizes": None, "heavy": None, "cache_state": "keep"})
    ['cells', 'cache_state']
    """
    given = [name for name in OF_CELLS if options[name] not in (None, {})]
    return given + ["cache_state"] * (options["cache_state"] == KEEP)


def find_state_need(query: Query) -> str:
    """Say why a query needs a state store; "" if it does not.

    >>> from eddy.query import Stream
    >>> find_state_need(Query(streams=[Stream("a")])), find_state_need(Query(streams=[Stream("a", time="t", delay=5)]))
    ('', 'stream "a" has a delay, so how far it has come decides which rows are late')
    """
    (first, *others) = query.streams
    if others:
        return "rows are kept to be joined"
    if first.delay is not None:
        return f'stream "{first.name}" has a delay, so how far it has come decides which rows are late'
    if query.max_results is not None:
        return "max_results counts the results of a whole micro-batch"
    return ""


def choose_state(
    query: Query,
    asked: str | None = None,
    *,
    of_store: Sequence[str] = (),
    kept: bool = False,
    where: str = "attach",
) -> str:
    """Choose where what must outlive a micro-batch is kept: as is asked for, or as the query needs it.

    `of_store` are the options of a state store that were given; `kept` says that something else is to be kept, such as
    what was learned.

    >>> from eddy.query import Stream
    >>> choose_state(Query(streams=[Stream("a")])), choose_state(Query(streams=[Stream("a")]), kept=True)
    ('none', 'store')
    """
    need = find_state_need(query)
    if asked is not None:
        check_choice(asked, STATES, "state", where=where)
    if asked == NOT_KEPT and need:
        raise QueryError(f'{where}: state: expected "{KEPT}", since {need}; got "{NOT_KEPT}"')
    if asked == NOT_KEPT and of_store:
        raise QueryError(
            f'{where}: {quote(of_store)}: expected nothing with state="none", since there are no cells then, and '
            'nothing is saved; leave it out, or say state="store"'
        )
    return asked or (KEPT if need or of_store or kept else NOT_KEPT)


def describe_state(query: Query, state: str) -> str:
    """Say where what must outlive a micro-batch is kept, and why.

    >>> from eddy.query import Stream
    >>> describe_state(Query(streams=[Stream("a")]), "none")
    'none: it is one step, without a shuffle'
    """
    if state == NOT_KEPT:
        return "none: it is one step, without a shuffle"
    return f"in the checkpoint: {find_state_need(query) or 'what was learned'}"
