"""What must not be printed."""

from __future__ import annotations

import re
from typing import Any

from eddy.settings import Path

HIDDEN = "(hidden)"

_SECRET = re.compile(r"passw|secret|token|credential|jaas|(api|access|private|account)[._-]?key", re.IGNORECASE)
_IN_URL = re.compile(r"(?<=://)[^/@\s:]+:[^/@\s]+(?=@)")


def is_secret(path: Path) -> bool:
    """Does the name of a key say that its value is a secret.

    >>> is_secret(("sink", "options", "kafka.sasl.jaas.config")), is_secret(("sink", "key"))
    (True, False)
    """
    return bool(path) and _SECRET.search(path[-1]) is not None


def shown(path: Path, value: Any) -> str:
    """A value for people, as TOML would spell it; a secret is not.

    >>> shown(("source", "path"), "s3://me:hush@host/a"), shown(("password",), "hush"), shown(("cross",), True)
    ('"s3://(hidden)@host/a"', '(hidden)', 'true')
    """
    return HIDDEN if is_secret(path) else _IN_URL.sub(HIDDEN, _spelled(value, path))


def _spelled(value: Any, path: Path) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(_spelled(one, path) for one in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {shown((*path, name), one)}' for name, one in value.items())} }}"
    return "not set" if value is None else str(value)
