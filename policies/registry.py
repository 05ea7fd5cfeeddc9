"""Every policy there is; a new one is its file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from eddy.contracts import Policy
from policies.content import Content
from policies.fixed import Fixed
from policies.knows import Knows
from policies.lottery import Lottery
from policies.query_mesh.policy import QueryMesh
from policies.random import Random
from policies.source import Source

POLICIES: dict[str, Callable[..., Policy]] = {
    "fixed": Fixed,
    "random": Random,
    "source": Source,
    "lottery": Lottery,
    "content": Content,
    "knows": Knows,
    "query_mesh": QueryMesh,
}
