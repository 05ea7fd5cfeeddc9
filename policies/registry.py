"""The registry of policies: a new one adds a line here."""

from __future__ import annotations

from collections.abc import Callable

from eddy.contracts import Policy
from eddy.policies.a_caching import ACaching
from eddy.policies.a_greedy import AGreedy
from eddy.policies.auto.policy import Auto
from eddy.policies.content.policy import Content
from eddy.policies.fixed import Fixed
from eddy.policies.independent import Independent
from eddy.policies.local_swaps import LocalSwaps
from eddy.policies.lottery import Lottery
from eddy.policies.oracle import Knows
from eddy.policies.query_mesh.policy import QueryMesh
from eddy.policies.random import Random
from eddy.policies.source import Source
from eddy.policies.sweep import Sweep
from eddy.policies.x_join import XJoin

POLICIES: dict[str, Callable[..., Policy]] = {
    "auto": Auto,
    "fixed": Fixed,
    "random": Random,
    "source": Source,
    "lottery": Lottery,
    "content": Content,
    "knows": Knows,
    "query_mesh": QueryMesh,
    "a_greedy": AGreedy,
    "a_caching": ACaching,
    "x_join": XJoin,
    "sweep": Sweep,
    "independent": Independent,
    "local_swaps": LocalSwaps,
}
