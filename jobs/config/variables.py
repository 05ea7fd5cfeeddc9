"""Values that the environment gives: `password = "${KAFKA_PASSWORD}"`.

A variable stands for a text, or a part of one; `${NAME:-default}` has a text for when it is not set, or empty, and
`$${` stands for `${` itself. What a variable says is taken as it is: it is looked through for no other variable, is no
SQL, and is never run. Where a key takes no text, it may say a number, or true or false.

What it says is never printed: in its place stands what the file says. It is hidden in texts of others, such as errors
of Spark, where the name of its key or its own name is that of a secret.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.schema import SCALAR, ConfigKey
from eddy.redaction import KeyPath, display, is_secret

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_MARKED = re.compile(rf"\$\$\{{|\$\{{(?:(?P<name>{_NAME})(?P<default>:-[^}}]*)?\}})?")
_NUMBER_OR_FLAG = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false")


class Variables:
    """Looks variables up, and remembers which values came from them.

    `written` has these values as the file writes them, and `secrets` are what secret ones say.
    """

    def __init__(self, mistakes: Mistakes, environment: Mapping[str, str] = os.environ) -> None:
        self._mistakes = mistakes
        self._environment = environment
        self.written: dict[KeyPath, Any] = {}
        self.secrets = mistakes.secrets

    def fill(self, key: ConfigKey, value: Any, path: KeyPath) -> Any:
        """Give a value with what its variables say.

        >>> Variables(Mistakes("job.toml"), {"CELLS": "8"}).fill(ConfigKey(text=""), "s3://b/${CELLS}/in", ("path",))
        's3://b/8/in'
        """
        filled = self._fill(key, value, path)
        if filled != value:
            self.written[path] = value
        return filled

    def display(self, path: KeyPath, value: Any) -> str:
        """Write a value for people: one of a variable as the file writes it."""
        return display(path, self.written.get(path, value))

    def _fill(self, key: ConfigKey, value: Any, path: KeyPath) -> Any:
        if isinstance(value, list):
            return [self._fill(key, one, path) for one in value]
        if isinstance(value, dict):
            return {name: self._fill(key, one, (*path, name)) for name, one in value.items()}
        if not isinstance(value, str) or "${" not in value:
            return value
        if key.literal and _MARKED.sub(lambda found: "" if found[0] == "$${" else found[0], value).count("${"):
            told = 'variables are for values, and not for SQL; write "$${" for "${" itself, or compare with a column'
            self._mistakes.add(path, told)
            return value
        text = _MARKED.sub(lambda found: self._say(found, path), value)
        whole = _MARKED.fullmatch(value)
        # Elsewhere a text is meant: an option may be a password, and one of digits is no number.
        if (
            whole
            and whole["name"]
            and not key.kind.plain
            and key.kind is not SCALAR
            and _NUMBER_OR_FLAG.fullmatch(text)
        ):
            return tomllib.loads(f"value = {text}")["value"]
        return text

    def _say(self, found: re.Match[str], path: KeyPath) -> str:
        """Say what stands for a variable."""
        name, default = found["name"], found["default"]
        if found[0] == "$${":
            return "${"
        if name is None:
            self._mistakes.add(
                path, 'expected a variable as "${NAME}" or "${NAME:-default}"; write "$${" for "${" itself'
            )
            return found[0]
        said = self._environment.get(name)
        if default is not None and not said:
            return str(default).removeprefix(":-")
        if said is None:
            told = f'the variable "{name}" is not set; set it where the job is started, or write "${{{name}:-default}}"'
            self._mistakes.add(path, told)
            return found[0]
        if is_secret(path) or is_secret((name,)):
            self.secrets.add(said)
        return said
