"""Every way to say which rows get new indexes."""

from __future__ import annotations

from collections.abc import Callable

from eddy.operators.tuning.contracts import Migration
from eddy.operators.tuning.migrate.all import MigrateAll
from eddy.operators.tuning.migrate.none import MigrateNone
from eddy.operators.tuning.migrate.partial import MigratePartial

MIGRATIONS: dict[str, Callable[..., Migration]] = {
    "none": MigrateNone,
    "all": MigrateAll,
    "partial": MigratePartial,
}
