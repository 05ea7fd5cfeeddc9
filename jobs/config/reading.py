"""Values of a file, held against what it may say."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eddy.errors import quote, unknown_name
from eddy.jobs.config.file_paths import Places
from eddy.jobs.config.places import Mistakes, join_key
from eddy.jobs.config.schema import ConfigKey, ConfigPart, NamedSections, Section, Variants
from eddy.jobs.config.variables import Variables
from eddy.redaction import KeyPath, display


class TableReader:
    """Reads tables by their descriptions.

    It fills in defaults, and adds mistakes to `mistakes`. A misspelt key is a mistake, and is then read as the one that
    was meant: otherwise its mistake would have followers.
    """

    def __init__(self, mistakes: Mistakes, places: Places, variables: Variables) -> None:
        self._mistakes = mistakes
        self._places = places
        self._variables = variables
        self.given: set[KeyPath] = set()

    def part(self, part: ConfigPart, value: Any, path: KeyPath) -> dict[str, Any]:
        """Read a table of the file."""
        if not isinstance(value, dict):
            self._mistakes.add(path, f"expected a table [{join_key(path)}], got {display(path, value)}")
            return self.part(part, {}, path) if _may_be_empty(part) else {}
        if isinstance(part, NamedSections):
            return self._named(part, value, path)
        if isinstance(part, Variants):
            return self._variant(part, value, path)
        return self._section(part, value, path)

    def _named(self, part: NamedSections, values: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
        return {name: self.part(part.each, value, (*path, name)) for name, value in values.items()}

    def _variant(self, part: Variants, values: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        chosen = part.choose(values)
        if chosen is not None:
            return self._section(chosen, values, path)
        if "format" in values:
            self._key(part.format, values["format"], (*path, "format"), missing=False)
            meant = _closest(str(values["format"]), part.formats)
        else:
            self._mistakes.add((*path, "format"), _describe_no_format(part, values))
            key = _closest("format", values)
            meant = str(values.get(key))
            values = {name: value for name, value in values.items() if name != key}
        values = {**values, "format": meant}
        chosen = part.choose(values)
        return {} if chosen is None else self._section(chosen, values, path)

    def _section(self, part: Section, values: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        if part.flat:
            values = flat(values)
        values = self._correct(part, values, path)
        read = {
            name: self._key(key, values.get(name), (*path, name), missing=name not in values)
            for name, key in part.keys.items()
        }
        for name, inner in part.parts.items():
            is_told = part.instead.get(name) in values or (isinstance(inner, Variants) and inner.like)
            if name not in values and is_told:
                read[name] = {}
            elif name in values or not inner.required:
                read[name] = self.part(inner, values.get(name, {}), (*path, name))
            else:
                self._mistakes.add((*path, name), _describe_no_table(inner, (*path, name)))
        for name in values:
            if name not in part.keys and name not in part.parts and part.others is not None:
                read[name] = self._key(part.others, values[name], (*path, name), missing=False)
        return read

    def _correct(self, part: Section, values: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        """Give values by the keys that were meant.

        Names that nothing has are told.
        """
        known = [*part.keys, *part.parts]
        meant: dict[str, Any] = {}
        for name, value in values.items():
            close = name if name in known else _closest(name, [one for one in known if one not in values])
            if close != name and (close or part.others is None):
                self._mistakes.add((*path, name), str(unknown_name("key", name, known, where="")).removeprefix(": "))
            if close and close != name:
                self._mistakes.spelled[*path, close] = name
            meant[close or name] = value
        return meant

    def _key(self, key: ConfigKey, value: Any, path: KeyPath, *, missing: bool) -> Any:
        if missing:
            if key.required:
                hint = self._mistakes.suggest_section(path[:2])
                self._mistakes.add(path, f"expected {key.kind.expected}, got none; add it: {key.text}{hint}")
            return key.default
        self.given.add(path)
        value = self._variables.fill(key, value, path)
        if not key.kind.fits(value):
            if not self._mistakes.has_within(path):  # a variable that is not set has been told
                self._mistakes.add(path, f"expected {key.kind.expected}, got {self._variables.display(path, value)}")
            return key.default
        if key.choices and value not in key.choices:
            value = self._variables.written.get(path, value)
            error = unknown_name(path[-1], str(value), key.choices, where="")
            self._mistakes.add(path, str(error).removeprefix(": "))
            return key.default
        return self._places.put(value, path) if key.place else value


def _may_be_empty(part: ConfigPart) -> bool:
    if isinstance(part, Section):
        return not any(inner.required for inner in (*part.keys.values(), *part.parts.values()))
    return isinstance(part, NamedSections) or part.default is not None


def _closest(name: str, known: Iterable[str]) -> str:
    """Give the name that a misspelt one is close to, or ""."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), "")


def _describe_no_table(part: ConfigPart, path: KeyPath) -> str:
    """Write the mistake of a value in the place of a table.

    A table that the user names has no text of its own.
    """
    table, text = ((*path, "NAME"), part.each.text) if isinstance(part, NamedSections) else (path, part.text)
    return f"expected a table [{join_key(table)}], got none; add it: {text}"


def _describe_no_format(part: Variants, values: Mapping[str, Any]) -> str:
    """Write the mistake of a table without a format.

    The key may only be misspelt.
    """
    close = _closest("format", values)
    hint = f'did you mean "format" by "{close}"?' if close else "add it"
    return f"expected one of {quote(part.formats)}, got none; {hint}"


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Tables within tables as one, with dotted names.

    >>> flat({"sql": {"shuffle": {"partitions": 4}}, "a.b": 1})
    {'sql.shuffle.partitions': 4, 'a.b': 1}
    """
    return dict(_flatten(values, before))


def _flatten(values: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
