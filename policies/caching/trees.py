"""Trees of two-way joins: how they are written, and which ones there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from eddy.contracts import QueryError, quote, unknown_name

WHERE = 'policy "x_join": tree'

TOKENS = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True)
class Tree:
    """An input, or a join of two trees."""

    parts: tuple[Tree, Tree] | str

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The inputs that it joins."""
        if isinstance(self.parts, str):
            return frozenset([self.parts])
        return self.parts[0].inputs | self.parts[1].inputs

    def climb(self, origin: str) -> Iterator[frozenset[str]]:
        """Give the inputs that rows of an input are joined with one after the other, from the leaf to the root."""
        if not isinstance(self.parts, str):
            own, other = self.parts if origin in self.parts[0].inputs else reversed(self.parts)
            yield from own.climb(origin)
            yield other.inputs

    def __str__(self) -> str:
        """Write it as it is read."""
        return self.parts if isinstance(self.parts, str) else f"({self.parts[0]} {self.parts[1]})"


def read_tree(text: object, inputs: Sequence[str]) -> Tree:
    """Read a tree over all inputs.

    >>> sorted(map(sorted, read_tree("((r s) t)", "rst").climb("t")))
    [['r', 's']]
    """
    example = Tree(inputs[0])
    for name in inputs[1:]:
        example = Tree((example, Tree(name)))
    if not isinstance(text, str):
        raise QueryError(f'{WHERE}: expected a text as "{example}", got {text!r}')
    tokens = TOKENS.findall(text)
    tree = _read(tokens)
    if tree is None or tokens:
        raise QueryError(f'{WHERE}: expected two-way joins in brackets, as "{example}", got "{text}"')
    _check_names(text, inputs)
    return tree


def _read(tokens: list[str]) -> Tree | None:
    """Take a tree from the front of what is left; nothing where there is none."""
    token = tokens.pop(0) if tokens else ")"
    if token not in "()":
        return Tree(token)
    if token == ")":
        return None
    left, right = _read(tokens), _read(tokens)
    closes = bool(tokens) and tokens.pop(0) == ")"
    return Tree((left, right)) if left is not None and right is not None and closes else None


def _check_names(text: str, inputs: Sequence[str]) -> None:
    names = [token for token in TOKENS.findall(text) if token not in "()"]
    for name in names:
        if name not in inputs:
            raise unknown_name("input", name, inputs, where=WHERE)
    if missing := [name for name in inputs if name not in names]:
        raise QueryError(f'{WHERE}: expected all inputs once, and "{text}" lacks {quote(missing)}')
    if len(set(names)) < len(names):
        raise QueryError(f'{WHERE}: expected all inputs once, got "{text}"')


Part = frozenset[str]
JoinCost = Callable[[Part, Part], float]
"""What it takes to join two parts, and to keep what comes out; infinite where that is impossible."""


def find_best_tree(inputs: Collection[str], cost: JoinCost) -> tuple[float, Tree]:
    """Find the tree of the least cost: the best of each part is made of the best ones of its two parts.

    >>> best = find_best_tree("rst", lambda left, right: 9.0 if left | right == set("rs") else 1.0)
    >>> best[0], str(best[1])
    (2.0, '(r (s t))')
    """
    names = sorted(inputs)
    best: dict[Part, tuple[float, Tree]] = {frozenset([name]): (0.0, Tree(name)) for name in names}
    for size in range(2, len(names) + 1):
        for chosen in combinations(names, size):
            part = frozenset(chosen)
            best[part] = _join_best(part, best, cost)
    return best[frozenset(names)]


def _join_best(part: Part, best: Mapping[Part, tuple[float, Tree]], cost: JoinCost) -> tuple[float, Tree]:
    """Find the best way to divide a part; the first name stays on the left, so that each way is seen once."""
    first, *others = sorted(part)
    ways = []
    for size in range(len(others)):
        for more in combinations(others, size):
            left = frozenset([first, *more])
            (a, one), (b, two) = best[left], best[part - left]
            ways.append((a + b + cost(left, part - left), Tree((one, two))))
    return min(ways, key=lambda way: way[0])
