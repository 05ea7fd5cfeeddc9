"""Drops tuples that have no match in one more input, and joins nothing.

It is the first phase of a join in two (section 5.2.2 of Babu's thesis): a tuple that one input has no match for
costs nothing in the others, and does not come out of them many times over before it is dropped. What it finds is kept
for the probe of the same rows, which then does not search again.

Where in doubt a tuple passes, so it drops none that the probe would have joined. By the index alone, a row may count as
a match that came later, is outside of its window, has failed a filter, or shares no more than a hash. Verified, all is
asked that the probe would ask. A row that can still meet a fault is a match either way.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from eddy.contracts import Outcome
from eddy.operators.matching import Matching
from eddy.query.join_graph import meets_name
from eddy.tuples import Lineage, Tuples
from eddy.tuples.arrays import Mask
from eddy.tuples.lineage import Rule
from eddy.tuples.runs import Ranges

Strength = Literal["index", "verified"]

STRENGTH: Strength = "index"
"""How sure it is that a tuple that passes has a match: a look at the index alone takes no longer where many rows match,
and what a probe will verify anyway is not verified twice."""


class Asked(NamedTuple):
    """The first tuples, as a mask of those that may have a match, and the candidates that were verified."""

    passed: Mask
    verified: int


class Meets:
    """Lets the tuples pass that may have a match in one input."""

    def __init__(self, rows: Matching, rule: Rule, strength: Strength | None = None) -> None:
        self.name = meets_name(rows.target)
        self.rule = rule
        self._rows = rows
        self._ask = self._ask_index if (strength or STRENGTH) == "index" else self._verify

    def pattern(self, lineage: Lineage) -> str:
        """Write by which keys tuples of a lineage search."""
        return self._rows.pattern(lineage)

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """Read what a probe would read."""
        return self._rows.reads(lineage)

    def run(self, tuples: Tuples) -> Outcome:
        """Keep the tuples that may have a match."""
        found: list[Mask] = [np.empty(0, np.bool_)]
        done = verified = 0
        # Like a probe it looks at so many at a time; unlike a probe it makes nothing, so it goes on to the last.
        while done < len(tuples):
            asked = self._ask(tuples.rest(done) if done else tuples)
            found.append(asked.passed)
            done, verified = done + len(asked.passed), verified + asked.verified
        passed = np.concatenate(found)
        return Outcome(tuples.take(np.flatnonzero(passed)), passed, done + verified)

    def _ask_index(self, tuples: Tuples) -> Asked:
        """Let the tuples pass that have a candidate."""
        search = self._rows.search(tuples)
        passed = search.ranges.per_probe() > 0
        self._rows.keep(search, np.flatnonzero(passed))
        return Asked(passed, 0)

    def _verify(self, tuples: Tuples) -> Asked:
        """Let the tuples pass that have a match, or a candidate with a fault."""
        search = self._rows.search(tuples)
        (at, rows, _), taken, evaluated = self._rows.match(search)
        counts = np.bincount(at, minlength=taken)
        passed = counts > 0
        # The pairs stand tuple by tuple, so those of a tuple are a run, and the probe need look at no other rows:
        #
        #     at [0 0 2]  rows [7 9 4]   ->   counts [2 0 1], starts [0 2 2]
        ranges = Ranges((np.cumsum(counts) - counts)[:, None], counts[:, None], rows)
        self._rows.keep(search._replace(ranges=ranges), np.flatnonzero(passed), are_own=True)
        return Asked(passed, evaluated)
