"""Tokens of a text, and a cursor over them.

A pattern cuts the text into tokens. The reader goes over them for the grammar, asks what comes next, and builds the
errors that point at a place in the text.

A long list of literals, as after IN, is one token: there may be hundreds of thousands of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from eddy.errors import QueryError, SparkOnlyError
from eddy.sql.values.tree import Node, Place, TextSpan

Read = TypeVar("Read")

# How deep parentheses and functions may nest: reading one takes 13 calls of ours, and Python stops at a thousand, some
# of which belong to whoever called.
DEEPEST_BRACKETS = 50
# How many operators may hang below each other, as in a sum of so many terms: copying one takes 7 calls.
HIGHEST = 100


class TokenReader:
    """Reads tokens from left to right; `functions` are the names of predicates in Python that it may meet.

    `elsewhere` says of functions that have no place in conditions where they have one. `now` is the token that comes
    next.
    """

    def __init__(
        self, place: Place, functions: Collection[str] = (), elsewhere: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.place = place
        self.functions = functions
        self.elsewhere = elsewhere
        self._tokens = list(tokens(place))
        self._at, self.now = 0, self._tokens[0]
        self._level = 0

    @contextmanager
    def nest(self) -> Iterator[None]:
        """Read one level deeper, as long as it lasts."""
        self._level += 1
        if self._level > DEEPEST_BRACKETS:
            raise self.too_deep(DEEPEST_BRACKETS, self.now)
        yield
        self._level -= 1

    def look_ahead(self, steps: int = 1) -> Token:
        """Look at a token further on."""
        return self._tokens[min(self._at + steps, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and go past it."""
        token = self.now
        if self._at < len(self._tokens) - 1:
            self._at += 1
            self.now = self._tokens[self._at]
        return token

    def accept(self, *keys: str) -> str | None:
        """Go past all of the keys, if they come next."""
        # Most are asked about in vain, and the first tells.
        if self.now.key != keys[0]:
            return None
        if len(keys) > 1 and any(self.look_ahead(steps).key != key for steps, key in enumerate(keys)):
            return None
        self._at += len(keys)
        self.now = self._tokens[self._at]
        return keys[0]

    def accept_any(self, keys: frozenset[str]) -> str | None:
        """Go past the next token, if it is one of the keys."""
        return self.take().key if self.now.key in keys else None

    def expect(self, key: str, purpose: str) -> None:
        """Go past a key that must come next."""
        if self.accept(key) is None:
            raise self.stuck(f'expected "{key}" {purpose}')

    def read_list(self, part: Callable[[TokenReader], Read]) -> list[Read]:
        """Read one part or more, with commas between them."""
        parts = [part(self)]
        while self.accept(","):
            parts.append(part(self))
        return parts

    def span(self, start: int) -> TextSpan:
        """Give the part of the text from `start` to here."""
        return TextSpan(start, self._tokens[self._at - 1].end if self._at else 0)

    def stuck(self, expected: str) -> QueryError:
        """Build the error for a next token that does not fit."""
        got = f'got "{self.now.text}"' if self.now.text else "the text ends here"
        return self.error(f"{expected}, {got}", self.now)

    def unknown(
        self, kind: str, name: str, known: Iterable[str], at: TextSpan, unlisted: Iterable[str] = (), hint: str = ""
    ) -> QueryError:
        """Build the error for a name that nothing has."""
        return self.place.unknown(kind, name, known, at, unlisted, hint)

    def too_deep(self, levels: int, at: TextSpan) -> QueryError:
        """Build the error for what is nested too deep."""
        reason = f"the expression is more than {levels} levels deep here"
        return self.error(f"{reason}; split it, or work out a part of it as a column first", at)

    def check_height(self, node: Node) -> None:
        """Refuse a tree that is too high for what goes over it."""
        for level, found in node.levels():
            if level > HIGHEST:
                raise self.too_deep(HIGHEST, found.span)

    def beyond(self, message: str, at: TextSpan) -> SparkOnlyError:
        """Build the error for what Spark alone evaluates."""
        return self.place.beyond(message, at)

    def error(self, message: str, at: TextSpan) -> QueryError:
        """Build an error that points at a token or a part."""
        return self.place.error(message, at)


_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?(?:bd|[lsyfd])?(?!\w)"
_STRING = r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" """
_LITERAL = rf"(?: -?{_NUMBER} | {_STRING} | null(?!\w) )"
_PATTERN = re.compile(
    rf"""
    \s*+ (?:
      (?P<space>   --(?:\\\n|[^\r\n])* | \Z )
    | (?P<comment> /\*(?!\+) )
    | (?P<raw>     r'[^']*' | r"[^"]*" )
    | (?P<hex>     x'[^']*' | x"[^"]*" )
    | (?P<string>  {_STRING} )
    | (?P<quoted>  `(?:[^`]|``)*` )
    | (?P<number>  {_NUMBER} )
    | (?P<word>    \w+ )
    | (?P<sign>    <=> | [<>!=]= | <> | !< | !> | \|\| | && | :: | -> | => | [-+*/%=<>!(),.;~&|^?:@\[\]{{}}$\#] )
    )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_KEYS = frozenset({"word", "sign"})
# A list of literals is one token: of a list with 100,000, a token for each and what becomes of it takes ten seconds.
LEAST_LISTED = 32
_LIST = re.compile(
    rf"(?: {_LITERAL}\s*+,\s*+ ){{{LEAST_LISTED - 1},}}+ {_LITERAL} (?=\s*\))", re.VERBOSE | re.DOTALL | re.IGNORECASE
)
_LISTED = re.compile(_LITERAL, re.VERBOSE | re.DOTALL | re.IGNORECASE)
# Comments nest; one that begins with a plus is a hint, and Spark has no place for it in an expression.
_BORDER = re.compile(r"(/\*)(?!\+)|\*/")


@dataclass(slots=True)
class Token(TextSpan):
    """A piece of the text.

    `kind` is a group of the pattern, or `list` for many literals between commas. `key` is what grammar rules compare:
    words in capitals, and signs.
    """

    kind: str
    text: str
    key: str = ""

    @property
    def is_name(self) -> bool:
        """Whether it can be a name."""
        return self.kind in ("word", "quoted")

    @property
    def name(self) -> str:
        """The name that it is, without backticks."""
        return self.text if self.kind == "word" else self.text[1:-1].replace("``", "`")

    @property
    def is_text(self) -> bool:
        """Whether it is a text in quotes."""
        return self.kind in ("string", "raw")


def tokens(place: Place) -> Iterator[Token]:
    """Yield the tokens of a text, then one of kind `end`.

    >>> [token.text for token in tokens(Place("here", "a.k >= 1.5"))]
    ['a', '.', 'k', '>=', '1.5', '']
    """
    at, text, before, last = 0, place.text, "", ""
    while at < len(text):
        many = _LIST.match(text, at) if last == "(" and before == "IN" else None
        match = many or _PATTERN.match(text, at)
        if match is None:
            start = len(text) - len(text[at:].lstrip())
            raise place.error(_describe_unreadable(text[start:]), TextSpan(start, start + 1))
        kind, end = match.lastgroup or "list", match.end()
        if kind == "comment":
            at = _skip_comment(place, match.start(kind))
            continue
        if kind != "space":
            start = at if many else match.start(kind)
            piece = text[start:end]
            before, last = last, piece.upper() if kind in _KEYS else ""
            yield Token(start, end, kind, piece, last)
        at = end
    yield Token(len(text), len(text), "end", "")


def split_list(token: Token) -> Iterator[Token]:
    """Yield a token for each literal of a list.

    A minus is part of its number.
    """
    for match in _LISTED.finditer(token.text):
        kind = "string" if match.group()[0] in "'\"" else "word" if match.group()[0] in "nN" else "number"
        yield Token(token.start + match.start(), token.start + match.end(), kind, match.group())


def _skip_comment(place: Place, start: int) -> int:
    """Find the end of a comment, past all comments inside of it."""
    depth = 0
    for border in _BORDER.finditer(place.text, start):
        depth += 1 if border[1] else -1
        if not depth:
            return border.end()
    raise place.error('the comment that opens here is never closed; expected "*/"', TextSpan(start, start + 2))


def _describe_unreadable(rest: str) -> str:
    if rest[0] in "'\"`":
        return f"the quote {rest[0]} that opens here is never closed"
    return f'the character "{rest[0]}" has no meaning in an expression'
