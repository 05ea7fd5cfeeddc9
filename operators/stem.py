"""What is known of an input's stored rows: which are alive, what filters have said of them, by what they are found.

Rows stand in the order in which they arrived, so a row's id is its position, and of two rows of a stream the one
with the smaller id came first. Ids hold for one micro-batch: in between, rows whose time has passed and rows that a
filter has failed are forgotten, and the rest move up. The rows themselves are in a store that other names of the same
source may share (`operators.shared`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from eddy.kernels.arguments import Ranked
from eddy.operators.index.catalog import Catalog
from eddy.operators.index.segments import Segments
from eddy.operators.keys import CodedKeys, ColumnKey, ComputedKey, Key, is_plain
from eddy.operators.shared import ALIVE, SharedRows
from eddy.operators.stored.answers import SharedAnswers
from eddy.operators.stored.columns import FixedWidth, Growing, Rowwise, retain_rowwise
from eddy.operators.stored.row_windows import make_row_window
from eddy.operators.tuning.settings import IndexSettings
from eddy.predicates.faults import FAIL, PASS, PENDING, UNKNOWN, Faults
from eddy.predicates.judge import Judged
from eddy.query import Unbounded, Window
from eddy.sql import Bound, Expression
from eddy.tuples.arrays import FaultCodes, Integers, Mask, RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.runs import Kept, Segment
from eddy.tuples.tuples import Appearance
from eddy.tuples.values import Held

SPARE = 16
"""Bytes that a row may occupy beside one and a half times its values."""

FALLEN = np.zeros((), np.bool_)
"""What stands in `alive` for all rows that a filter has failed."""

DEAD_SHARE, OUTRUN_SHARE = 4, 6
"""Rows that failed after their own micro-batch are cleared away once they are a quarter of all; where newer rows of
their value outrun them, it is a sixth: then hardly a row dies in any other way."""

VERDICT = "verdict "
"""The column of a snapshot's table of marks that a filter has, with its name after the word."""

Follower = Callable[[int, Mask], None]
"""Hears that rows move up: `gone` as it is until now, and which rows stay; not called where only the oldest go."""


class Stem:
    """One input's stored rows: values, times, verdicts, keys.

    `gone` rows have left from the start, so a row keeps its number, id + `gone`, as long as none between the others
    goes. Where one does, `followers` hear of it. Of several STeMs over the same rows each has a `name`. `counted` is
    what a window of rows knows of them; if it `numbers` them, with which number each came. Without `keeps` rows are
    here for their own micro-batch only, so that conditions can read them, and verdicts have a place.
    """

    def __init__(  # noqa: PLR0913  all that is known of an input, by keyword
        self,
        rows: SharedRows,
        *,
        name: str = "",
        window: Window | None = None,
        horizon: float | None = None,
        delay: float | None = None,
        filters: Sequence[str] = (),
        index: IndexSettings | None = None,
        index_room: Callable[[], int] = lambda: sys.maxsize,
        numbers: bool = False,
        keeps: bool = True,
    ) -> None:
        self.rows, self.name = rows, name
        self._keeps = keeps
        self.window = window or Unbounded()
        index = index or IndexSettings()
        self.segments = Segments(self.window, delay, horizon=horizon, stays=not rows.timed, merge=index.merge)
        self.catalog = Catalog(self.segments, index, lambda: self.ticks)
        self.dead = 0
        self.followers: list[Follower] = []
        self._index_room = index_room
        # Times, verdicts, keys and `alive` are arrays of one length, and an id is a position in each of them:
        #
        #     id        0  1  2  3 | 4  5      `fresh` is 4: 4 and 5 came in this micro-batch
        #     ticks     1  3  4  9 | 5  7      sorted within a micro-batch only
        #     alive     T  F  T  T | T  F
        #     verdicts  P  F  P  ? | P  F      of one filter: passed, failed, not asked yet
        self._alive = Growing(np.bool_)
        self.counted = make_row_window(self.window, rows.columns, numbers=numbers)
        self._verdicts = {name: Growing(np.uint8) for name in filters}
        self._faulty: set[str] = set()
        self._shared: dict[str, SharedAnswers] = {}
        self._keys: dict[tuple[str, str], ComputedKey] = {}
        self._arrivals: Integers = np.empty(0, np.int64)
        self._past = 0
        rows.views.append(self)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fresh(self) -> int:
        """The first id of the rows that came in this micro-batch."""
        return self.rows.fresh

    @property
    def arrived(self) -> int:
        """How many rows have come."""
        return self.rows.arrived

    @property
    def gone(self) -> int:
        """How many rows have left."""
        return self.rows.gone

    @property
    def nbytes(self) -> int:
        """The bytes of the rows, and of what is known of them."""
        return self.row_bytes + self.catalog.nbytes

    @property
    def row_bytes(self) -> int:
        """The same without the indexes; rows that several share are counted at the first of them."""
        return self.rows.count_bytes(self) + self._count_own()

    def _count_own(self) -> int:
        """Count the bytes of what is known of the rows."""
        return sum(held.nbytes for held in self._list_rowwise())

    @property
    def timed(self) -> bool:
        """The rows have event times: a stream's do, a table's do not."""
        return self.rows.timed

    @property
    def ticks(self) -> Ticks:
        """The event time of every row; none where rows have no times."""
        return self.rows.ticks

    @property
    def alive(self) -> Mask:
        """The rows that no filter has failed, and that take part under this name."""
        return self._alive.values

    @property
    def needed(self) -> Mask:
        """The rows that a snapshot is restored with: this name needs them, or another one of their source."""
        return self.rows.needed

    @property
    def dead_share(self) -> int:
        """Dead rows are cleared away once they are more than one in so many."""
        return DEAD_SHARE if self.counted is None else OUTRUN_SHARE

    def column(self, name: str) -> Held:
        """A column of the stored rows, now and in later micro-batches."""
        return self.rows.columns[name]

    def key(self, expression: Expression, bound: Bound, faults: Faults) -> Key:
        """Give the codes of an expression over this input.

        Must be called before the first row is stored.
        """
        column = expression.as_column()
        stored = self.rows.columns[column.name] if column else None
        key: Key
        if isinstance(stored, FixedWidth) and is_plain(stored.type, bound.type):
            key = ColumnKey(stored, of=self)
        else:
            made = ComputedKey(bound, expression.text, faults)
            key = self._keys.setdefault((expression.text, str(bound.type)), made)
        self.catalog.add_key(key, expression.text, str(bound.type))
        return key

    def share(self, filter: str, definition: Hashable) -> None:
        """Let a filter take over what others that are defined so have said of the same rows, and tell them."""
        self._shared[filter] = self.rows.find_answers(definition)

    def encode(self, rows: pa.RecordBatch, seen: Appearance) -> list[CodedKeys]:
        """Work out the keys of new rows; those that take no part have none."""
        keys, count = self._keys.values(), rows.num_rows
        if seen.taken is None:
            return [key.encode({c: rows.column(c.name) for c in key.columns}, count) for key in keys]
        places, own = pa.array(seen.taken), len(seen.taken)
        coded = [key.encode({c: rows.column(c.name).take(places) for c in key.columns}, own) for key in keys]
        return [one.spread(seen.taken, count) for one in coded]

    def extend(self, ticks: Ticks, codes: Sequence[CodedKeys], seen: Appearance) -> None:
        """Take note of rows that have just been stored; those that take no part are dead."""
        count = len(ticks)
        alive = np.ones(count, np.bool_)
        if seen.taken is not None:
            alive[:] = False
            alive[seen.taken] = True
            self.dead += count - len(seen.taken)
        self._alive.append(alive)
        for verdicts in self._verdicts.values():
            verdicts.append(np.full(count, UNKNOWN, np.uint8))
        if self.counted is not None:
            self.counted.append(self.fresh, self.fresh + count, self.rows.arrived)
        for key, coded in zip(self._keys.values(), codes, strict=True):
            key.append(coded)
        self.segments.extend(ticks)
        self.catalog.note_arrived(count)
        self._arrivals = seen.arrivals

    def arrivals(self, ids: RowIds) -> Integers:
        """Give the numbers of rows that have just come.

        They count all arrivals of the micro-batch.
        """
        return self._arrivals.take(ids - self.fresh)

    def before(self, arrivals: Integers) -> RowIds | None:
        """Give for each arrival the id below which rows had come.

        None stands for all rows.
        """
        if len(self) == self.fresh and self.counted is None:
            return None
        # The arrivals of fresh rows rise, so how many came before another row is a search among them:
        #
        #     own arrivals  [0 3 5]    fresh 10    other row arrived as 4  ->  2 + 10: ids below 12 were there
        return np.searchsorted(self._arrivals, arrivals) + self.fresh

    @property
    def ranked(self) -> Ranked | None:
        """What a window that counts rows says of each; None for other windows."""
        if self.counted is None:
            return None
        shift = self.counted.find_shift(self.rows.arrived, len(self))
        return Ranked(self.counted.ranks, shift, rises=self.counted.rises)

    def verdicts(
        self, filter: str, ids: RowIds, ask: Callable[[RowIds], Judged], *, repeated: bool
    ) -> tuple[Judged, int]:
        """Give a filter's verdicts, and the number of rows asked.

        It is asked about rows that it has not judged before. `ask` gets each of these once. A row may stand among the
        ids several times only if they are `repeated`.
        """
        known = self._verdicts[filter].values.take(ids)
        settled = np.count_nonzero(known)  # `UNKNOWN` is zero
        if settled == len(ids):
            return self._judged_before(filter, known), 0
        if filter in self._shared:
            ask = partial(self._shared[filter].ask, ask=ask)
        if not settled and not repeated:
            judged = ask(ids)
            self._remember(filter, ids, judged)
            return judged, len(ids)
        unknown = ids.take((known == UNKNOWN).nonzero()[0])
        new = np.unique(unknown) if repeated else unknown
        judged = ask(new)
        self._remember(filter, new, judged)
        known = self._verdicts[filter].values.take(ids)
        return self._judged_before(filter, known)._replace(skipped=judged.skipped, reused=judged.reused), len(new)

    def _judged_before(self, filter: str, verdicts: FaultCodes) -> Judged:
        """Give known verdicts.

        They come with faults, if the filter had no answer for some row of the input.
        """
        if filter not in self._faulty:
            return Judged(verdicts == PASS, None)
        return Judged(verdicts != FAIL, np.where(verdicts < PENDING, np.uint8(0), verdicts))

    def _remember(self, filter: str, ids: RowIds, judged: Judged) -> None:
        """Remember verdicts of some rows, each of them once.

        Rows that fail are dead.
        """
        # To pass is one less than to fail: a subtraction takes a third of the time of a choice for each row.
        verdicts = FAIL - judged.passed.view(np.uint8)
        if judged.faults is not None:
            # Faults are numbered above all verdicts, so a row with one keeps it.
            verdicts = np.maximum(verdicts, judged.faults)
            self._faulty.add(filter)
        self._verdicts[filter].put(ids, verdicts)
        self._let_fall(ids.take((~judged.passed).nonzero()[0]))

    def _let_fall(self, ids: RowIds) -> None:
        """Let rows be dead, each of them once."""
        self.dead += int(np.count_nonzero(self.alive.take(ids)))
        self._alive.put(ids, FALLEN)

    def find_kept(self, watermark: float | None) -> Kept:
        """Find the rows that stay, where no other name needs them."""
        if not self._keeps:
            return Kept(len(self), len(self))
        self._let_outrun_fall()
        # Fresh rows are cleared at once, since they are at the end and cheap to move. Among the old ones a hole moves
        # all rows behind it, and makes their indexes anew; it waits until a share of the rows are holes.
        first = 0 if self.dead * self.dead_share > len(self) else self.fresh if self.dead else len(self)
        # Whole segments only: nobody looks for single rows that are too old, and probes check the times themselves.
        past = [segment for segment in self.segments if self._is_past(segment, watermark)]
        gone = past[-1].stop if past else 0
        if gone < first and sum(segment.rows for segment in past) == gone:
            return Kept(gone, first, self.alive[first:].copy())
        keep = np.ones(len(self), np.bool_)
        keep[first:] = self.alive[first:]
        for segment in past:
            keep[segment.start : segment.stop] = False
        return Kept.of(keep)

    def let_go(self, watermark: float | None) -> int:
        """Let rows be dead whose time has passed, and tell how many of the oldest are; others may need them still."""
        self._let_outrun_fall()
        past = 0
        if not self._keeps:
            self._let_fall(np.arange(self._past, len(self)))
            self._past = len(self)
            return self._past
        for segment in self.segments:
            if not self._is_past(segment, watermark):
                break
            past = segment.stop
        if past > self._past:
            self._let_fall(np.arange(self._past, past))
            self._past = past
        return past

    def _let_outrun_fall(self) -> None:
        """Let rows be dead that newer ones have taken out of a window that counts them."""
        if self.counted is not None:
            self._let_fall(self.counted.settle(len(self)))

    def rest(self) -> None:
        """End the micro-batch, and choose the indexes that there is room for."""
        self._arrivals = np.empty(0, np.int64)
        self.catalog.rest(self._room(), self._index_room())

    def _room(self) -> int:
        """Give the bytes that the indexes may occupy.

        They are what the rows leave of one and a half times their Arrow size and 16 bytes a row, and no more than what
        all rows leave of `max_state`.
        """
        values, occupied = self.rows.size, self.rows.nbytes + self._count_own()
        left = len(self) * SPARE + values + values // 2 - occupied
        return max(min(left, self._index_room()), 0)

    def list_marks(self) -> dict[str, pa.Array]:
        """List what may change of each row, as columns."""
        marks = {ALIVE: pa.array(self.alive)}
        marks |= {f"{VERDICT}{name}": pa.array(_known(held.values)) for name, held in self._verdicts.items()}
        if self.counted is not None:
            marks |= self.counted.write()
        return marks

    def read_marks(self, marks: Mapping[str, pa.Array], forgotten: frozenset[str]) -> None:
        """Go on from the columns of a snapshot, but for what some filters have said."""
        for name in self._verdicts.keys() - forgotten:
            verdicts = marks[f"{VERDICT}{name}"].to_numpy()
            self._verdicts[name].put(np.arange(len(self)), verdicts)
            if name in self._shared:
                self._shared[name].adopt(verdicts)
        if self.counted is not None:
            self.counted.restore(marks)

    def _is_past(self, segment: Segment, watermark: float | None) -> bool:
        if self.counted is not None and self.counted.is_past(segment.stop - 1, self.rows.arrived):
            return True
        return watermark is not None and watermark - segment.newest > self.segments.life

    def retain(self, kept: Kept) -> None:
        """Keep only some rows; the store has done so already."""
        retain_rowwise(self._list_rowwise(), kept)
        if kept.has_holes:
            for follow in self.followers:
                follow(self.gone, kept.mask())
        self.segments.retain(kept)
        self._past = kept.place(self._past)
        self.dead = len(self) - int(np.count_nonzero(self.alive)) if self.dead else 0
        self.catalog.retain(kept)

    def _list_rowwise(self) -> list[Rowwise]:
        counted = () if self.counted is None else self.counted.rowwise
        return [*counted, *self._verdicts.values(), *self._keys.values(), self._alive]


def _known(verdicts: FaultCodes) -> FaultCodes:
    return np.where(verdicts < PENDING, verdicts, np.uint8(UNKNOWN))
