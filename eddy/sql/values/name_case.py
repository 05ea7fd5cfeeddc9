"""Names of columns, compared in any case as Spark does.

Spark minds the case only where it is told to.
"""

from __future__ import annotations

from collections.abc import Iterable


def fold_case(name: str) -> tuple[str, int]:
    """Give what two names have in common that are one to Spark.

    A letter whose other case is two letters is only like itself.

    >>> fold_case("Ab") == fold_case("aB"), fold_case("straße") == fold_case("STRASSE")
    (True, False)
    """
    return name.lower(), len(name)


def find_own(name: str, known: Iterable[str]) -> str:
    """Give the known name that is meant.

    That is the name itself, or else the only one that differs in case; an unknown name stays as it is.

    >>> find_own("A", ["a", "b"]), find_own("A", ["a", "A"]), find_own("c", ["a"])
    ('a', 'A', 'c')
    """
    listed = list(known)
    if name in listed:
        return name
    alike = [one for one in listed if fold_case(one) == fold_case(name)]
    return alike[0] if len(alike) == 1 else name
