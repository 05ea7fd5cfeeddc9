"""Names as Spark compares them: in any case, unless it is told to mind it."""

from __future__ import annotations

from collections.abc import Iterable


def folded(name: str) -> tuple[str, int]:
    """Give what two names have in common that are one to Spark.

    A letter whose other case is two letters is only like itself.

    >>> folded("Ab") == folded("aB"), folded("straße") == folded("STRASSE")
    (True, False)
    """
    return name.lower(), len(name)


def own(name: str, known: Iterable[str]) -> str:
    """Give the known name that is meant: this one, or else the only one that differs in case; itself if there is none.

    >>> own("A", ["a", "b"]), own("A", ["a", "A"]), own("c", ["a"])
    ('a', 'A', 'c')
    """
    listed = list(known)
    if name in listed:
        return name
    alike = [one for one in listed if folded(one) == folded(name)]
    return alike[0] if len(alike) == 1 else name
