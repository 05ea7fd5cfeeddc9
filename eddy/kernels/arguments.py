"""What kernels are given, and what they give: plain values and arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from eddy.tuples.arrays import Hashes, Integers, KeyCodes, Mask, Numbers, RowIds, Tags, Valid
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import TimeBounds
from eddy.tuples.runs import Ranges, Reach

GiveHashes = Callable[[tuple[int, ...]], Hashes]
"""Gives one hash of some keys for each probe."""

NO_BOUNDS = TimeBounds(None, None)


class HashBits(NamedTuple):
    """Bits of a code: the hash of some keys, without so many last bits, and shifted to where they stand."""

    keys: tuple[int, ...]
    drop: int
    shift: int


class CodeTable(NamedTuple):
    """Where the rows of each code begin in `order`, and what makes the codes of probes.

    The `free` last bits of a code may be anything.
    """

    begins: Numbers
    order: Numbers
    bits: Sequence[HashBits]
    free: int


class Rising(NamedTuple):
    """The times of a part's rows, where those of one code stand in order of them, the least and the newest."""

    times: Ticks
    least: float
    newest: float


class Lookup(NamedTuple):
    """A part that probes look into: its number, and where its rows begin among all that may be found.

    Where `rising` is None, its runs stay as they are, whatever the times.
    """

    table: CodeTable
    number: int
    begin: int
    rising: Rising | None


class Lookups:
    """The parts that all probes of a search look into; `memo` is what a kernel has made of them."""

    def __init__(self, parts: Sequence[Lookup]) -> None:
        self.parts = parts
        self.memo: Any = None


class Narrowing(NamedTuple):
    """The times between which rows must be, where rows rise; looked for if that is to spare a probe so many of them."""

    bounds: TimeBounds
    least_saved: float


class Places(NamedTuple):
    """Where to write down a run for each probe and part: where it starts, and how many rows it has.

    A part's column is its number or, with a reach, its place among the parts that the probe reaches.
    """

    starts: Integers
    counts: Integers
    reach: Reach | None


class Term(NamedTuple):
    """A comparison of a row's code with that of a tuple: `own[row] op wanted[tuple]`.

    `valid` are the rows that have a code, and `known` the tuples; None stands for all of them.
    """

    op: str
    own: Numbers
    valid: Valid
    wanted: KeyCodes
    known: Valid


class Ranked(NamedTuple):
    """The ranks of rows in a window of rows, and by how much those inside may be below `before`.

    Where ranks rise, a row has none below that of a row before it.
    """

    ranks: Integers
    shift: int
    rises: bool = True


class Screen(NamedTuple):
    """All that numbers say of candidates; None stands for what need not be asked.

    A row must have come `before`, which is an id for each tuple, and be inside all windows; times are whole numbers.
    `stored` is the number of rows that there are.
    """

    terms: Sequence[Term]
    before: RowIds | None
    ranked: Ranked | None
    times: Ticks | None
    bounds: TimeBounds
    alive: Mask | None
    stored: int


class Screened(NamedTuple):
    """The candidates that are left: tuples by place, each with a row, and how many there were up to which tuple."""

    at: RowIds
    rows: RowIds
    stop: int
    candidates: int


class Chain(NamedTuple):
    """Stored rows in chains by the hash of some keys, the newest first.

    A row's number is its id and `first`. `heads` has the number of the newest row for each of the first bits of a hash.
    Each of the `links` says in its last `reach` bits how many rows before its own the next older one of these bits
    stands, 0 for none, and in the others how the tag of its own row goes on behind the bits of the head. A tag is the
    first 32 bits of the hash, but for the last one, which is 1 if the row is in a chain at all. What lies before the
    first row has gone, as has all behind it.

        tag     [ bits of its head | rest .......... ]
        link    [ rest, as far as there is room | distance ]     the distance in `reach` bits
    """

    heads: Numbers
    links: Tags
    first: int
    reach: int

    @property
    def shift(self) -> int:
        """How far the bits by which heads are found stand from the end of a tag."""
        return 33 - len(self.heads).bit_length()


class Walk(NamedTuple):
    """Tuples that follow chains, by a hash for each.

    Where rows `rise` in time, those behind one that is too old are too old as well.
    """

    chain: Chain
    hashes: Hashes
    rises: bool


class HeldPart(NamedTuple):
    """A part of what a cache holds: combinations, with the rows of each input by number.

    `newest` is the newest time of each, and `deadline` the last at which all its rows are inside their windows; None
    where nothing has such a time.
    """

    rows: Sequence[Integers]
    newest: Integers | None
    deadline: Integers | None


class Sieve(NamedTuple):
    """All that numbers say of combinations that a cache proposes; None stands for what need not be asked.

    There is an entry for each input: `gone` of its rows have left from the start, so a row's id is so much below its
    number; a row must have come `before`, which is an id for each tuple, and be `alive`; `stored` rows are there.
    `newest` and `deadline` are those of the tuples.
    """

    parts: Sequence[HeldPart]
    gone: Sequence[int]
    stored: Sequence[int]
    before: Sequence[RowIds | None]
    alive: Sequence[Mask | None]
    newest: Integers | None
    deadline: Integers | None


class Proposed(NamedTuple):
    """The combinations that are left: tuples by place, the place of each among all that are held, its rows' ids.

    They are those of the tuples up to `stop`.
    """

    at: RowIds
    places: RowIds
    ids: Sequence[RowIds]
    stop: int


class ChainKernels(NamedTuple):
    """The kernels of chains, which are compiled: in numpy they would take as long as the longest chain has rows.

    `link` puts rows from an id on into chains, by their tags, and `unlink` takes all rows from an id on out of
    them again, by the same tags.
    `walk` does what `screen` does, for chains, and gives the rows of a tuple by id. Its candidates are the rows of a
    tag that had come before the tuple and are inside the windows. It may be asked for the newest one of a tuple only.
    """

    link: Callable[[Chain, Tags, int], None]
    unlink: Callable[[Chain, Tags, int], None]
    walk: Callable[[Walk, Screen, int, int, bool], Screened]


class Kernels(NamedTuple):
    """One kind of all kernels.

    `sort_codes` gives the order of codes of so many bits, alike ones as they stand, and where each code begins in it.
    `look_up` writes down the runs that probes find, and counts for each part those that are not empty. `screen` spells
    out the runs of tuples from a first one on and keeps what passes: up to so many candidates, but of one tuple in any
    case. `propose` does the same with the combinations of a cache, whose parts are the columns of the runs. There may
    be `chains`.
    """

    name: str
    sort_codes: Callable[[Numbers, int], tuple[Integers, Numbers]]
    look_up: Callable[[Lookups, GiveHashes, Narrowing, Places], list[int]]
    screen: Callable[[Ranges, Screen, int, int], Screened]
    propose: Callable[[Ranges, Sieve, int, int], Proposed]
    chains: ChainKernels | None = None
