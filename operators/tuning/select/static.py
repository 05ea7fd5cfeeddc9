"""One bit-address index, chosen once after some training (section 9.1 of the AMRI paper)."""

from __future__ import annotations

from eddy.operators.tuning.select.bits import Bits


class Static(Bits):
    """As `bits`, after `training` searches, and never again: the tuner asks it once."""
