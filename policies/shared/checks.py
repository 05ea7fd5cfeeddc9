"""Checks of parameters that a user wrote."""

from __future__ import annotations

from eddy.errors import QueryError


def check_costs(costs: object, *, where: str) -> None:
    """Refuse a slip in a config file."""
    if costs not in ("time", "unit"):
        raise QueryError(f'{where}: costs: expected "time" or "unit", got {costs!r}')


def check_share(share: object, name: str, *, where: str, least: float = 0.0) -> None:
    """Refuse a number that is no share."""
    if not isinstance(share, int | float) or isinstance(share, bool) or not least < share <= 1:
        raise QueryError(f"{where}: {name}: expected a share above {least:g} and up to 1, got {share!r}")
