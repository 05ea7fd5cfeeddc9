"""Editions: which attributes have been cut into other buckets since a policy last looked."""

from __future__ import annotations

from collections.abc import Sequence


class Editions:
    """The editions of a stream's attributes, as a policy knows them.

    What was counted by the buckets of one edition must not be mixed with what is counted by those of another. So a
    policy follows the editions before it plans for rows that arrive, and before it learns from a sample that somebody
    else has taken; what it counted by the attributes that `follow` returns is forgotten.

    >>> known = Editions(2)
    >>> known.follow([1, 0]), known.follow([1, 0]), known.follow([2, 0])
    ([0], [], [0])
    """

    def __init__(self, attributes: int) -> None:
        self._known = [0] * attributes

    def follow(self, editions: Sequence[int], attributes: Sequence[int] | None = None) -> list[int]:
        """Take note of the editions; returns the attributes whose buckets mean something else now.

        They are those of some attributes, or of all: to ask an attribute lets it look at the rows, which takes time.
        """
        if attributes is not None:
            told = dict(zip(attributes, editions, strict=True))
            editions = [told.get(attribute, edition) for attribute, edition in enumerate(self._known)]
        if list(editions) == self._known:
            return []
        changed = [a for a, (was, now) in enumerate(zip(self._known, editions, strict=True)) if was != now]
        self._known = list(editions)
        return changed

    def snapshot(self) -> list[int]:
        """The editions."""
        return self._known

    def restore(self, state: Sequence[int]) -> None:
        """Go on from a snapshot."""
        self._known = list(state)
