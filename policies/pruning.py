"""Operators whose place in the order is settled (section 4.4 of the content-based routing paper)."""

from __future__ import annotations

from typing import Any

import numpy as np

from policies.running import Floats

SLACK = 0.98
"""As good as all: an operator that drops or passes so much of everything cannot tell classes apart that matter."""


def settled(rates: Floats, costs: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which operators keep their place, whatever the classes are.

    So does one that is better on average than any other could be for a class (so cheap, or so selective), one that
    could not be better for a class than any other is on average (so dear), and one that lets everything pass. Operators
    that may return more than they are given are never settled, since nothing bounds what they do for a class.
    """
    if len(rates) < 2 or rates.max() > 1:
        return np.zeros(len(rates), np.bool_)
    average, best = (1 - rates) / costs, 1 / costs
    others = ~np.eye(len(rates), dtype=np.bool_)
    first = average >= SLACK * np.where(others, best, 0.0).max(axis=1)
    last = best <= np.where(others, average, np.inf).min(axis=1)
    found: np.ndarray[Any, np.dtype[np.bool_]] = first | last | (rates >= SLACK)
    return found
