"""Loads: more of everything than usual, in memory that is measured."""

from __future__ import annotations

from tests import overload
from tests.overload import Load
from tests.soak.hunt import Hunt

OVERLOAD: Hunt[Load] = Hunt(name="overload", cases=overload.loads(), check=overload.bear)
