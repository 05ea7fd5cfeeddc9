"""What a user of `eddy.where` says besides the predicates; read without Spark, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eddy.errors import check_whole
from eddy.query.validation import check_name

if TYPE_CHECKING:
    from eddy.wiring import PolicyChoice


@dataclass(frozen=True, kw_only=True)
class WhereOptions:
    """The settings of one call; `conditions` are those of each kind that look into the tables."""

    policy: PolicyChoice
    name: str
    seed: int
    remember: str | None
    tables: Mapping[str, Any]
    conditions: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        check_name("where: name", self.name)
        check_whole(self.seed, "seed", 0, where="where")
