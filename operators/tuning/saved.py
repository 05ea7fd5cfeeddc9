"""What tuners have learned, as JSON: keys by their texts, and nothing believed that cannot be.

Masks and maps are written by the numbers of keys, beside the texts of these. Whoever reads them numbers its own keys,
so that a query whose conditions stand in another order goes on; one with other keys learns anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eddy.operators.index.counts import Work
from eddy.operators.index.structures.key_map import Field, KeyMap
from eddy.operators.tuning.assess.entries import read_count
from eddy.operators.tuning.learned import MOST_IDLE, MOST_RIVALS, Learned, Rival
from eddy.operators.tuning.observed import MOST_SERVED, Observed
from eddy.operators.tuning.settings import MOST_BITS
from eddy.operators.tuning.trial import Trial
from eddy.operators.tuning.tuner import MOST_CORRECTIONS, MOST_WAIT, Tuner

MOST_MAPS = 256
"""Maps of one input; a state with more is forged."""

MOST_PATTERNS = 1 << 16
"""Counts of patterns in one list."""

WORK = ("probes", "lookups", "ranges", "candidates")
"""What is kept of the work of a map for a pattern."""

NUMBERS = (
    "batches",
    "arrived",
    "searches",
    "number",
    "stored",
    "looks",
    "quiet",
    "wait",
    "calm",
    "idle",
    "next_look",
    "work",
)
"""The counts of `Learned`."""


class OtherKeys(Exception):
    """A state is of a query with other keys."""


def write_tuner(tuner: Tuner, names: Sequence[str]) -> dict[str, Any]:
    """Write what a tuner has learned."""
    learned = tuner.learned
    return {
        "keys": list(names),
        "learned": {
            **{name: getattr(learned, name) for name in NUMBERS},
            "maps": None if learned.maps is None else _write_maps(learned.maps),
            "shares": list(map(list, learned.shares.items())),
            "rivals": [[_write_maps(one.maps), one.ahead] for one in learned.rivals],
            "corrected": [[used, pattern, times] for (used, pattern), times in learned.corrected.items()],
        },
        "assessment": tuner.assessment.snapshot(),
        "observed": _write_observed(tuner.observed),
        "trial": None if tuner.trial is None else _write_trial(tuner.trial),
    }


def read_tuner(tuner: Tuner, names: Sequence[str], state: Mapping[str, Any]) -> None:
    """Let a tuner go on; ValueError and its like if the state is none, OtherKeys if it is of another query."""
    keys = _Keys(state["keys"], names)
    learned = Learned()
    for name in NUMBERS:
        setattr(learned, name, read_count(state["learned"][name]))
    if not 1 <= learned.wait <= MOST_WAIT:
        raise ValueError(f"expected a wait from 1 to {MOST_WAIT}, got {learned.wait}")
    if learned.idle > MOST_IDLE:
        raise ValueError(f"expected up to {MOST_IDLE} idle looks, got {learned.idle}")
    maps = state["learned"]["maps"]
    learned.maps = None if maps is None else _read_maps(maps, keys)
    learned.shares = _read_shares(state["learned"]["shares"], keys, MOST_PATTERNS)
    learned.rivals = [
        Rival(_read_maps(rival, keys), _read_number(ahead))
        for rival, ahead in _read_list(state["learned"]["rivals"], MOST_RIVALS)
    ]
    learned.corrected = {
        (keys.mask(used), keys.mask(pattern)): _read_number(times)
        for used, pattern, times in _read_list(state["learned"]["corrected"], MOST_CORRECTIONS)
    }
    observed = _read_observed(state["observed"], keys)
    trial = None if state["trial"] is None else _read_trial(state["trial"], keys)
    tuner.go_on(learned, observed, trial, _renumber(state["assessment"], keys))


class _Keys:
    """Numbers keys as this query does."""

    def __init__(self, known: Any, names: Sequence[str]) -> None:
        if not isinstance(known, list) or not all(isinstance(text, str) for text in known):
            raise ValueError(f"expected the texts of keys, got {known!r:.80}")
        if set(known) != set(names) or len(known) != len(names):
            raise OtherKeys
        self._numbers = [list(names).index(text) for text in known]

    def key(self, number: Any) -> int:
        """Give a key's number here."""
        at = read_count(number)
        if at >= len(self._numbers):
            raise ValueError(f"expected one of {len(self._numbers)} keys, got {at}")
        return self._numbers[at]

    def mask(self, mask: Any) -> int:
        """Give a pattern's mask here."""
        if type(mask) is not int or not 0 <= mask < 1 << len(self._numbers):
            raise ValueError(f"expected a pattern of {len(self._numbers)} keys, got {mask!r:.40}")
        return sum(1 << self._numbers[at] for at in range(len(self._numbers)) if mask >> at & 1)


def _write_maps(maps: Sequence[KeyMap]) -> list[Any]:
    return [[[list(field.keys), field.bits] for field in one.fields] for one in maps]


def _read_maps(rows: Any, keys: _Keys) -> tuple[KeyMap, ...]:
    maps = []
    for fields in _read_list(rows, MOST_MAPS):
        read = [
            Field(keys=tuple(sorted(keys.key(key) for key in own)), bits=_read_bits(bits))
            for own, bits in _read_list(fields, MOST_BITS)
        ]
        if sum(field.bits for field in read) > MOST_BITS or not all(field.keys for field in read):
            raise ValueError(f"expected a code of up to {MOST_BITS} bits, got {fields!r:.80}")
        maps.append(KeyMap(fields=tuple(read)))
    return tuple(maps)


def _write_observed(observed: Observed) -> dict[str, Any]:
    maps = list(dict.fromkeys(one for one, _ in observed.served if one is not None))
    return {
        "batches": observed.batches,
        "arrived": observed.arrived,
        "stored": observed.stored,
        "sorted": observed.sorted_rows,
        "calls": observed.calls,
        "asked": list(map(list, observed.asked.items())),
        "maps": _write_maps(maps),
        "served": [
            [None if one is None else maps.index(one), pattern, *(getattr(done, name) for name in WORK)]
            for (one, pattern), done in observed.served.items()
        ],
    }


def _read_observed(state: Mapping[str, Any], keys: _Keys) -> Observed:
    read = Observed(
        batches=read_count(state["batches"]),
        arrived=read_count(state["arrived"]),
        stored=read_count(state["stored"]),
        sorted_rows=read_count(state["sorted"]),
        calls=read_count(state["calls"]),
        asked={keys.mask(p): read_count(times) for p, times in _read_list(state["asked"], MOST_PATTERNS)},
    )
    maps = _read_maps(state["maps"], keys)
    for at, pattern, *done in _read_list(state["served"], MOST_SERVED):
        one = None if at is None else maps[read_count(at)]
        numbers = dict(zip(WORK, map(read_count, done), strict=True))
        read.served[one, keys.mask(pattern)] = Work(**numbers)
    return read


def _write_trial(trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "why": trial.why,
        "before": _write_maps(trial.before),
        "after": _write_maps(trial.after),
        "predicted": trial.predicted,
        "patterns": trial.patterns,
        "ratio": trial.ratio,
        "left": trial.left,
        "migrated": trial.migrated,
        "observed": _write_observed(trial.observed),
    }


def _read_trial(state: Mapping[str, Any], keys: _Keys) -> Trial:
    why = state["why"]
    if not isinstance(why, str) or len(why) > 80:
        raise ValueError(f"expected why there was a switch, got {why!r:.80}")
    return Trial(
        number=read_count(state["number"]),
        why=why,
        before=_read_maps(state["before"], keys),
        after=_read_maps(state["after"], keys),
        predicted=_read_number(state["predicted"]),
        patterns=read_count(state["patterns"]),
        ratio=_read_number(state["ratio"]),
        left=read_count(max(state["left"], 0)),
        migrated=read_count(state["migrated"]),
        observed=_read_observed(state["observed"], keys),
    )


def _renumber(state: Any, keys: _Keys) -> dict[str, Any]:
    """Give what an assessment has counted, by the numbers of keys here."""
    entries = [[keys.mask(entry[0]), *entry[1:]] for entry in _read_list(state["entries"], MOST_PATTERNS)]
    return {**state, "entries": entries}


def _read_shares(rows: Any, keys: _Keys, most: int) -> dict[int, float]:
    return {keys.mask(mask): _read_number(value) for mask, value in _read_list(rows, most)}


def _read_list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"expected a list of up to {most}, got {value!r:.80}")
    return value


def _read_bits(value: Any) -> int:
    if not 1 <= read_count(value) <= MOST_BITS:
        raise ValueError(f"expected 1 to {MOST_BITS} bits, got {value}")
    return int(value)


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number, got {value!r:.40}")
    return float(value)
