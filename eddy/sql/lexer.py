"""SQL text to tokens, each with its place in the text.

The lexical rules are Spark's: a word may start with a digit, a number carries its type as a suffix,
double quotes hold strings, and backticks hold names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eddy.sql.place import Place

_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?(?:bd|[lsyfd])?(?!\w)"
_STRING = r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" """
_LITERAL = rf"(?: -?{_NUMBER} | {_STRING} | null(?!\w) )"
_PATTERN = re.compile(
    rf"""
      (?P<space>   \s+ | --(?:\\\n|[^\r\n])* )
    | (?P<comment> /\*(?!\+) )
    | (?P<raw>     r'[^']*' | r"[^"]*" )
    | (?P<hex>     x'[^']*' | x"[^"]*" )
    | (?P<string>  {_STRING} )
    | (?P<quoted>  `(?:[^`]|``)*` )
    | (?P<number>  {_NUMBER} )
    | (?P<word>    \w+ )
    | (?P<sign>    <=> | [<>!=]= | <> | !< | !> | \|\| | && | :: | -> | => | [-+*/%=<>!(),.;~&|^?:@\[\]{{}}$\#] )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
# A list of literals is one token: of a list with 100,000, a token for each and what becomes of it takes ten seconds.
LEAST_LISTED = 32
_LIST = re.compile(
    rf"(?: {_LITERAL}\s*+,\s*+ ){{{LEAST_LISTED - 1},}}+ {_LITERAL} (?=\s*\))", re.VERBOSE | re.DOTALL | re.IGNORECASE
)
_LISTED = re.compile(_LITERAL, re.VERBOSE | re.DOTALL | re.IGNORECASE)
# Comments nest; one that begins with a plus is a hint, and Spark has no place for it in an expression.
_BORDER = re.compile(r"(/\*)(?!\+)|\*/")


@dataclass(frozen=True)
class Token:
    """A piece of the text; `kind` is a group of the pattern, or `list` for many literals between commas."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """What grammar rules compare: signs, and words in capitals."""
        return self.text.upper() if self.kind in ("word", "sign") else ""


def tokens(place: Place) -> Iterator[Token]:
    """Yield the tokens of a text, then one of kind `end`.

    >>> [token.text for token in tokens(Place("here", "a.k >= 1.5"))]
    ['a', '.', 'k', '>=', '1.5', '']
    """
    at, text, before = 0, place.text, ("", "")
    while at < len(text):
        many = _LIST.match(text, at) if before == ("IN", "(") else None
        match = many or _PATTERN.match(text, at)
        if match is None:
            raise place.error(_unreadable(text[at:]), at, at + 1)
        if match.lastgroup not in ("space", "comment"):
            token = Token(str(match.lastgroup or "list"), match.group(), at, match.end())
            before = (before[1], token.key)
            yield token
        at = _after_comment(place, at) if match.lastgroup == "comment" else match.end()
    yield Token("end", "", len(text), len(text))


def listed(token: Token) -> Iterator[Token]:
    """Yield a token for each literal of a list; a minus is part of its number."""
    for match in _LISTED.finditer(token.text):
        kind = "string" if match.group()[0] in "'\"" else "word" if match.group()[0] in "nN" else "number"
        yield Token(kind, match.group(), token.start + match.start(), token.start + match.end())


def _after_comment(place: Place, start: int) -> int:
    """Find the end of a comment, past all comments inside of it."""
    depth = 0
    for border in _BORDER.finditer(place.text, start):
        depth += 1 if border[1] else -1
        if not depth:
            return border.end()
    raise place.error('the comment that opens here is never closed; expected "*/"', start, start + 2)


def _unreadable(rest: str) -> str:
    if rest[0] in "'\"`":
        return f"the quote {rest[0]} that opens here is never closed"
    return f'the character "{rest[0]}" has no meaning in an expression'
