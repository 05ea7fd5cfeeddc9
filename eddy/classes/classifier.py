"""Classifier attributes as small integer buckets, one byte each.

A policy tells rows apart by buckets, not by values. A discrete attribute gives each of its first values a bucket of its
own, so that few values are never confused, and hashes the rest; a continuous one is cut into equal ranges between the
smallest and the largest value so far. A null has a bucket of its own. An attribute that cannot tell classes apart, such
as a sequence number, a key that is different in every row, or a long text, falls into one bucket (section 4.4 of the
content-based routing paper).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from eddy.classes.divider import Attribute, BucketName, Buckets, Divider
from eddy.classes.nature import is_time
from eddy.errors import EngineError, QueryError, unknown
from eddy.sql import Column
from eddy.sql.values.name_case import own
from eddy.tuples.arrays import Integers


class Look(Protocol):
    """A look at the buckets of some rows."""

    def __call__(self, attributes: Sequence[int] | None = None, rows: Integers | None = None) -> Buckets:
        """A row for each tuple and a column for each of the attributes.

        Attributes are named by number, tuples by position; all of them when none are named.
        """

    def join(self, others: Sequence[Self]) -> Self:
        """One look at these rows and those of others, of the same stream and micro-batch, one after the other."""


MOST_BUCKETS = 250
"""Buckets of an attribute, besides that of null: a bucket is one byte."""

LOOKED_UP_SHARE = 0.5
"""Of a micro-batch: up to this share, rows are looked at by themselves, beyond it all rows are, once."""


JUDGED_ROWS = 256
"""Rows of a micro-batch from which an attribute is judged: more than a judgement needs, so that one will mostly do."""

MOST_SIZES = 16
"""Sizes of micro-batches for which it is kept where those rows are: most are of one size."""

GOLDEN_MEAN = 0.6180339887498949
"""Steps of this share of a whole, taken around it, lie nearly evenly and never fall in with a period of the rows."""


@dataclass(frozen=True, kw_only=True)
class Features:
    """The attributes that a policy wants to see, each in `buckets` buckets and one for null."""

    attributes: tuple[Attribute, ...] = ()
    buckets: int = 24

    def of(self, stream: str) -> tuple[Attribute, ...]:
        """A stream's attributes, in the order of the columns of its bucket matrix."""
        return tuple(a for a in self.attributes if a.column.stream == stream)


NO_FEATURES = Features()


def choose(names: Sequence[str] | None, known: Sequence[Column], buckets: int, *, where: str) -> Features:
    """Check the attributes that a user names; all columns that can classify, when none are named."""
    if not isinstance(buckets, int) or isinstance(buckets, bool) or not 2 <= buckets <= MOST_BUCKETS:
        raise QueryError(f"{where}: d: expected a number of buckets from 2 to {MOST_BUCKETS}, got {buckets!r}")
    if names is None:
        return Features(attributes=tuple(map(Attribute, known)), buckets=buckets)
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise QueryError(f'{where}: attributes: expected a list of "stream.column", got {names!r}')
    columns = {str(column): column for column in known}
    chosen = [own(str(name), columns) for name in names]
    for name in chosen:
        if name not in columns:
            error = unknown("classifier attribute", name, columns, where=f"{where}: attributes")
            raise QueryError(f"{error}; nested columns cannot classify")
    return Features(attributes=tuple(Attribute(columns[name]) for name in chosen), buckets=buckets)


class Arrived:
    """The rows of a stream in one micro-batch; a bucket is worked out when it is first asked for."""

    def __init__(self, rows: pa.RecordBatch, first: int, dividers: Mapping[str, Divider]) -> None:
        self._rows = rows
        self._first = first
        self._dividers = list(dividers.items())
        self._whole: dict[int, Buckets] = {}
        self._looked: set[int] = set()

    def buckets(self, ids: Integers, attributes: Sequence[int] | None) -> Buckets:
        """The buckets of some rows, a column for each of the attributes; of all attributes when none are named.

        Asked for a few rows, it looks at those alone: a sample is seen by every attribute, all rows only by those
        that classify.
        """
        wanted = range(len(self._dividers)) if attributes is None else attributes
        found = np.empty((len(wanted), len(ids)), np.uint8)
        rows = ids - self._first
        if len(rows) >= LOOKED_UP_SHARE * self._rows.num_rows or all(attribute in self._whole for attribute in wanted):
            for place, attribute in enumerate(wanted):
                self._divide_all(attribute).take(rows, out=found[place])
            return found.T
        order = np.argsort(rows, kind="stable")
        few = pa.array(rows.take(order))
        for place, attribute in enumerate(wanted):
            found[place] = self._divide(attribute, few)
        return found.T if (order[1:] > order[:-1]).all() else found[:, np.argsort(order)].T

    def _divide_all(self, attribute: int) -> Buckets:
        if attribute not in self._whole:
            self._whole[attribute] = self._divide(attribute, None)
        return self._whole[attribute]

    def _divide(self, attribute: int, rows: pa.Array | None) -> Buckets:
        """The buckets of some rows, in the order of their arrival, or of all."""
        name, divider = self._dividers[attribute]
        column = self._rows.column(name)
        if attribute not in self._looked and not divider.is_settled:
            divider.judge(_take_evenly(column))
        self._looked.add(attribute)
        if divider.is_blind and not column.null_count:
            return np.zeros(len(column) if rows is None else len(rows), np.uint8)
        return divider.divide(column if rows is None else column.take(rows))


def _take_evenly(array: pa.Array) -> pa.Array:
    """Some of the rows in their order, from all over the micro-batch; all of them, if they are few."""
    if len(array) <= JUDGED_ROWS:
        return array
    return array.take(_choose_places(len(array)))


@lru_cache(maxsize=MOST_SIZES)
def _choose_places(rows: int) -> pa.Array:
    return pa.array(np.unique((np.arange(JUDGED_ROWS) * GOLDEN_MEAN % 1 * rows).astype(np.int64)))


class ArrivedRows:
    """A look at some of the rows that have arrived."""

    def __init__(self, arrived: Arrived, ids: Integers) -> None:
        self._arrived = arrived
        self._ids = ids

    def __call__(self, attributes: Sequence[int] | None = None, rows: Integers | None = None) -> Buckets:
        """The buckets of these rows, or of some of them."""
        return self._arrived.buckets(self._ids if rows is None else self._ids.take(rows), attributes)

    def join(self, others: Sequence[ArrivedRows]) -> ArrivedRows:
        """These rows and those of others."""
        return ArrivedRows(self._arrived, np.concatenate([self._ids, *(other._ids for other in others)]))


class Classifier:
    """The dividers of all attributes, and the rows that are being told apart."""

    def __init__(self, features: Features, schemas: Mapping[str, pa.Schema]) -> None:
        self._dividers = {
            stream: {
                a.column.name: Divider(a, schema.field(a.column.name).type, features.buckets)
                for a in features.of(stream)
            }
            for stream, schema in schemas.items()
        }
        self._numbered = {stream: list(dividers.values()) for stream, dividers in self._dividers.items()}
        self._arrived: dict[str, Arrived] = {}

    def arrive(self, stream: str, rows: pa.RecordBatch, first: int) -> None:
        """Look at the rows of a new micro-batch; `first` is the id of the first of them."""
        self._arrived[stream] = Arrived(rows, first, self._dividers[stream])

    def buckets(self, stream: str, ids: Integers) -> Look:
        """The buckets of some of a stream's rows, for now and for later."""
        return ArrivedRows(self._arrived[stream], ids)

    def names(self, stream: str, attributes: Sequence[int], classes: Sequence[Sequence[int]]) -> Sequence[BucketName]:
        """What classes of rows are, which a policy knows by the buckets of some attributes, and are called."""
        dividers = self._numbered[stream]
        if attributes and not 0 <= min(attributes) <= max(attributes) < len(dividers):
            raise EngineError(
                f"a leg's classes must go by attributes from 0 to below {len(dividers)}, which is how many of stream "
                f'"{stream}" are in the policy\'s features, and go by {list(attributes)}'
            )
        if len(attributes) == 1:
            return [dividers[attributes[0]].name(bucket) for (bucket,) in classes]
        parts = [[dividers[a].name(bucket) for a, bucket in zip(attributes, some, strict=True)] for some in classes]
        return [(",".join(key for key, _ in part), ", ".join(text for _, text in part)) for part in parts]

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """What has been learned of all attributes."""
        return {s: {name: divider.snapshot() for name, divider in d.items()} for s, d in self._dividers.items()}

    def restore(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        """Go on from a snapshot of the same features; others begin anew."""
        for stream, dividers in self._dividers.items():
            for name, divider in dividers.items():
                if name in state.get(stream, {}):
                    divider.restore(state[stream][name])


def can_classify(data_type: pa.DataType) -> bool:
    """Is it a type whose values can be told apart."""
    return (
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_boolean(data_type)
        or pa.types.is_string(data_type)
        or pa.types.is_binary(data_type)
        or pa.types.is_decimal128(data_type)
        or is_time(data_type)
    )
