"""Every policy there is; a new one is its file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from eddy.contracts import Policy
from policies.fixed import Fixed
from policies.random import Random

POLICIES: dict[str, Callable[..., Policy]] = {
    "fixed": Fixed,
    "random": Random,
}
