"""The language of config files: keys, sections, values.

`config.sections` describes every section with these values. The same description serves to read the file, to report a
mistake in it, to convert an override, and to write `docs/configuration.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from eddy.errors import is_whole

LARGEST_NUMBER = sys.float_info.max
"""TOML integers are unbounded. A number must be finite and fit a float."""

LARGEST_PORT = 65_535


@dataclass(frozen=True, kw_only=True)
class ValueKind:
    """A kind of values of a key.

    A `plain` value is a text that is taken as it is when it comes from outside of the file; other single values are
    read as TOML first, and what is no single value cannot come from there. `json` is the JSON Schema of its values, as
    far as that can say it.
    """

    expected: str
    fits: Callable[[Any], bool]
    plain: bool = False
    single: bool = True
    json: Mapping[str, Any] = field(default_factory=dict)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _scalar(value: Any) -> bool:
    return isinstance(value, str | bool) or _number(value)


def _plain(value: Any) -> bool:
    """A single value as every format has it, and TOML's times."""
    if isinstance(value, dict):
        return all(map(_plain, value.values()))
    return _list(value, _plain) if isinstance(value, list) else _scalar(value)


def _list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(fits(one) for one in value)


_JSON_TEXT = {"type": "string", "minLength": 1}
_JSON_TEXTS = {"type": "array", "items": _JSON_TEXT}
_JSON_NUMBER = {"type": "number", "minimum": 0}
_JSON_SCALAR = {"type": ["string", "number", "boolean"]}


def _whole_from(least: int, most: int | None = None) -> Mapping[str, Any]:
    return {"type": "integer", "minimum": least, **({} if most is None else {"maximum": most})}


TEXT = ValueKind(expected="a text", fits=_text, plain=True, json=_JSON_TEXT)
INTERVAL = ValueKind(expected='a duration such as "30 seconds"', fits=_text, plain=True, json=_JSON_TEXT)
FLAG = ValueKind(expected="true or false", fits=lambda value: isinstance(value, bool), json={"type": "boolean"})
COUNT = ValueKind(expected="a whole number of 1 or more", fits=lambda value: is_whole(value, 1), json=_whole_from(1))
INDEX = ValueKind(expected="a whole number of 0 or more", fits=lambda value: is_whole(value, 0), json=_whole_from(0))
PORT = ValueKind(
    expected="a whole number from 0 to 65535",
    fits=lambda value: is_whole(value, 0, LARGEST_PORT),
    json=_whole_from(0, LARGEST_PORT),
)
NUMBER = ValueKind(
    expected="a number of 0 or more", fits=lambda value: _number(value) and value >= 0, json=_JSON_NUMBER
)
SHARE = ValueKind(
    expected="a number above 0, and 1 at most",
    fits=lambda value: _number(value) and 0 < value <= 1,
    json={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
)
LENGTH = ValueKind(
    expected='a duration such as "30 seconds", or a number of 0 or more',
    fits=lambda value: _text(value) or (_number(value) and value >= 0),
    json={"anyOf": [_JSON_TEXT, _JSON_NUMBER]},
)
DISTANCE = ValueKind(
    expected='a duration such as "30 seconds", or a number, of more than 0',
    fits=lambda value: _text(value) or (_number(value) and value > 0),
    json={"anyOf": [_JSON_TEXT, {"type": "number", "exclusiveMinimum": 0}]},
)
COST = ValueKind(
    expected='a number of 0 or more, or a time such as "20 milliseconds"', fits=LENGTH.fits, json=LENGTH.json
)
TEXTS = ValueKind(expected="a list of texts", fits=lambda value: _list(value, _text), single=False, json=_JSON_TEXTS)
ONE_OR_MORE = ValueKind(
    expected="a text or a list of texts",
    fits=lambda value: _text(value) or (TEXTS.fits(value) and bool(value)),
    json={"anyOf": [_JSON_TEXT, {**_JSON_TEXTS, "minItems": 1}]},
)
VALUES = ValueKind(
    expected="a list of single values",
    fits=lambda value: _list(value, _scalar),
    single=False,
    json={"type": "array", "items": _JSON_SCALAR},
)
SCALAR = ValueKind(expected="a text, a number, or true or false", fits=_scalar, json=_JSON_SCALAR)
ANYTHING = ValueKind(expected="a text, a number, true or false, or a list or a table of them", fits=_plain)


@dataclass(frozen=True, kw_only=True)
class ConfigKey:
    """One setting: its values, its purpose, its default.

    A `place` is a folder or a file: see `eddy.jobs.config.file_paths`. What is `literal` has no variables in it.
    """

    text: str
    kind: ValueKind = TEXT
    default: Any = None
    required: bool = False
    choices: Collection[str] = ()
    place: bool = False
    literal: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table of the file: its known keys, and tables within.

    `others` is what any further key may hold, where a section takes keys that it does not know; `flat` says that
    their names may have dots, which TOML reads as tables. `instead` has keys in whose presence a part is not needed.
    """

    text: str
    keys: Mapping[str, ConfigKey] = field(default_factory=dict)
    parts: Mapping[str, ConfigPart] = field(default_factory=dict)
    others: ConfigKey | None = None
    flat: bool = False
    required: bool = False
    instead: Mapping[str, str] = field(default_factory=dict)

    def section(self, name: str, values: Mapping[str, Any]) -> ConfigPart | None:
        """Give the part of a name."""
        return self.parts.get(name)

    def choose(self, values: Mapping[str, Any]) -> Section | None:
        """Give the section that describes some values."""
        return self


@dataclass(frozen=True, kw_only=True)
class NamedSections:
    """A table of sections that the user gives names to."""

    text: str
    each: Section
    required: bool = False

    def section(self, name: str, values: Mapping[str, Any]) -> ConfigPart | None:
        """Every name is a section of the same kind."""
        return self.each

    def choose(self, values: Mapping[str, Any]) -> Section | None:
        """It has no keys itself."""
        return None


@dataclass(frozen=True, kw_only=True)
class Variants:
    """A section whose key `format` decides on the others.

    One that is `like` another is described there, and need not be given.
    """

    text: str
    formats: Mapping[str, Section]
    default: str | None = None
    required: bool = False
    like: str = ""

    @property
    def format(self) -> ConfigKey:
        """The key that decides."""
        return ConfigKey(
            text="which of those below",
            default=self.default,
            required=self.default is None,
            choices=tuple(self.formats),
        )

    def choose(self, values: Mapping[str, Any]) -> Section | None:
        """Choose the section by the format that values name.

        The format is among its keys.
        """
        name = values.get("format", self.default)
        found = self.formats.get(name) if isinstance(name, str) else None
        if found is None:
            return None
        return Section(
            text=found.text, keys={"format": self.format, **found.keys}, parts=found.parts, others=found.others
        )

    def section(self, name: str, values: Mapping[str, Any]) -> ConfigPart | None:
        """Give the part of a name in the format that the values name."""
        found = self.choose(values)
        return None if found is None else found.section(name, values)


ConfigPart = Section | NamedSections | Variants
"""A table of the file: one of these describes it."""
