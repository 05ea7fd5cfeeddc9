"""What a user of `eddy.where` says besides the predicates; read without Spark, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eddy.errors import check_flag, check_whole
from eddy.query.lookups import GivenTables
from eddy.query.validation import check_name

if TYPE_CHECKING:
    from eddy.wiring import PolicyChoice


@dataclass(frozen=True, kw_only=True)
class WhereOptions:
    """The settings of one call."""

    policy: PolicyChoice
    name: str
    seed: int
    remember: str | None
    report: bool
    given: GivenTables

    def __post_init__(self) -> None:
        check_name("where: name", self.name)
        check_whole(self.seed, "seed", 0, where="where")
        check_flag(self.report, "report", where="where")
