"""A cursor over tokens, with the questions a grammar asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from eddy.errors import QueryError
from eddy.sql.lexer import Token, tokens
from eddy.sql.place import Place
from eddy.sql.tree import Span

# How deep parentheses and functions may nest: reading one takes 13 calls of ours, and Python stops at a thousand, some
# of which belong to whoever called.
DEEPEST = 50
# How many operators may hang below each other, as in a sum of so many terms: copying one takes 7 calls.
HIGHEST = 100


class Reader:
    """Reads tokens from left to right."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._tokens = list(tokens(place))
        self._at = 0
        self._level = 0

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Read one level deeper, as long as it lasts."""
        self._level += 1
        if self._level > DEEPEST:
            raise self.too_deep(DEEPEST, self.now)
        yield
        self._level -= 1

    @property
    def now(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._at]

    def ahead(self, steps: int = 1) -> Token:
        """Look at a token further on."""
        return self._tokens[min(self._at + steps, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and go past it."""
        token = self.now
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def accept(self, *keys: str) -> str | None:
        """Go past all of the keys, if they come next."""
        if any(self.ahead(steps).key != key for steps, key in enumerate(keys)):
            return None
        self._at += len(keys)
        return keys[0]

    def accept_any(self, keys: frozenset[str]) -> str | None:
        """Go past the next token, if it is one of the keys."""
        return self.take().key if self.now.key in keys else None

    def expect(self, key: str, purpose: str) -> None:
        """Go past a key that must come next."""
        if self.accept(key) is None:
            raise self.stuck(f'expected "{key}" {purpose}')

    def span(self, start: int) -> Span:
        """Give the part of the text from `start` to here."""
        return Span(start, self._tokens[self._at - 1].end if self._at else 0)

    def stuck(self, expected: str) -> QueryError:
        """Build the error for a next token that does not fit."""
        got = f'got "{self.now.text}"' if self.now.text else "the text ends here"
        return self.error(f"{expected}, {got}", self.now)

    def unknown(self, kind: str, name: str, known: Iterable[str], at: Token) -> QueryError:
        """Build the error for a name that nothing has."""
        return self.place.unknown(kind, name, known, at.start, at.end)

    def too_deep(self, levels: int, at: Token | Span) -> QueryError:
        """Build the error for what is nested too deep."""
        reason = f"the expression is more than {levels} levels deep here"
        return self.error(f"{reason}; split it, or work out a part of it as a column first", at)

    def error(self, message: str, at: Token | Span) -> QueryError:
        """Build an error that points at a token or a part."""
        return self.place.error(message, at.start, at.end)
