"""How many examples hypothesis tries, where several parameters try the same ones."""

from __future__ import annotations

from hypothesis import settings


def fewer(times: int) -> settings:
    """A share of what the profile says, so that a profile that tries more does so here too.

    >>> fewer(4).max_examples * 4 == settings().max_examples
    True
    """
    return settings(max_examples=settings().max_examples // times)
