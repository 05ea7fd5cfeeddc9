"""Hides secrets in texts that are printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

KeyPath = tuple[str, ...]
"""The place of a value in a config file: ("streams", "orders", "delay")."""

HIDDEN = "(hidden)"

NAME_DEPTH = 2
"""The depth at which names stand that the user gives: `filters.NAME`."""

_WORDS = (
    r"passw|passphrase|pwd|secret|token|credential|jaas|signature|connection[._-]?string|user[._-]?info"
    r"|(?:api|access|private|account|keystore|encryption|shared|storage|sas)[._-]?key|[._-]sas[._-]"
    r"|authorization|auth[._-]?params|(?<![a-z])pass(?![a-z])"
)
_SECRET = re.compile(_WORDS, re.IGNORECASE)
_IN_URL = re.compile(r"(?<=://)[^/@\s:]*:[^/@\s]+(?=@)")
_IN_TEXT = re.compile(
    rf"((?:{_WORDS}|\bsig)\w{{0,30}}\s{{0,9}}=\s{{0,9}})"
    r"""(?P<value>"(?:[^"\\]|\\.)*"|\\"[^"]*"|'(?:[^'\\]|\\.)*'|[^\s&;,"'\\]+)""",
    re.IGNORECASE,
)
"""Repeats are bounded, so that no text takes long."""

SHORTEST_SECRET = 4
"""Letters of a secret: a shorter one would be found in any text, and is none."""


def is_secret(path: KeyPath) -> bool:
    """Tell whether a key's name says that its value is a secret.

    The type of a column never is one, nor are names that the user gives to streams, tables, filters and functions.

    >>> is_secret(("sink", "options", "kafka.sasl.jaas.config")), is_secret(("sink", "key"))
    (True, False)
    >>> is_secret(("streams", "logins", "source", "schema", "token")), is_secret(("filters", "bad_token"))
    (False, False)
    >>> is_secret(("functions", "bad_token")), is_secret(("functions", "f", "token"))
    (False, True)
    """
    named = len(path) == NAME_DEPTH and path[0] in ("streams", "tables", "filters", "functions")
    return bool(path) and not named and path[-2:-1] != ("schema",) and _SECRET.search(path[-1]) is not None


def display(path: KeyPath, value: Any) -> str:
    """Write a value as TOML would spell it; hide secrets.

    >>> display(("source", "path"), "s3://me:hush@host/a"), display(("password",), "hush"), display(("cross",), True)
    ('"s3://(hidden)@host/a"', '(hidden)', 'true')
    """
    return HIDDEN if is_secret(path) else hide_marked(_spell(value, path))


def hide_marked(text: str) -> str:
    """Hide the secrets that the text before them gives away.

    >>> hide_marked("jdbc:x://h/d?user=me&password=hush"), hide_marked("LoginModule required password='hush';")
    ('jdbc:x://h/d?user=me&password=(hidden)', 'LoginModule required password=(hidden);')
    """
    return _IN_TEXT.sub(rf"\1{HIDDEN}", _IN_URL.sub(HIDDEN, text))


def hide_secrets(text: str, values: Mapping[str, Any], more: Iterable[str] = ()) -> str:
    """Hide a file's secrets in a foreign text, such as an error.

    `more` are secrets that no key tells.

    >>> hide_secrets("cannot log in with hush!", {"sink": {"password": "hush!"}})
    'cannot log in with (hidden)'
    """
    # Longest first: one secret may be the beginning of another, whose end would be left.
    known = {*_find_secrets(values, ()), *(one for one in more if len(one) >= SHORTEST_SECRET)}
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return hide_marked(text)


def _find_secrets(value: Any, path: KeyPath) -> Iterator[str]:
    """Find the texts within a value that are secrets.

    A secret is known by its key, or by the text that stands before it.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _find_secrets(inner, path if is_secret(path) else (*path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _find_secrets(inner, path)
    elif isinstance(value, str):
        found = [value] if is_secret(path) else _IN_URL.findall(value)
        found += [one["value"].strip("\"'\\") for one in _IN_TEXT.finditer(value)]
        yield from (one for one in found if len(one) >= SHORTEST_SECRET)


def _spell(value: Any, path: KeyPath) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(_spell(one, path) for one in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {display((*path, name), one)}' for name, one in value.items())} }}"
    return "not set" if value is None else str(value)
