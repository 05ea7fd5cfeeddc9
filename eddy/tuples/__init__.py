"""Tuples: row ids with a lineage, and columns as numbers."""

from eddy.tuples.lineage import Hop, Lineage
from eddy.tuples.packed import Packed
from eddy.tuples.tuples import Tuples

__all__ = ["Hop", "Lineage", "Packed", "Tuples"]
