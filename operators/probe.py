"""Joins tuples with the stored rows of one more input."""

from __future__ import annotations

import numpy as np

from eddy.contracts import Outcome
from eddy.operators.matching import Matching
from eddy.query.join_graph import probe_name
from eddy.tuples import Lineage, Tuples
from eddy.tuples.lineage import Rule


class Probe:
    """Looks up the rows of one input that join."""

    def __init__(self, matching: Matching, rule: Rule) -> None:
        self.name = probe_name(matching.target)
        self.rule = rule
        self._matching = matching

    def pattern(self, lineage: Lineage) -> str:
        """Write by which keys tuples of a lineage search."""
        return self._matching.pattern(lineage)

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """Read what the search reads, and the conditions."""
        return self._matching.reads(lineage)

    def run(self, tuples: Tuples) -> Outcome:
        """Join the first tuples, up to a bounded number of candidates."""
        (at, rows, faults), taken, evaluated = self._matching.match(tuples)
        # `at` repeats a tuple for each row that it joins; the counts say how often, 0 included:
        #
        #     at [0 0 2]  rows [7 9 4]   ->   tuples 0 0 2 beside rows 7 9 4, counts [2 0 1]
        joined = tuples.take(at)
        joined = Tuples(joined.lineage, {**joined.ids, self._matching.target: rows}, joined.faults).with_faults(faults)
        counts, hash_keys = np.bincount(at, minlength=taken), self._matching.hash_keys
        return Outcome(joined, counts, evaluated, keys=lambda: hash_keys(tuples.first(taken)))
