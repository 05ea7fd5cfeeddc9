"""Classifier attributes as small buckets, one byte each.

A policy tells rows apart by buckets, not by values. A discrete attribute gives each of its values a bucket of its own,
and where there are too many the heavy ones, and hashes the rest; a continuous one is cut into ranges that hold equally
many rows, and a value that many rows have, such as a default of 0, is a range of its own. Nulls have a bucket, and so
has NaN. An attribute that cannot tell classes apart, such as a sequence number, a key that is different in every row,
or a long text, falls into one bucket (section 4.4 of the content-based routing paper).

All of it is learned from a few rows of a micro-batch, before any of its rows are divided, and stands for the whole of
it: whoever looks, at which rows and in which order, changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from eddy.classes.divider import Attribute, BucketName, Buckets, Divider, ValueNumbers
from eddy.classes.nature import is_time, spread_evenly
from eddy.classes.single_values import MOST_BUCKETS
from eddy.errors import EngineError, QueryError, is_whole, unknown_name
from eddy.sql import Column
from eddy.sql.values.name_case import find_own
from eddy.tuples.arrays import Integers

USUAL_RANGES = 24
"""Ranges into which numbers and times are cut: neighbours are alike, and each range has rows enough to learn from."""

LOOKED_UP_SHARE = 0.5
"""A share of a micro-batch's rows. When more than this share is asked for, the whole column is divided and kept."""

MOST_SIZES = 16
"""Sizes of micro-batches for which the places of the rows to learn from are kept: most are of one size."""


class Look(Protocol):
    """A look at the buckets of some rows."""

    def __call__(self, attributes: Sequence[int] | None = None, rows: Integers | None = None) -> Buckets:
        """Give a row for each tuple and a column for each attribute.

        Attributes are named by number, tuples by position; all of them when none are named.
        """

    def refine(self, attributes: Sequence[int]) -> Mapping[int, Buckets]:
        """Tell the values of some attributes apart one by one from here on, where they are hashed into buckets.

        Gives for each attribute of which that is so the bucket of each number (`classes.single_values`). Ask for those
        alone that tell classes apart.
        """

    def numbers(self, attributes: Sequence[int], singly: Collection[int], rows: Integers | None = None) -> ValueNumbers:
        """Give the buckets of some attributes, and for those that go `singly` the numbers of their values.

        They have been refined; another policy may have had others refined.
        """

    def editions(self, attributes: Sequence[int] | None = None) -> tuple[int, ...]:
        """Give the edition of each attribute's buckets.

        Within an edition a bucket stands for the same values. What was counted by buckets of another edition says
        nothing about these. An edition holds for a whole micro-batch at least; 0 is that of an attribute whose values
        are not told apart yet.
        """

    def take(self, rows: Integers) -> Self:
        """Look at some of the rows alone, named by position."""

    def join(self, others: Sequence[Self]) -> Self:
        """Join the rows of several looks into one look.

        All are of one stream and micro-batch, and stand one after the other.
        """


@dataclass(frozen=True, kw_only=True)
class Features:
    """The attributes that a policy wants to see.

    Each is divided into `buckets` buckets at most, and one for null, which has the number `buckets`. Numbers and times
    are cut into `ranges` of them.
    """

    attributes: tuple[Attribute, ...] = ()
    buckets: int = MOST_BUCKETS
    ranges: int = USUAL_RANGES

    def of(self, stream: str) -> tuple[Attribute, ...]:
        """Give a stream's attributes in the order of bucket columns."""
        return tuple(a for a in self.attributes if a.column.stream == stream)


NO_FEATURES = Features()


def choose(names: Sequence[str] | None, known: Sequence[Column], d: int | None, *, where: str) -> Features:
    """Check the attributes that a user names, and into how many buckets they are divided.

    All columns that can classify, when none are named. Where no number is named, values have as many buckets as there
    can be, and numbers and times `USUAL_RANGES` ranges.
    """
    if d is not None and not is_whole(d, 2, MOST_BUCKETS):
        raise QueryError(f"{where}: d: expected a number of buckets from 2 to {MOST_BUCKETS}, got {d!r}")
    buckets, ranges = (MOST_BUCKETS, USUAL_RANGES) if d is None else (d, d)
    if names is None:
        return Features(attributes=tuple(map(Attribute, known)), buckets=buckets, ranges=ranges)
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise QueryError(f'{where}: attributes: expected a list of "stream.column", got {names!r}')
    columns = {str(column): column for column in known}
    chosen = [find_own(str(name), columns) for name in names]
    for name in chosen:
        if name not in columns:
            error = unknown_name("classifier attribute", name, columns, where=f"{where}: attributes")
            raise QueryError(f"{error}; nested columns cannot classify")
    return Features(attributes=tuple(Attribute(columns[name]) for name in chosen), buckets=buckets, ranges=ranges)


class Arrived:
    """The rows of a stream in one micro-batch, divided on demand."""

    def __init__(self, rows: pa.RecordBatch, first: int, begun: int, dividers: Mapping[str, Divider]) -> None:
        self._rows = rows
        self._first, self._begun = first, begun
        self._dividers = list(dividers.items())
        self._whole: dict[tuple[int, bool], ValueNumbers] = {}
        self._looked: set[int] = set()

    def buckets(self, ids: Integers, attributes: Sequence[int] | None) -> Buckets:
        """Give the buckets of some rows, a column for each attribute.

        A few rows are looked at alone: a sample is seen by every attribute, all rows only by those that classify.
        All attributes are taken when none are named.
        """
        wanted = range(len(self._dividers)) if attributes is None else attributes
        return self._look(ids, [(attribute, False) for attribute in wanted], np.uint8)

    def refine(self, attributes: Sequence[int]) -> dict[int, Buckets]:
        """Tell values apart one by one; gives the bucket of each number, where that is so."""
        found = {attribute: self._learn(attribute).refine() for attribute in attributes}
        return {attribute: buckets for attribute, buckets in found.items() if buckets is not None}

    def numbers(self, ids: Integers, attributes: Sequence[int], singly: Collection[int]) -> ValueNumbers:
        """Give the buckets of some rows, or the numbers of values that go singly."""
        wanted = [(attribute, attribute in singly and self._learn(attribute).is_refined) for attribute in attributes]
        return self._look(ids, wanted, np.uint16 if any(singly for _, singly in wanted) else np.uint8)

    def _look(self, ids: Integers, wanted: Sequence[tuple[int, bool]], kind: type[np.unsignedinteger]) -> ValueNumbers:
        """Look at some attributes, each by its buckets or by its numbers."""
        # A row per attribute is written in one piece; the transpose that is given away costs nothing.
        found = np.empty((len(wanted), len(ids)), kind)
        # Ids count all rows of the STeM; `rows` are positions among those that have just arrived.
        rows = ids - self._first
        # Many rows: each column is divided once as a whole, and then every look is a look-up.
        #
        #     _whole[1]   [4 0 4 7 0 2]        rows [5 0 2]  ->  found [2 4 4]
        if len(rows) >= LOOKED_UP_SHARE * self._rows.num_rows or all(look in self._whole for look in wanted):
            for place, look in enumerate(wanted):
                found[place] = self._divide_all(*look).take(rows)
            return found.T
        # Few rows: they alone are divided, in the order of their arrival. The columns are then put back into the order
        # asked for:
        #
        #     rows    [5 0 2]    order [1 2 0]    divided [0 2 5] -> found [4 4 2]    back [2 4 4]
        order = np.argsort(rows, kind="stable")
        few = pa.array(rows.take(order))
        for place, look in enumerate(wanted):
            found[place] = self._divide(*look, few)
        return found.T if (order[1:] > order[:-1]).all() else found[:, np.argsort(order)].T

    def editions(self, attributes: Sequence[int] | None) -> tuple[int, ...]:
        """Give the editions of some attributes, or of all."""
        wanted = range(len(self._dividers)) if attributes is None else attributes
        return tuple([self._learn(attribute).edition for attribute in wanted])

    def _divide_all(self, attribute: int, singly: bool) -> ValueNumbers:
        if (attribute, singly) not in self._whole:
            self._whole[attribute, singly] = self._divide(attribute, singly, None)
        return self._whole[attribute, singly]

    def _divide(self, attribute: int, singly: bool, rows: pa.Array | None) -> ValueNumbers:
        """Give the buckets or numbers of some rows or all, in order of arrival."""
        divider = self._learn(attribute)
        column = self._rows.column(self._dividers[attribute][0])
        if divider.is_blind and not column.null_count:
            return np.zeros(len(column) if rows is None else len(rows), np.uint8)
        some = column if rows is None else column.take(rows)
        return divider.number(some) if singly else divider.divide(some)

    def _learn(self, attribute: int) -> Divider:
        """Let an attribute learn from the rows, once and before they are divided."""
        name, divider = self._dividers[attribute]
        # From rows all over the micro-batch, whichever of them a policy happens to ask for.
        if attribute not in self._looked:
            self._looked.add(attribute)
            column = self._rows.column(name)
            divider.learn(len(column), self._begun, lambda count: _take_evenly(column, count))
        return divider


class ArrivedRows:
    """A look at some of the rows that have arrived."""

    def __init__(self, arrived: Arrived, ids: Integers) -> None:
        self._arrived = arrived
        self._ids = ids

    def __call__(self, attributes: Sequence[int] | None = None, rows: Integers | None = None) -> Buckets:
        """The buckets of these rows, or of some of them."""
        return self._arrived.buckets(self._ids if rows is None else self._ids.take(rows), attributes)

    def refine(self, attributes: Sequence[int]) -> dict[int, Buckets]:
        """Tell values apart one by one; gives the bucket of each number, where that is so."""
        return self._arrived.refine(attributes)

    def numbers(self, attributes: Sequence[int], singly: Collection[int], rows: Integers | None = None) -> ValueNumbers:
        """The buckets of these rows, or of some, or the numbers of values that go singly."""
        return self._arrived.numbers(self._ids if rows is None else self._ids.take(rows), attributes, singly)

    def editions(self, attributes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The editions of the buckets that are given."""
        return self._arrived.editions(attributes)

    def take(self, rows: Integers) -> ArrivedRows:
        """Some of these rows."""
        return ArrivedRows(self._arrived, self._ids.take(rows))

    def join(self, others: Sequence[ArrivedRows]) -> ArrivedRows:
        """These rows and those of others."""
        return ArrivedRows(self._arrived, np.concatenate([self._ids, *(other._ids for other in others)]))


class Classifier:
    """The dividers of all attributes, and the rows to tell apart."""

    def __init__(self, features: Features, schemas: Mapping[str, pa.Schema]) -> None:
        self._dividers = {
            stream: {
                a.column.name: Divider(a, schema.field(a.column.name).type, features.buckets, features.ranges)
                for a in features.of(stream)
            }
            for stream, schema in schemas.items()
        }
        self._numbered = {stream: list(dividers.values()) for stream, dividers in self._dividers.items()}
        self._arrived: dict[str, Arrived] = {}
        self._begun = dict.fromkeys(schemas, 0)

    def arrive(self, stream: str, rows: pa.RecordBatch, first: int) -> None:
        """Begin with the rows of a new micro-batch.

        `first` is the id of the first of them.
        """
        self._arrived[stream] = Arrived(rows, first, self._begun[stream], self._dividers[stream])
        self._begun[stream] += rows.num_rows

    def buckets(self, stream: str, ids: Integers) -> Look:
        """Give a look at some rows, which may be used now or later."""
        return ArrivedRows(self._arrived[stream], ids)

    def names(self, stream: str, attributes: Sequence[int], classes: Sequence[Sequence[int]]) -> Sequence[BucketName]:
        """Name classes, given by their buckets of some attributes."""
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

    def snapshot(self) -> dict[str, Any]:
        """Give what has been learned of all attributes, and how many rows have come."""
        learned = {s: {name: divider.snapshot() for name, divider in d.items()} for s, d in self._dividers.items()}
        return {"begun": self._begun, "learned": learned}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot.

        Attributes that are not in it begin anew.
        """
        learned = state["learned"]
        for stream, dividers in self._dividers.items():
            self._begun[stream] = state["begun"].get(stream, 0)
            for name, divider in dividers.items():
                if name in learned.get(stream, {}):
                    divider.restore(learned[stream][name])


def can_classify(data_type: pa.DataType) -> bool:
    """Tell whether values of a type can be told apart."""
    return (
        pa.types.is_integer(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_boolean(data_type)
        or pa.types.is_string(data_type)
        or pa.types.is_binary(data_type)
        or pa.types.is_decimal128(data_type)
        or is_time(data_type)
    )


def _take_evenly(array: pa.Array, count: int) -> pa.Array:
    """Take rows from all over a micro-batch, in their order.

    A few rows are taken as they are.
    """
    if len(array) <= count:
        return array
    # Not the first rows: a micro-batch may be sorted, or begin with the rest of another file.
    return array.take(_choose_places(len(array), count))


@lru_cache(maxsize=MOST_SIZES)
def _choose_places(rows: int, count: int) -> pa.Array:
    return pa.array(spread_evenly(rows, count))
