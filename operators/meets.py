"""Drops tuples that have no match in one more input, and joins nothing.

It is the first phase of a join in two (section 5.2.2 of Babu's thesis): a tuple that one input has no match for
costs nothing in the others, and does not come out of them many times over before it is dropped. What it finds is kept
for the probe of the same rows, which then does not search again.

Where in doubt a tuple passes, so it drops none that the probe would have joined. By what is near, a row may count as a
match that agrees in all numbers at hand, and in the values themselves or by a residual does not. Verified, all is asked
that the probe would ask. A row that can still meet a fault is a match either way. An index alone says less, and what it
says depends on its layout: what a policy learns of it would be other under another `[index]`, and after a restart.
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

Strength = Literal["near", "verified"]

STRENGTH: Strength = "near"
"""How sure it is that a tuple that passes has a match: one row that is near is enough, so it takes no longer where many
rows match, and what a probe will verify anyway is not verified twice."""


class Met(NamedTuple):
    """The first tuples, as a mask of those that may have a match, and the candidates that were verified."""

    passed: Mask
    verified: int


class Meets:
    """Lets the tuples pass that may have a match in one input."""

    def __init__(self, matching: Matching, rule: Rule, strength: Strength | None = None) -> None:
        self.name = meets_name(matching.target)
        self.rule = rule
        self._matching = matching
        self._ask = self._ask_near if (strength or STRENGTH) == "near" else self._verify

    def pattern(self, lineage: Lineage) -> str:
        """Write by which keys tuples of a lineage search."""
        return self._matching.pattern(lineage)

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """Read what a probe would read."""
        return self._matching.reads(lineage)

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

    def _ask_near(self, tuples: Tuples) -> Met:
        """Let the tuples pass with which some row agrees in all numbers at hand."""
        search = self._matching.search(tuples)
        passed = self._matching.mask_near(search)
        if search.found.walk is None:
            self._matching.keep(search.tuples, search.found.ranges, np.flatnonzero(passed))
        return Met(passed, 0)

    def _verify(self, tuples: Tuples) -> Met:
        """Let the tuples pass that have a match, or a candidate with a fault."""
        (at, rows, _), taken, evaluated = self._matching.match(tuples)
        counts = np.bincount(at, minlength=taken)
        passed = counts > 0
        # The pairs stand tuple by tuple, so those of a tuple are a run, and the probe need look at no other rows:
        #
        #     at [0 0 2]  rows [7 9 4]   ->   counts [2 0 1], starts [0 2 2]
        ranges = Ranges((np.cumsum(counts) - counts)[:, None], counts[:, None], rows)
        self._matching.keep(tuples, ranges, np.flatnonzero(passed), are_own=True)
        return Met(passed, evaluated)
