"""Key maps: how the values of a row's keys become the code by which it is found.

A map is an ordered list of fields. One field with all keys of an access pattern is a hash index of that pattern; one
field for each key is a bit-address index (section 4.1 of the AMRI paper); none at all puts the rows in the order of one
key. Rows of the same code stand in the order of their times.

    hash(user, place) 16 bits                code = hhhhhhhhhhhhhhhh
    user 5 bits, place 2 bits, kind 3 bits   code = uuuuuppkkk        a search by user and kind: four runs, uuuuu??kkk
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from eddy.tuples.request import list_keys

TAG_BITS = 32
"""Bits of a hash that chains compare."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """Some bits of a code, the hash of one or more keys: `keys` are their places among all keys of the STeM."""

    keys: tuple[int, ...]
    bits: int


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyMap:
    """Fields; or `then`, the key in whose order rows stand that have no code.

    Rows that are `linked` stand in no order: each of them leads to the next older one of the same code. `digest` is its
    hash, and `masks` are the keys of each field, which every search asks for several times.
    """

    fields: tuple[Field, ...] = ()
    then: int | None = None
    linked: bool = False
    digest: int = field(init=False, repr=False, compare=False)
    masks: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "masks", tuple(sum(1 << key for key in field.keys) for field in self.fields))
        object.__setattr__(self, "digest", hash((self.fields, self.then, self.linked)))

    def __hash__(self) -> int:
        return self.digest

    @property
    def bits(self) -> int:
        """The bits of a code."""
        return sum(field.bits for field in self.fields)

    def list_fields(self, pattern: int) -> tuple[int, ...]:
        """List the fields, by number, of which a search by some keys, as a mask of their places, has all keys.

        >>> both = KeyMap(fields=(Field(keys=(0, 1), bits=8), Field(keys=(0,), bits=8)))
        >>> both.list_fields(0b11), both.list_fields(0b01), both.list_fields(0b10)
        ((0, 1), (1,), ())
        """
        return tuple([n for n, mask in enumerate(self.masks) if pattern & mask == mask])

    def list_keys(self, pattern: int) -> tuple[int, ...]:
        """List the keys of these fields: those by which such a search goes."""
        return list_keys(reduce(or_, [mask for mask in self.masks if pattern & mask == mask], 0))

    def describe(self, names: Sequence[str]) -> str:
        """Write it in words.

        >>> KeyMap(fields=(Field(keys=(0,), bits=12),)).describe(["user"])
        'hash(user) 12 bits, time'
        >>> KeyMap(then=0).describe(["user"])
        'user'
        """
        if self.linked:
            return f"chains of hash({', '.join(names[key] for key in self.fields[0].keys)}), the newest first"
        parts = [f"hash({', '.join(names[key] for key in field.keys)}) {field.bits} bits" for field in self.fields]
        return ", ".join([*parts, "time" if self.then is None else names[self.then]])


def hash_map(pattern: int, bits: int) -> KeyMap:
    """Make the index of one pattern.

    >>> hash_map(0b101, 16).describe(["user", "place", "kind"])
    'hash(user, kind) 16 bits, time'
    """
    return KeyMap(fields=(Field(keys=list_keys(pattern), bits=bits),))


def linked_map(pattern: int) -> KeyMap:
    """Make the chains of one pattern.

    >>> linked_map(0b101).describe(["user", "place", "kind"])
    'chains of hash(user, kind), the newest first'
    """
    return KeyMap(fields=(Field(keys=list_keys(pattern), bits=TAG_BITS),), linked=True)
