"""What searches have found, to hold it against what was predicted of them.

How often values of stored rows come again says what a search finds only if tuples ask for values as often as rows have
them, whatever else is known of them. Tuples that come through other inputs do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eddy.operators.index.counts import Served, Work

FADING = 0.9
"""What a micro-batch counts for after the next one in which the same is asked."""

MOST_KNOWN = 1 << 10
"""Pairs of a map and a pattern of which something is known: of a query with very many patterns the latest."""

FEWEST = 256
"""Candidates, found or predicted, from which on they say something: by chance they are a tenth more or less."""

MOST_TIMES = 64.0
"""By how much at most a prediction is corrected, either way."""


@dataclass(slots=True)
class Seen:
    """The candidates that a map gave for a pattern, the looks that it took, and the rows that were within reach."""

    candidates: float = 0.0
    lookups: float = 0.0
    reached: float = 0.0

    def add(self, work: Work) -> None:
        """Add a micro-batch."""
        self.candidates = FADING * self.candidates + work.candidates
        self.lookups = FADING * self.lookups + work.lookups
        self.reached = FADING * self.reached + work.reached


Guess = Callable[[Served, int], float]
"""Gives the candidates of a look into so many rows, by what is known of the rows alone."""


class Experience:
    """Knows how many candidates were found of one that was predicted."""

    def __init__(self) -> None:
        self._seen: dict[Served, Seen] = {}
        # What follows from that, until something more is known.
        self._by_keys: dict[tuple[int, ...], list[tuple[Served, Seen]]] = {}
        self._times: dict[tuple[tuple[int, ...], int], float] = {}

    def note(self, served: Mapping[Served, Work]) -> None:
        """Note what searches took in a micro-batch."""
        for one, work in served.items():
            if one[0] is not None and one[1]:
                # What was asked last stands last.
                self._seen[one] = known = self._seen.pop(one, None) or Seen()
                known.add(work)
        for one in list(self._seen)[:-MOST_KNOWN]:
            del self._seen[one]
        self._by_keys, self._times = {}, {}

    def find_times(self, used: tuple[int, ...], pattern: int, guess: Guess) -> float:
        """Say how many candidates are found of one that is guessed, by maps that go by some keys of a pattern.

        Where nothing is known of the pattern, others say it that go by the same keys.
        """
        if (used, pattern) not in self._times:
            same = self._sort_by_keys().get(used, [])
            own = [(one, seen) for one, seen in same if one[1] == pattern]
            self._times[used, pattern] = _compare(own, guess) or _compare(same, guess) or 1.0
        return self._times[used, pattern]

    def _sort_by_keys(self) -> Mapping[tuple[int, ...], list[tuple[Served, Seen]]]:
        if not self._by_keys:
            for one, seen in self._seen.items():
                used = () if one[0] is None else one[0].list_keys(one[1])
                self._by_keys.setdefault(used, []).append((one, seen))
        return self._by_keys


def _compare(known: list[tuple[Served, Seen]], guess: Guess) -> float | None:
    """Compare what was found with what is guessed; None if it is too little."""
    found = sum(seen.candidates for _, seen in known)
    expected = sum(
        guess(one, round(seen.reached / seen.lookups)) * seen.lookups for one, seen in known if seen.lookups > 0
    )
    if expected <= 0 or max(found, expected) < FEWEST:
        return None
    return min(max(found / expected, 1 / MOST_TIMES), MOST_TIMES)
