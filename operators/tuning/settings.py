"""What a user says of the indexes of joins: the section `[index]` of a job, `index=` of `run_local`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from eddy.errors import QueryError, is_whole, quote, unknown_name, write_repr
from eddy.plug_ins import PlugIns

TOLD = "told"
"""The kind that knows what is to come: experiments record it, and nobody else has it."""

ASSESSMENTS = ("sria", "csria", "dia", "cdia_random", "cdia_highest")
"""Ways to count access patterns."""

SCHEDULES = ("continuous", "periodic", "triggered", "hybrid")
"""When indexes are chosen anew."""

MIGRATIONS = ("none", "all", "partial")
"""Which of the rows that are stored get the new indexes."""

COSTS = ("paper", "work")
"""By which price key maps are chosen: the paper's, or that of the work that we measure."""

MOST_BITS = 32
"""Bits of a code: it is put in order by two passes over 16 bits each."""

LAYOUT = ("kind", "merge", "time_order")
"""The keys that every kind uses."""

TUNING = ("assess", "epsilon", "theta", "schedule", "period", "trigger", "migrate")
"""The keys of the kinds that choose more than once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A way to say which key maps a STeM has.

    `keys` are those of `[index]` that it uses; all others would say nothing. `cost` is the price by which it chooses,
    where nothing is said. One that `is_free` may leave the catalog alone, which then builds the index of a pattern that
    is missed; under the others it is their point to do without. One that `is_thrifty` looks only as often as the work
    since the last look pays for; the paper's keep to their schedule. One that `is_told` knows what is to come.
    """

    keys: Collection[str]
    cost: str = "work"
    chooses: bool = True
    chooses_again: bool = True
    is_free: bool = False
    is_thrifty: bool = False
    is_told: bool = False


KINDS: Mapping[str, Kind] = {
    # One map for each access pattern.
    "patterns": Kind(keys=(*LAYOUT, "chains"), chooses=False),
    # The `count` most frequent ones.
    "hash": Kind(keys=(*LAYOUT, "count", *TUNING)),
    # One bit-address index, and that one chosen once.
    "bits": Kind(keys=(*LAYOUT, "bits", *TUNING, "cost"), cost="paper"),
    "static": Kind(
        keys=(*LAYOUT, "bits", "assess", "epsilon", "theta", "training", "cost"), cost="paper", chooses_again=False
    ),
    # A set of maps by cost, and what is best for the searches that are to come.
    "chosen": Kind(keys=(*LAYOUT, "chains", *TUNING, "cost"), is_free=True, is_thrifty=True),
    TOLD: Kind(
        keys=(*LAYOUT, "chains", "schedule", "period", "trigger", "migrate", "cost"), is_free=True, is_told=True
    ),
}

INDEX_GROUP = "eddy.indexes"
"""The group of entry points under which other packages register kinds: a `Selection` that says what it `does`."""


def _read_kind(found: Any) -> Kind:
    does = getattr(found, "does", None)
    if not isinstance(does, Kind):
        raise QueryError(f"expected a class with does = Kind(...), got {write_repr(does)} as does")
    return does


ALL_KINDS = PlugIns(KINDS, group=INDEX_GROUP, kind="index", take=_read_kind)
"""Those above, and those of other packages."""

Coming = Sequence[Mapping[str, Mapping[str, float]]]
"""The probes that are to come: for each micro-batch, of each input, by each access pattern as it is written."""


@dataclass(frozen=True, kw_only=True)
class IndexSettings:
    """How a join finds its rows.

    `count` indexes of kind `hash`; `bits` of a bit-address index. `epsilon` and `theta` bound what an assessment
    forgets and what it reports. `period` and `trigger` are in requests, as is `training`, after which `static` chooses.
    `merge` and `time_order` say how rows are laid out: as one index for neighbouring segments, and in order of time.
    `chains` lets searches by whole patterns go along chains of rows, where kernels are compiled.
    `coming` is what an experiment has recorded for `told`.
    """

    kind: str = "patterns"
    count: int = 3
    bits: int = 12
    assess: str = "cdia_highest"
    epsilon: float = 0.0002
    theta: float = 0.0005
    schedule: str = "hybrid"
    period: int = 60_000
    trigger: int = 100_000
    migrate: str = "none"
    merge: bool = True
    time_order: bool = True
    chains: bool = True
    training: int = 60_000
    cost: str | None = None
    coming: Coming = ()

    @property
    def does(self) -> Kind:
        """What its kind does."""
        return ALL_KINDS[self.kind]

    @property
    def may_link(self) -> bool:
        """Searches may go along chains: each pattern has an index of its own, and windows bound a search."""
        return self.chains and (self.does.is_free or not self.does.chooses) and self.merge and self.time_order

    def describe(self) -> dict[str, Any]:
        """Give the keys that the kind uses, with their values.

        >>> IndexSettings(kind="patterns").describe()
        {'kind': 'patterns', 'merge': True, 'time_order': True, 'chains': True}
        """
        return {name: value for name, value in self.keys().items() if name in self.does.keys}

    def keys(self) -> dict[str, Any]:
        """Give all keys that a user may set, with their values."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "coming"}


IndexChoice = str | Mapping[str, Any] | IndexSettings | None
"""A kind; a kind with its keys, {"kind": "bits", "bits": 14}; or all settings. None leaves everything as it comes."""

CHOICES: Mapping[str, Collection[str]] = {
    "kind": ALL_KINDS,
    "assess": ASSESSMENTS,
    "schedule": SCHEDULES,
    "migrate": MIGRATIONS,
    "cost": COSTS,
}
"""The keys that are one of some names."""


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


WHOLE = ("count", "bits", "period", "trigger", "training")
"""The keys that are whole numbers."""

NUMBERS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "count": ("a whole number of 1 or more", lambda value: is_whole(value, 1)),
    "bits": (f"a whole number from 1 to {MOST_BITS}", lambda value: is_whole(value, 1, MOST_BITS)),
    "epsilon": ("a number above 0 and below 1", lambda value: _is_share(value) and value < 1),
    "theta": ("a number above 0, and 1 at most", _is_share),
    "period": ("a whole number of 1 or more", lambda value: is_whole(value, 1)),
    "trigger": ("a whole number of 1 or more", lambda value: is_whole(value, 1)),
    "training": ("a whole number of 1 or more", lambda value: is_whole(value, 1)),
    "merge": ("true or false", lambda value: isinstance(value, bool)),
    "time_order": ("true or false", lambda value: isinstance(value, bool)),
    "chains": ("true or false", lambda value: isinstance(value, bool)),
}
"""What each of the other keys may be."""


def read_index(choice: IndexChoice, *, where: str = "index", may_be_told: bool = False) -> IndexSettings:
    """Read what a user chose; only an experiment may be told.

    >>> read_index({"kind": "bits", "bits": 14}).bits
    14
    >>> read_index("bit")
    Traceback (most recent call last):
    eddy.errors.QueryError: index: unknown kind "bit"; did you mean "bits"? known: "bits", "chosen", "hash", ...
    """
    if isinstance(choice, IndexSettings):
        _raise_first(
            choice.keys() if choice.kind not in ALL_KINDS else choice.describe(), where, told=bool(choice.coming)
        )
        return choice
    if choice is None or isinstance(choice, str):
        given: Mapping[str, Any] = {} if choice is None else {"kind": choice}
    elif isinstance(choice, Mapping):
        given = choice
    else:
        raise QueryError(
            f'{where}: expected a kind, or {{"kind": ..., key: value}}, or IndexSettings(...), got {write_repr(choice)}'
        )
    _raise_first(given, where, told=may_be_told)
    whole: dict[str, Any] = {key: int(value) for key, value in given.items() if key in WHOLE}
    return IndexSettings(**{**given, **whole})


def _raise_first(given: Mapping[str, Any], where: str, *, told: bool) -> None:
    for key, text in find_mistakes(given, may_be_told=told):
        raise QueryError(f"{where}: {text}" if text.startswith("unknown") else f"{where}: {key}: {text}")


def find_mistakes(given: Mapping[str, Any], *, may_be_told: bool = False) -> Iterator[tuple[str, str]]:
    """Find what is wrong with some keys: the key, and why.

    What is wrong with two of them together comes last, and only if each is right by itself.

    >>> list(find_mistakes({"kind": "bits", "bits": 63}))
    [('bits', 'expected a whole number from 1 to 32, got 63')]
    """
    wrong = [(key, text) for key, value in given.items() if (text := _describe_wrong(key, value))]
    kind = given.get("kind", IndexSettings().kind)
    if not any(key == "kind" for key, _ in wrong):
        if ALL_KINDS[kind].is_told and not may_be_told:
            wrong.append(("kind", _TOLD_TEXT))
        bad = {key for key, _ in wrong}
        wrong += [
            (key, _describe_unused(key, kind)) for key in given if key not in ALL_KINDS[kind].keys and key not in bad
        ]
    yield from wrong
    if not {"epsilon", "theta"} & {key for key, _ in wrong}:
        yield from _find_contradictions(given)


def list_defaults() -> dict[str, Any]:
    """List the keys with their defaults."""
    return IndexSettings().keys()


def _describe_wrong(key: str, value: Any) -> str:
    """Say what is wrong with a key by itself, or nothing."""
    if key == "cost" and value is None:
        return ""  # that of the kind
    if key in CHOICES:
        # Whoever mistypes a kind is not told of the one that only experiments may name.
        offered = [name for name in CHOICES[key] if name != TOLD]
        return "" if _is_among(value, CHOICES[key]) else _unknown(key, value, offered)
    if key in NUMBERS:
        expected, fits = NUMBERS[key]
        return "" if fits(value) else f"expected {expected}, got {write_repr(value)}"
    return _unknown("key", key, list_defaults())


def _find_contradictions(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    whole = {**list_defaults(), **given}
    if whole["theta"] < whole["epsilon"] and {"theta", "epsilon"} & given.keys():
        key = "theta" if "theta" in given else "epsilon"
        yield (
            key,
            f"expected theta of epsilon or more, got theta {whole['theta']:g} and epsilon {whole['epsilon']:g}; "
            "what is rarer than epsilon is forgotten, so it cannot be reported",
        )


_TOLD_TEXT = (
    'the kind "told" knows what is to come, which only an experiment does; expected it in eddy.compare or in an '
    'experiment, got it elsewhere; write "chosen"'
)


def _describe_unused(key: str, kind: str) -> str:
    users = [name for name, one in KINDS.items() if key in one.keys and not one.is_told]
    return f'the kind "{kind}" does not use it, only {quote(users)} {"does" if len(users) == 1 else "do"}; take it away'


def _unknown(what: str, name: Any, known: Collection[str]) -> str:
    return str(unknown_name(what, str(name), known, where="")).removeprefix(": ")


def _is_among(value: Any, names: Collection[str]) -> bool:
    return isinstance(value, str) and value in names
