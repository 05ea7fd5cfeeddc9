"""Counts access patterns in a lattice, and reduces nothing (DIA, section 5.4.1)."""

from __future__ import annotations

from eddy.operators.tuning.assess.sria import Sria


class Dia(Sria):
    """The counts of `sria`: "physically each DIA node is stored in a SRIA table".

    Without compression a lattice is no more than the order of its nodes, so both select the same, as the paper finds
    (section 9.2). It stands here so that experiments can say so.
    """
