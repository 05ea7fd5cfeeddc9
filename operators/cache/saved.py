"""The parts of a cache as they are saved: pages of numbers, beside the pages of the rows that they are about.

A state has no rows that are dead, and numbers those that are alive from 0 on. So rows go by these numbers here, and
combinations that join nobody any more are left out. Windows are worked out anew. What is read is held against the rows:
whatever does not fit makes the whole cache begin anew, which is no loss but of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.operators.cache.deadlines import NO_TIMES, Deadlines
from eddy.operators.cache.scope import CacheKey
from eddy.operators.cache.store import GONE, Part, hash_codes
from eddy.operators.stem import Stem
from eddy.operators.stored.pages import make_page, read_pages
from eddy.predicates.faults import FAIL, PASS, UNKNOWN
from eddy.tuples.arrays import Integers, Mask, RowIds
from eddy.tuples.packed import Packed, pack_rows

CODE, ROW, VERDICT = "code ", "row ", "verdict "
"""What the names of columns begin with, of which a part has several."""

HELD, USED, COUNT = "held", "used", "count"

VERSION = 1
"""Of what is saved, codes of keys included: what another one has written is not read."""


def number_rows(stems: Mapping[str, Stem]) -> dict[str, Integers]:
    """Give each row of each input its number in a state; `GONE` for those that are dead."""
    return {name: np.where(stem.alive, np.cumsum(stem.needed) - 1, GONE) for name, stem in stems.items()}


def write_part(part: Part, gone: Mapping[str, int], numbers: Mapping[str, Integers]) -> list[Packed]:
    """Write the keys of a part, and their combinations."""
    kept: Mask = np.ones(part.many, np.bool_)
    rows: dict[str, RowIds] = {}
    for name, of_input in part.rows.items():
        # One more stands at the end, for rows that have gone.
        rows[name] = np.append(numbers[name], GONE).take(np.maximum(of_input - gone[name], -1))
        kept &= rows[name] != GONE
    for verdicts in part.verdicts:
        kept &= verdicts != FAIL
    part = replace(part, rows=rows)
    part.keep_combinations(kept)
    keys = [(f"{CODE}{side}", pa.array(code)) for side, code in enumerate(part.codes)]
    keys += [(HELD, pa.array(part.held)), (USED, pa.array(part.used)), (COUNT, pa.array(part.counts))]
    combined = [(f"{ROW}{name}", pa.array(of_input)) for name, of_input in part.rows.items()]
    combined += [(f"{VERDICT}{number}", pa.array(verdicts)) for number, verdicts in enumerate(part.verdicts)]
    return [pack_rows(make_page(keys)), pack_rows(make_page(combined))]


class PartReader:
    """Reads the parts of a cache, over the rows that are stored."""

    def __init__(self, key: CacheKey, stems: Mapping[str, Stem], conditions: int, deadlines: Deadlines) -> None:
        # Deadlines are asked by the windows of all inputs, those of the tuples included.
        self._key, self._stems, self._deadlines = key, stems, deadlines
        numbers = [f"{CODE}{side}" for side in range(len(key.sides))]
        self._codes, self._conditions = numbers, [f"{VERDICT}{number}" for number in range(conditions)]
        fields = [*((name, pa.int64()) for name in numbers), (HELD, pa.bool_()), (USED, pa.int64())]
        self._keys = pa.schema([*fields, (COUNT, pa.int64())])
        rows = [(f"{ROW}{name}", pa.int64()) for name in stems]
        self._rows = pa.schema([*rows, *((name, pa.uint8()) for name in self._conditions)])

    def read(self, pages: Sequence[Packed]) -> Part:
        """Read what `write_part` wrote; raises a ValueError if it cannot be about these rows."""
        keys, combined = (
            read_pages([page.read()], schema, 0) for page, schema in zip(pages, (self._keys, self._rows), strict=True)
        )
        codes = [read_numbers(keys, name) for name in self._codes]
        held, used, counts = read_numbers(keys, HELD), read_numbers(keys, USED), read_numbers(keys, COUNT)
        hashes = hash_codes(codes)
        _check(bool((hashes[1:] > hashes[:-1]).all()), "expected keys in order, each of them once")
        # No count is larger than all together, so their sum is what it says.
        many = combined.num_rows
        _check(bool(((counts >= 0) & (counts <= many)).all()), f"expected counts from 0 to {many}")
        _check(int(counts.sum()) == many, f"expected {many} combinations, got {counts.sum()}")
        rows = {name: read_numbers(combined, f"{ROW}{name}") for name in self._stems}
        verdicts = [read_numbers(combined, name) for name in self._conditions]
        _check(all(bool(np.isin(one, (UNKNOWN, PASS)).all()) for one in verdicts), "expected known verdicts")
        kept = self._mask_stored(rows)
        part = Part(
            hashes=hashes,
            codes=codes,
            held=held,
            used=used,
            starts=np.cumsum(counts) - counts,
            counts=counts,
            rows=rows,
            times=NO_TIMES,
            verdicts=verdicts,
        )
        part.keep_combinations(kept)
        self._check_keys(part)
        part.times = self._deadlines.find(self._find_ids(part.rows))
        return part

    def _mask_stored(self, rows: Mapping[str, RowIds]) -> Mask:
        """Mask the combinations all of whose rows are stored: the oldest may go as a state is read."""
        for name, numbers in rows.items():
            stored = self._stems[name].gone + len(self._stems[name])
            fits = bool(((numbers >= 0) & (numbers < stored)).all())
            _check(fits, f'expected rows of "{name}" up to {stored}')
        kept: Mask = np.logical_and.reduce([numbers >= self._stems[name].gone for name, numbers in rows.items()])
        return kept

    def _find_ids(self, rows: Mapping[str, RowIds]) -> dict[str, RowIds]:
        return {name: numbers - self._stems[name].gone for name, numbers in rows.items()}

    def _check_keys(self, part: Part) -> None:
        """Check that rows have the key that they are kept for."""
        ids, owners = self._find_ids(part.rows), np.repeat(np.arange(len(part.hashes)), part.counts)
        for side, code in zip(self._key.sides, part.codes, strict=True):
            _check(np.array_equal(side.key.codes(ids[side.input]), code.take(owners)), "expected rows with their key")


def read_numbers(table: pa.RecordBatch, name: str) -> np.ndarray[Any, Any]:
    """Read a column of numbers, none of which is missing."""
    column = table.column(name)
    _check(not column.null_count, f'"{name}": expected no nulls')
    return column.to_numpy(zero_copy_only=False).copy()


def _check(holds: bool, expected: str) -> None:
    if not holds:
        raise ValueError(expected)
