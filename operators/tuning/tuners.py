"""The tuners of all inputs of a cell, and the one schedule that says whose turn it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eddy.errors import CheckpointError, describe_error
from eddy.observe.indexing import Tuning
from eddy.operators.index.counts import IndexCounts
from eddy.operators.tuning.observed import TunedCatalog
from eddy.operators.tuning.saved import OtherKeys, read_tuner, write_tuner
from eddy.operators.tuning.schedule.registry import SCHEDULES
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.tuner import Tuner

VERSION = 5
"""Of what a snapshot has learned; one of another version is let go of, since nothing but learning is lost."""

FIRST = "first"
"""Why maps are chosen as soon as there were searches enough."""


class Tuners:
    """Choose the key maps of all inputs; under `patterns` there is nothing to choose, and nothing is done."""

    def __init__(self, catalogs: Mapping[str, TunedCatalog], settings: IndexSettings, seed: Sequence[int]) -> None:
        self._catalogs = catalogs
        self._settings = settings
        self._seed = seed
        self._batch = 0
        self._begin()

    def _begin(self) -> None:
        settings = self._settings
        does = settings.does
        # Of one key there is one map to have: whoever may leave the catalog alone does so.
        least = 2 if does.is_free else 0
        names = [n for n, catalog in self._catalogs.items() if does.chooses and len(catalog.names) >= least]
        self._tuners = {
            name: Tuner(name, self._catalogs[name], settings, _mix([*self._seed, number]))
            for number, name in enumerate(names)
        }
        self._schedule = SCHEDULES[settings.schedule](names, period=settings.period, trigger=settings.trigger)

    def settle(self, counts: Mapping[str, IndexCounts]) -> None:
        """End a micro-batch: learn from what was counted, and choose where it is time."""
        if not self._tuners:
            return
        self._batch += 1
        self._schedule.note({name: tuner.note(counts[name]) for name, tuner in self._tuners.items()})
        turn = dict(self._schedule.ask()) if self._settings.does.chooses_again else {}
        turn.update({name: FIRST for name, tuner in self._tuners.items() if tuner.is_new})
        for name, why in turn.items():
            self._tuners[name].tune(why, self._find_coming(name))

    def count(self) -> Sequence[Tuning]:
        """Give the decisions that are new, and those of which more is known."""
        told = [tuning for tuner in self._tuners.values() for tuning in tuner.told]
        for tuner in self._tuners.values():
            tuner.told.clear()
        return told

    def _find_coming(self, name: str) -> dict[int, float] | None:
        """Add up the searches that are to come, for a period; None for a kind that is not told."""
        if not self._settings.does.is_told:
            return None
        patterns: dict[str, float] = {}
        for batch in self._settings.coming[self._batch :]:
            if sum(patterns.values()) >= self._settings.period:
                break
            for pattern, probes in batch.get(name, {}).items():
                patterns[pattern] = patterns.get(pattern, 0.0) + probes
        names = self._catalogs[name].names
        return {mask: probes for text, probes in patterns.items() if (mask := find_mask(text, names))}

    def snapshot(self) -> dict[str, Any]:
        """Give what was learned, as JSON can hold it."""
        if not self._tuners:
            return {}
        return {
            "version": VERSION,
            "index": self._settings.describe(),
            "batch": self._batch,
            "schedule": self._schedule.snapshot(),
            "inputs": {name: write_tuner(t, self._catalogs[name].names) for name, t in self._tuners.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; learn anew from one of another `[index]`, or of other keys."""
        self._begin()
        try:
            if not state or state["version"] != VERSION or state["index"] != self._settings.describe():
                return
            self._read(state)
        except OtherKeys:
            self._begin()
        except Exception as error:  # the state may be anybody's, so anything may be wrong with it
            raise CheckpointError(
                f"checkpoint: indexes: what was learned of searches cannot be read, {describe_error(error)}; restore "
                "the checkpoint from a copy, or restart with another [index]: then it keeps the rows, and learns anew"
            ) from error

    def _read(self, state: Mapping[str, Any]) -> None:
        batch, inputs = state["batch"], state["inputs"]
        if type(batch) is not int or batch < 0 or set(inputs) != set(self._tuners):
            raise ValueError(f"expected the inputs {', '.join(self._tuners)}, got {', '.join(map(str, inputs))}")
        self._schedule.restore(state["schedule"])
        for name, tuner in self._tuners.items():
            read_tuner(tuner, self._catalogs[name].names, inputs[name])
        self._batch = batch
        # Nothing is told to a catalog before all of it has been read.
        for tuner in self._tuners.values():
            tuner.apply()


def find_mask(text: str, names: Sequence[str]) -> int:
    """Find the pattern that is written so; 0 if it is none of these keys.

    >>> find_mask("place, user", ["user", "kind", "place"])
    5
    """
    left, mask = f", {text}, ", 0
    # The longest first: the text of a key may be a part of another's.
    for name in sorted(names, key=len, reverse=True):
        if f", {name}, " in left:
            left = left.replace(f", {name}, ", ", ", 1)
            mask |= 1 << list(names).index(name)
    return mask if left == ", " else 0


def _mix(numbers: Iterable[int]) -> int:
    """Make one seed of several."""
    mixed = 0
    for number in numbers:
        mixed = (mixed * 1_000_003 + number + 1) % (1 << 63)
    return mixed
