"""What every migration must do; each check is crossed with every registered one."""

from __future__ import annotations

from eddy.operators.tuning.contracts import OldPart
from eddy.operators.tuning.migrate.registry import MIGRATIONS

PARTS = [
    OldPart(number=9, rows=100, saved=50.0, work=10.0),
    OldPart(number=7, rows=4_000, saved=5.0, work=400.0),
    OldPart(number=4, rows=1_000, saved=150.0, work=100.0),
]


def check_parts_stay_in_order(name: str) -> None:
    """It chooses of what it is given, the newest first, and always the same."""
    migration = MIGRATIONS[name]()
    chosen = migration.choose(PARTS)
    assert [part for part in PARTS if part in chosen] == list(chosen)
    assert list(migration.choose(PARTS)) == list(chosen)
    assert list(migration.choose([])) == []


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
