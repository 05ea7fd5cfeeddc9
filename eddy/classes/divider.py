"""Divides the values of one attribute into buckets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.classes.counts import HeavyCounts
from eddy.classes.cuts import Ranges, Values, encode_values, has_fractions
from eddy.classes.lesson import Lesson
from eddy.classes.nature import ROWS_TO_JUDGE, Nature
from eddy.classes.single_values import MOST_BUCKETS, MOST_VALUES, SingleValues
from eddy.classes.value_names import ANY, NULL, OTHERS, code_text, codes_text, value_text
from eddy.errors import QueryError
from eddy.sql import Column
from eddy.tuples.arrays import Integers, Numbers

Buckets = np.ndarray[Any, np.dtype[np.uint8]]
ValueNumbers = Numbers
"""Buckets, or numbers of single values, which take two bytes."""

BucketName = tuple[str, str]
"""A bucket's or a class's identity, the same in every micro-batch, and its text in this one."""

NameClasses = Callable[[str, Sequence[int], Sequence[Sequence[int]]], Sequence[BucketName]]
"""Names classes by their stream, its attributes, and the buckets of each class."""

LESSON_ROWS, LEAST_LESSON_ROWS = 512, 256
"""Rows of a micro-batch that are learned from: of two hundred values, all but a dozen are met in the first. Smaller
micro-batches make a lesson together, when they have so many."""

ROWS_FOR_EACH, MOST_LESSON_ROWS = 64, 2_048
"""Where a micro-batch is large, one of so many of its rows is in the lesson, up to so many: it is long until the
next."""

SPARE_BUCKETS = 8
"""Buckets for values that are met for the first time, as long as there are so many that no value has."""

TIMES_TOO_LARGE, ROWS_OF_CHANCE, TIMES_BETTER = 2.0, 8, 1.5
"""A range with more than so many times its share of a sample, and some rows that chance may bring, has the attribute
cut anew, if then the largest range is so much smaller: where few buckets are for many heavy values, it is not."""

BETTER_SHARE = 0.1
"""The share of the rows that must get buckets of their own by it, where values are shared out anew: what was learned by
the old buckets is forgotten."""

ROOM_FOR_VALUES = 12
"""Values that are counted, besides twice as many as there are buckets."""

ROOM_FOR_SINGLE = 500
"""Values that are counted, besides as many as may have numbers: what is new and heavy is seen among them."""


@dataclass(frozen=True)
class Attribute:
    """A column by which rows are told apart.

    `values` are its values, if they are known beforehand.
    """

    column: Column
    values: tuple[Any, ...] = ()


class Divider:
    """Divides the values of one attribute, and names the buckets.

    It learns from a few rows of a micro-batch before any of its rows are divided, so that a bucket means the same in
    all of it. As long as its values cannot tell rows apart, or too few have been seen to say so, all but the nulls
    share a bucket. Whenever buckets come to mean something else, the edition is another. A new value that gets a free
    bucket is no reason: the others stay what they are.

    Where values are hashed, somebody may ask for their numbers (`refine`). From then on buckets stay what they are, and
    new values get numbers, as long as there are any left.
    """

    def __init__(self, attribute: Attribute, data_type: pa.DataType, buckets: int, ranges: int) -> None:
        self._column = attribute.column.name
        self._type = data_type
        self._buckets, self._ranges = buckets, ranges
        self._is_text = pa.types.is_string(data_type) or pa.types.is_binary(data_type)
        self._nature = Nature(data_type, ranges, buckets)
        self._counts = HeavyCounts(2 * buckets + ROOM_FOR_VALUES)
        self._lesson = Lesson()
        self._cut: Ranges | Values | None = None
        self._single: SingleValues | None = None
        # More values than buckets: only some have one of their own.
        self._is_crowded = False
        self._texts: dict[int, str] = {}
        self._fixed = bool(attribute.values)
        if self._fixed:
            codes = _encode_known(attribute, data_type)
            self._cut = Values(codes, buckets, buckets + 1)
            self._texts = dict(zip(codes.tolist(), map(value_text, attribute.values), strict=True))
        self._names: dict[int, BucketName] = {}
        self.edition = 0

    @property
    def is_blind(self) -> bool:
        """All values but the nulls share a bucket."""
        return self._cut is None

    @property
    def is_refined(self) -> bool:
        """Values are told apart one by one."""
        return self._single is not None

    def learn(self, rows: int, begun: int, take: Callable[[int], pa.Array]) -> None:
        """Learn from a micro-batch of so many rows, if it is time to.

        `begun` rows have come before.

        `take` takes some rows from all over it.
        """
        if self._fixed or not rows or begun + rows < self._lesson.due:
            return
        count = min(max(LESSON_ROWS, rows // ROWS_FOR_EACH), MOST_LESSON_ROWS)
        # A value that is not in a lesson has no number until the next.
        count = count if self._single is None else MOST_LESSON_ROWS
        some = take(count)
        codes = encode_values(some)
        if some.null_count:
            valid = some.is_valid().to_numpy(zero_copy_only=False)
            some, codes = some.filter(pa.array(valid)), codes[valid]
        if self._is_text and not self._nature.is_useless:
            self._note_texts(some, codes)
        self._lesson.add(codes, some.nbytes, min(rows, count), begun)
        if self._lesson.rows >= (LEAST_LESSON_ROWS if len(self._nature.sample) else ROWS_TO_JUDGE):
            self._end_lesson(begun + rows)

    def divide(self, array: pa.Array) -> Buckets:
        """Give the bucket of each value."""
        if self._single is not None:
            return self._single.buckets.take(self.number(array))
        return self._set_apart_nulls(array, self._cut.divide(array) if self._cut is not None else None)

    def refine(self) -> Buckets | None:
        """Tell values apart one by one, if they are hashed; gives the bucket of each number."""
        is_hashed = self._is_crowded and isinstance(self._cut, Values) and self._buckets == MOST_BUCKETS
        if self._single is None and is_hashed:
            self._counts.room = MOST_VALUES + ROOM_FOR_SINGLE
            self._single = self._number_singly(self._counts.codes[:MOST_VALUES])
            # Values that have not been counted yet are to get their numbers soon.
            self._lesson.due = 0
        return None if self._single is None else self._single.buckets

    def number(self, array: pa.Array) -> ValueNumbers:
        """Give the number of each value, or its bucket if it has none."""
        if self._single is None:
            return self.divide(array)
        return self._set_apart_nulls(array, self._single.divide(array))

    def _set_apart_nulls(self, array: pa.Array, found: ValueNumbers | None) -> ValueNumbers:
        found = np.zeros(len(array), np.uint8) if found is None else found
        if array.null_count:
            found[~array.is_valid().to_numpy(zero_copy_only=False)] = self._buckets
        return found

    def _number_singly(self, codes: Integers) -> SingleValues | None:
        return SingleValues(codes, self._cut) if isinstance(self._cut, Values) else None

    def name(self, bucket: int) -> BucketName:
        """Name a bucket by its value, its range, or ANY.

        Buckets are named in every micro-batch, and rarely change: their names are kept until they do.
        """
        named = self._names.get(bucket)
        if named is None:
            text = self._text(bucket)
            part = text if text == ANY else bucket
            named = self._names[bucket] = (f"{self._column}#{part}", f"{self._column}={text}")
        return named

    def snapshot(self) -> dict[str, Any]:
        """Give what has been learned of the values."""
        ranges = isinstance(self._cut, Ranges)
        return {
            "form": [self._buckets, self._ranges],
            "edition": self.edition,
            "nature": self._nature.snapshot(),
            "counts": self._counts.snapshot(),
            "lesson": self._lesson.snapshot(),
            "cut": None if self._cut is None else ["ranges" if ranges else "values", self._cut.codes.tolist()],
            "crowded": self._is_crowded,
            "single": None if self._single is None else self._single.codes.tolist(),
            "named": [list(self._texts), list(self._texts.values())],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot.

        One that divided otherwise is no help; it was another edition.
        """
        if self._fixed:
            return
        if state["form"] != [self._buckets, self._ranges]:
            self.edition = state["edition"] + 1
            return
        self.edition, self._is_crowded = state["edition"], state["crowded"]
        self._nature.restore(state["nature"])
        self._counts.restore(state["counts"])
        self._lesson = Lesson.restore(state["lesson"])
        self._texts = dict(zip(*state["named"], strict=True))
        self._cut = None
        if state["cut"] is not None:
            kind, codes = state["cut"]
            self._cut = self._make_ranges(codes) if kind == "ranges" else self._make_values(codes)
        self._single = None
        if state["single"] is not None:
            self._single = self._number_singly(np.array(state["single"], np.int64))
            self._counts.room = MOST_VALUES + ROOM_FOR_SINGLE
        self._names.clear()

    def _note_texts(self, some: pa.Array, codes: Integers) -> None:
        """Write down values that have not been met, as long as there is room for them."""
        fresh, first = np.unique(codes, return_index=True)
        known = self._texts
        places = [place for code, place in zip(fresh.tolist(), first.tolist(), strict=True) if code not in known]
        places = places[: max(self._counts.room - len(known), 0)]
        texts = map(value_text, some.take(pa.array(places, pa.int64())).to_pylist())
        known.update(zip(codes[places].tolist(), texts, strict=True))

    def _end_lesson(self, end: int) -> None:
        """Learn from the rows of the lesson, and cut anew if there is a reason to."""
        codes = self._lesson.codes
        if self._nature.is_full and self._is_as_usual(codes):
            self._lesson = self._lesson.plan_next(end, is_news=False)
            return
        self._nature.learn(codes, self._lesson.nbytes / max(len(codes), 1))
        if self._is_discrete:
            self._counts.add(codes)
        elif len(self._counts.codes):
            self._counts = HeavyCounts(self._counts.room)
        former, single = self._cut, self._single
        self._cut = self._choose_cut(codes)
        is_news = self._cut is not former or self._single is not single or isinstance(former, Ranges)
        if self._single is not None:
            is_news |= bool((self._single.find(codes) < 0).mean() > BETTER_SHARE)
        self._lesson = self._lesson.plan_next(end, is_news=is_news)
        if self._cut is not former:
            self._names.clear()
        if len(self._texts) >= self._counts.room:
            kept = {*self._counts.codes.tolist(), *(() if self._cut is None else self._cut.codes.tolist())}
            self._texts = {code: text for code, text in self._texts.items() if code in kept}

    def _is_as_usual(self, codes: Integers) -> bool:
        """Tell whether a lesson fits what is known, so that there is nothing to learn from it."""
        if isinstance(self._cut, Ranges):
            return not self._is_uneven(self._cut, codes)
        return self._cut is not None and not self._is_crowded and bool((self._cut.find(codes) >= 0).all())

    @property
    def _is_discrete(self) -> bool:
        return not self._nature.is_continuous

    def _choose_cut(self, codes: Integers) -> Ranges | Values | None:
        """Choose how values are shared out from here on; notes another edition."""
        former = self._cut
        if not self._nature.tells:
            self.edition += former is not None
            self._single = None
            return None
        if self._is_discrete:
            return self._share_out(former, codes) if isinstance(former, Values) else self._lay_out()
        sample = self._nature.sample
        if isinstance(former, Ranges) and not self._is_uneven(former, sample):
            return former
        cut = Ranges.cut(sample, self._ranges, self._buckets, fractions=has_fractions(self._type))
        if isinstance(former, Ranges) and TIMES_BETTER * cut.count_largest(sample) > former.count_largest(sample):
            return former
        self.edition += 1
        return cut

    def _is_uneven(self, cut: Ranges, codes: Integers) -> bool:
        """Tell whether a range has much more than its share."""
        return cut.count_largest(codes) > TIMES_TOO_LARGE * len(codes) / self._ranges + ROWS_OF_CHANCE

    def _share_out(self, former: Values, codes: Integers) -> Values:
        """Give new values the free buckets, or share out anew.

        A value is new when it is met for the first time.
        """
        counts = self._counts
        if self._single is not None:
            return self._number_more(former, self._single)
        if self._is_crowded:
            worth = counts.weights[: counts.count_worthy(self._buckets)].sum()
            now = counts.weights[former.find(counts.codes) >= 0].sum()
            if worth - now <= BETTER_SHARE * counts.rows and len(counts.codes) > self._buckets:
                return former
            return self._lay_out()
        fresh = np.unique(codes[former.find(codes) < 0])
        if not len(fresh):
            return former
        if len(former.codes) + len(fresh) > self._buckets:
            return self._lay_out()
        return self._make_values(np.append(former.codes, fresh))

    def _number_more(self, former: Values, single: SingleValues) -> Values:
        """Give new values the numbers that are left; where there are none, begin anew if many rows are without."""
        counts = self._counts
        is_numbered = single.find(counts.codes) >= 0
        fresh = counts.codes[~is_numbered][: MOST_VALUES - len(single.codes)]
        if len(fresh):
            self._single = self._number_singly(np.append(single.codes, fresh))
            return former
        if counts.weights[:MOST_VALUES].sum() - counts.weights[is_numbered].sum() <= BETTER_SHARE * counts.rows:
            return former
        cut = self._cut = self._lay_out()
        self._single = self._number_singly(counts.codes[:MOST_VALUES])
        return cut

    def _lay_out(self) -> Values:
        """Share out all buckets.

        All values get one if there are enough, else those that are worth one.
        """
        self.edition += 1
        counts = self._counts
        self._is_crowded = len(counts.codes) > self._buckets
        # Where all have one they are in order, for whoever cuts between neighbours.
        worthy = counts.codes[: counts.count_worthy(self._buckets)] if self._is_crowded else np.sort(counts.codes)
        return self._make_values(worthy)

    def _make_values(self, codes: Sequence[int] | Integers) -> Values:
        """Give values a bucket each.

        The others are hashed into some of those that are left, or into all if none is.
        """
        first = len(codes) if self._is_crowded else max(len(codes), self._buckets - SPARE_BUCKETS)
        return Values(np.array(codes, np.int64), first if first < self._buckets else 0, self._buckets)

    def _make_ranges(self, codes: Sequence[int]) -> Ranges:
        return Ranges(np.array(codes, np.int64), has_fractions(self._type))

    def _text(self, bucket: int) -> str:
        if bucket == self._buckets:
            return OTHERS if self._fixed else NULL
        if self._cut is None:
            return ANY
        codes = self._cut.codes.tolist()
        if isinstance(self._cut, Ranges):
            return codes_text(codes, bucket, self._type) if bucket <= len(codes) else OTHERS
        if bucket >= len(codes):
            return f"{OTHERS} {bucket - self._cut.first + 1}" if bucket > self._cut.first else OTHERS
        return self._texts.get(codes[bucket], OTHERS) if self._is_text else code_text(codes[bucket], self._type)


def _encode_known(attribute: Attribute, data_type: pa.DataType) -> Integers:
    try:
        # Numbers of 64 bits without a sign are the one type that Arrow does not find by itself.
        values = pa.array(attribute.values, data_type if pa.types.is_uint64(data_type) else None)
        return encode_values(values.cast(data_type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise QueryError(
            f'policy: values of "{attribute.column}": expected {data_type}, got {attribute.values!r}: {error}'
        ) from error
