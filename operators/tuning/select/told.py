"""The maps for what is to come: the bound that experiments hold others against."""

from __future__ import annotations

from eddy.operators.tuning.select.chosen import Chosen


class Told(Chosen):
    """As `chosen`, and the tuner hands it the searches that are to come in place of those that were counted."""
