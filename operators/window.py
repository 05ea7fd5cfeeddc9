"""Windows by event time, for many candidates at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from eddy.masks import Mask
from eddy.times import Ticks, age
from eddy.tuples import RowIds

Span = int | float | None
"""The length of a stream's window; None where it has none by time."""


def inside(ticks: Sequence[Ticks], spans: Sequence[Span], at: RowIds, target: Ticks, own: Span) -> Mask:
    """Where every row is inside its window, for candidates of tuples that are inside theirs.

    `ticks` are the tuples' event times, one array for each stream that they span; `target` are the candidates'
    times, and `at` says to which tuple each belongs. With `m` the largest time of all, every row must have
    `m - time <= span`. For the rows that the tuples span that is a bound on `m`, hence one on the candidate's time.
    """
    latest = reduce(np.maximum, ticks)
    mask = np.ones(len(at), np.bool_)
    if own is not None:
        mask &= age(latest.take(at), target) <= own
    for times, span in zip(ticks, spans, strict=True):
        if span is not None:
            mask &= age(target, times.take(at)) <= span
    return mask
