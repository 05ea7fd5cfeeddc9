"""What searches take with a key map in rows as they are, by what is known of their keys and what was found before."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eddy.operators.index import price
from eddy.operators.index.admission import Admission
from eddy.operators.index.builder import Builder
from eddy.operators.index.counts import Served
from eddy.operators.index.experience import Experience
from eddy.operators.index.parts import Part
from eddy.operators.index.sample import Sample
from eddy.operators.index.structures.key_map import KeyMap
from eddy.tuples.request import list_keys


class Pricing:
    """Predicts what searches take."""

    def __init__(self, sample: Sample, builder: Builder, admission: Admission) -> None:
        self.experience = Experience()
        self._sample = sample
        self._builder = builder
        self._admission = admission

    @property
    def age(self) -> int:
        """The age of what is known of the rows."""
        return self._sample.age

    def price_part(self, key_map: KeyMap | None, rows: int, pattern: int, spare: int | None = None) -> float:
        """Predict what a search takes for one tuple in so many rows."""
        if key_map is None:
            return price.CANDIDATE * rows
        if not key_map.fields:
            # By an order alone half of the rows are found.
            return math.inf if pattern else price.CANDIDATE * rows / 2
        if not key_map.list_fields(pattern):
            return math.inf
        look = self.guess(key_map, rows, pattern, spare)
        candidates = look.candidates * self.find_times(key_map, pattern)
        if not key_map.linked:
            return look._replace(candidates=candidates).price
        passed = price.price_passed(rows, 0 if spare is None else spare)
        return passed + price.price_walks(1, candidates, rows * self._sample.alike(list_keys(pattern)))

    def price_parts(self, key_map: KeyMap | None, parts: Sequence[Part], pattern: int) -> float:
        """Predict what a search takes for one tuple in some parts."""
        return sum(self.price_part(key_map, part.rows, pattern) for part in parts)

    def guess_all(self, key_map: KeyMap, parts: Sequence[Part], pattern: int, spare: int) -> tuple[float, float]:
        """Guess what one tuple's looks into some parts take, and beside that their candidates."""
        if not key_map.list_fields(pattern):
            return sum(self.price_part(key_map, part.rows, pattern, spare) for part in parts), 0.0
        looks = [self.guess(key_map, part.rows, pattern, spare) for part in parts]
        return sum(one._replace(candidates=0.0).price for one in looks), price.CANDIDATE * sum(
            one.candidates for one in looks
        )

    def guess(self, key_map: KeyMap, rows: int, pattern: int, spare: int | None = None) -> price.Prediction:
        """Predict a look by what is known of the rows alone."""
        if key_map.linked:
            return price.predict_walk(key_map.list_keys(pattern), rows, self._sample.alike)
        bits = self.find_bits(key_map, rows, spare)
        return price.predict(key_map, pattern, rows, bits, self._sample.alike, self._sample.distinct)

    def find_bits(self, key_map: KeyMap, rows: int, spare: int | None = None) -> tuple[int, ...]:
        """Find the bits of the fields for so many rows of a part."""
        return self._builder.find_bits(key_map, rows, self._admission.spare(key_map) if spare is None else spare)

    def find_times(self, key_map: KeyMap, pattern: int) -> float:
        """Say how many candidates are found of one that is guessed."""
        return self.experience.find_times(key_map.list_keys(pattern), pattern, self._guess_candidates)

    def _guess_candidates(self, served: Served, rows: int) -> float:
        key_map, pattern = served
        return rows if key_map is None else self.guess(key_map, rows, pattern).candidates
