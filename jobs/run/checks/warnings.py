"""Warns of what is allowed in a job, and seldom meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import pyarrow as pa

from eddy.errors import LONGEST_NAME, quote, shorten
from eddy.jobs.config.config import Job
from eddy.predicates.faults import REJECT
from eddy.query import Query, Rows
from eddy.query.binding import Binding
from eddy.query.explain.describe import list_warnings
from eddy.query.pushed_filter import SparkText
from eddy.wiring import describe_idle_index


def warn_of_room(binding: Binding | None) -> Iterator[str]:
    """Warn where the rows of windows alone take what `max_state` allows, as far as that is known.

    It is of windows that are counted in rows, and columns of one width.
    """
    if binding is None or binding.query.max_state is None or len(binding.query.inputs) == 1:
        return
    windows = {s.name: s.window.count for s in binding.query.streams if isinstance(s.window, Rows)}
    rows = sum(count * _count_row_bytes(binding.find_stored(name)) for name, count in windows.items())
    if rows >= binding.query.max_state:
        yield (
            f"max_state = {binding.query.max_state} leaves no room for an index: the rows of the windows alone take "
            f"{rows:,} bytes or more; without indexes all of them are looked through; raise it, or narrow the windows"
        )


def _count_row_bytes(schema: pa.Schema) -> int:
    """Count the bytes of a row's columns of one width, and one that says whether it is alive."""
    return 1 + sum(field.type.bit_width // 8 for field in schema if pa.types.is_primitive(field.type))


def warn_of_rejects(job: Job) -> Iterator[str]:
    """Warn of rows that are put aside where nobody reads them."""
    names = [f.name for f in job.query.filters if f.on_error == REJECT]
    if names and not job.rejected:
        yield (
            f'{quote(names)}: on_error = "{REJECT}" without [rejected]: rows without an answer are dropped, and '
            'nobody gets them; name a sink in [rejected], or say on_error = "drop"'
        )


def list_job_warnings(job: Job, query: Query, unknown_yet: Iterable[str]) -> Iterable[str]:
    """Warn of settings that are allowed, and seldom meant."""
    yield from list_warnings(job.query)
    yield from warn_of_rejects(job)
    if job.index is not None and (text := describe_idle_index(job.query)):
        yield text
    for f in query.filters:
        if isinstance(f.predicate, SparkText):
            yield f'filter "{f.name}": Spark\'s own SQL, not checked here: {shorten(f.predicate.text, LONGEST_NAME)}'
    for name in unknown_yet:
        yield f'the columns of "{name}" are known only when Spark reads it: what depends on them is checked then'
    rates = [name for name, values in job.sources.items() if values["format"] == "rate"]
    if rates and job.trigger["available_now"]:
        yield f'source "{rates[0]}" makes rows as time passes: with available_now there are hardly any'


def merge_warnings(warnings: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Give the warnings of several queries: one of all of them once, and others with the name of their query.

    >>> merge_warnings({"a": ["no delay", "slow"], "b": ["no delay"]})
    ('no delay', 'query "a": slow')
    """
    common = [
        text for text in dict.fromkeys(chain(*warnings.values())) if all(text in own for own in warnings.values())
    ]
    own = [f'query "{name}": {text}' for name, texts in warnings.items() for text in texts if text not in common]
    return (*common, *own)
