"""Everything about indexes made so small that a few rows fill it."""

from __future__ import annotations

import random

import pytest

from eddy.operators import matching
from eddy.operators.index import admission, catalog, parts, price, segments, time_bounds
from eddy.operators.index.catalog import Catalog
from eddy.operators.index.structures import mapped
from eddy.operators.index.structures.key_map import Field, KeyMap
from eddy.operators.tuning import learned, tuner

DEFAULT_ROOM = 1 << 16


def parts_of(patch: pytest.MonkeyPatch, rows: int, *, merged: int = 1 << 16, room: int = DEFAULT_ROOM) -> None:
    """Segments of a few rows, merged up to so many, in which probes search no further than they must.

    `room` is what indexes have in any case: with none, they are left out for others, or for a look through all rows.
    """
    patch.setattr(segments, "SMALLEST_SEALED", rows)
    patch.setattr(segments, "FEWEST_SEALED", 1)
    patch.setattr(parts, "FEWEST_NARROWED", 1)
    patch.setattr(parts, "MOST_MERGED", merged)
    patch.setattr(admission, "LEAST_ROOM", room)
    patch.setattr(admission, "FEW_ROWS", 1)
    # However little is done, maps are chosen as often as it is asked for.
    patch.setattr(learned, "LOOK", 0)
    patch.setattr(tuner, "MOST_FILLING", 0)
    patch.setattr(admission, "PERIOD", 1)
    for module in (time_bounds, catalog):
        patch.setattr(module, "LEAST_SAVED", 0)
    if room < DEFAULT_ROOM:
        # Searches get maps that were left out after a few candidates in vain, in the midst of a call.
        patch.setattr(admission, "DECISION", 0)
        patch.setattr(admission, "SORTED_ROW", 0.0)
        for name in ("SMALLEST_GO", "LARGEST_GO"):
            patch.setattr(matching, name, matching.MOST_CANDIDATES // 2)


def other_maps(patch: pytest.MonkeyPatch, chance: random.Random, most_runs: int) -> None:
    """Other key maps in every micro-batch, and now and then for parts that are old: any that there can be."""
    rest = Catalog.rest
    patch.setattr(mapped, "MOST_RUNS", most_runs)
    # As dear as a candidate is among a thousand rows: else nobody would search in parts of two.
    patch.setattr(price, "CANDIDATE", chance.choice([1.0, 1_000.0, 1_000.0]))

    def rest_and_change(self: Catalog, room: int, most: int) -> None:
        rest(self, room, most)
        if chance.random() < 0.7:
            self.use(draw_maps(chance, len(self.names)))
            for part in self.parts:
                if chance.random() < 0.4:
                    self.migrate(part.number, draw_maps(chance, len(self.names)))

    patch.setattr(Catalog, "rest", rest_and_change)


def draw_maps(chance: random.Random, keys: int) -> list[KeyMap]:
    """Some maps over so many keys, with codes in one table or of those that there are."""
    return [draw_map(chance, keys) for _ in range(chance.randint(0, 3))] if keys else []


def draw_map(chance: random.Random, keys: int) -> KeyMap:
    """Fields of one key or more; no key is in two of them."""
    left = chance.sample(range(keys), keys)
    fields: list[Field] = []
    while left and len(fields) < 3:
        own, left = (left[:1], left[1:]) if chance.random() < 0.7 else (left[:2], left[2:])
        fields.append(Field(keys=tuple(sorted(own)), bits=chance.choice([1, 2, 5, 10])))
        if chance.random() < 0.4:
            break
    return KeyMap(fields=tuple(fields))
