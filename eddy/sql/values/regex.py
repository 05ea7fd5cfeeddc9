r"""Java's regular expressions, as far as RE2 means the same by them.

Spark asks Java, Arrow asks RE2. A pattern is read here by Java's rules and written anew for RE2, every class of
characters as its ranges: what the two call alike and mean differently (`.`, `\s`, case, `$`) never gets to RE2 as it
was written. What RE2 cannot do, or what we are not sure of, is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Ranges = Sequence[tuple[int, int]]
"""Characters, from the first to the last of each range."""

LAST, FIRST_WIDE = 0x10FFFF, 0x10000
"""The last of all characters, and the first that Java has as two."""

HALVES = (0xD800, 0xDFFF)
"""The halves of such characters; no text has one alone."""

MOST_REPEATS = 1_000
"""Repeats that RE2 counts at most."""

LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
DIGITS: Ranges = ((0x30, 0x39),)
UPPER: Ranges = ((0x41, 0x5A),)
LOWER: Ranges = ((0x61, 0x7A),)
SPACES: Ranges = ((0x09, 0x0D), (0x20, 0x20))
WORDS: Ranges = (*DIGITS, *UPPER, (0x5F, 0x5F), *LOWER)
PUNCTUATION: Ranges = ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))

_CLASSES: dict[str, Ranges] = {"d": DIGITS, "w": WORDS, "s": SPACES}
_NAMED: dict[str, Ranges] = {
    "Lower": LOWER,
    "Upper": UPPER,
    "Alpha": (*UPPER, *LOWER),
    "Digit": DIGITS,
    "Alnum": (*DIGITS, *UPPER, *LOWER),
    "Punct": PUNCTUATION,
    "Space": SPACES,
    "XDigit": (*DIGITS, (0x41, 0x46), (0x61, 0x66)),
}
"""Classes that are of ASCII for Java."""

_CASES = ("Lower", "Upper")
"""Two that are one where case does not count; Java then has an idea of its own of what they leave out."""

_BOTH_CASES = ([(0x4B, 0x4B), (0x6B, 0x6B)], [(0x53, 0x53), (0x73, 0x73)])
"""K and S in both cases: RE2 takes such a class for a letter whose case does not count. Where that is one of several
ways to go on, it takes letters beyond ASCII for it as well."""

_CONTROLS = {"t": 0x09, "n": 0x0A, "r": 0x0D, "f": 0x0C, "a": 0x07, "e": 0x1B}
_FLAGS = re.compile(r"\(\?([is]{1,2})\)")
_REPEAT = re.compile(r"\{(\d{1,6})(,(\d{0,6}))?\}")
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x\{([0-9a-fA-F]{1,6})\}")
_PROPERTY = re.compile(r"[pP]\{(\w+)\}")
_GROUP_NAME = re.compile(r"\?<[a-zA-Z][a-zA-Z0-9]*>")
_PLAIN = {"|": "|", "^": r"\A"}
_WRONG_GROUPS = {
    "?=": "lookahead",
    "?!": "lookahead",
    "?<=": "lookbehind",
    "?<!": "lookbehind",
    "?>": "an atomic group",
}
_WRONG_ESCAPES = {
    **dict.fromkeys("bB", "Java's word boundary, which goes by Unicode"),
    **dict.fromkeys("123456789k", "a reference to a group"),
    **dict.fromkeys("ZG", "an anchor that RE2 does not have"),
    "Q": "a quotation",
}


class NotAlike(Exception):
    """A pattern that is refused; says why."""


@dataclass(frozen=True, kw_only=True)
class Regex:
    """A pattern as RE2 reads it.

    `dollar` says that Java's `$` stands at its end, or at that of an alternative: it is written as the end of the text,
    and the text without its last line end has to be asked as well.
    """

    pattern: str
    dollar: bool


def translate(text: str, group: int | None = None) -> Regex:
    r"""Write a pattern of Java's as one of RE2's.

    One `group` is called `g`, and no other is kept; 0 is the whole match.

    >>> translate("a.c").pattern, translate("(?i)x+$").pattern
    ('a[^\\x{a}\\x{d}\\x{85}\\x{2028}-\\x{2029}]c', '[Xx]+\\z')
    >>> translate("a(?=b)")
    Traceback (most recent call last):
        ...
    eddy.sql.values.regex.NotAlike: lookahead is not supported
    """
    reader = _Reader(text, group)
    pattern = reader.read()
    if group is not None:
        if group > reader.groups:
            raise NotAlike(f"there are {reader.groups} groups, and no group {group}")
        if reader.dollar:
            raise NotAlike('"$" also matches before a line end; \\z is the end of the text')
        pattern = f"(?P<g>{pattern})" if group == 0 else pattern
    return Regex(pattern=pattern, dollar=reader.dollar)


class _Reader:
    """Reads a pattern from left to right, and writes it."""

    def __init__(self, text: str, group: int | None) -> None:
        self._text = text
        self._group = group
        # For each group that is open: whether the wanted one is it or in it, it may match nothing, it has an anchor.
        self._open: list[bool] = []
        self._loose: list[bool] = []
        self._anchored: list[bool] = []
        self._names: set[str] = set()
        self.groups = 0
        self.dollar = False
        flags = _FLAGS.match(text)
        self._flags = flags[1] if flags else ""
        self._at = flags.end() if flags else 0

    def read(self) -> str:
        written, may_repeat = [], False
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter in "*+?{":
                if not may_repeat:
                    raise _refuse("a repeat of nothing, or of a repeat,")
                written.append(self._read_repeat())
                may_repeat = False
                continue
            self._at += 1
            if letter == "|":
                self._loosen()
            elif letter == "^":
                self._anchor()
            part, may_repeat = self._read_part(letter)
            written.append(part)
        if self._open:
            raise _refuse("a group that is not closed")
        return "".join(written)

    def _read_part(self, letter: str) -> tuple[str, bool]:
        """Read what is no repeat; says whether it may be repeated."""
        if letter == "(":
            return self._open_group(), False
        if letter == ")":
            return self._close_group(), True
        if letter in _PLAIN:
            return _PLAIN[letter], False
        if letter == "$":
            return self._read_dollar(), False
        if letter == ".":
            return _write(_invert(() if "s" in self._flags else LINE_ENDS)), True
        if letter == "[":
            return _write(self._read_class()), True
        if letter == "\\":
            return self._read_escape()
        return self._write_letter(ord(letter)), True

    def _read_dollar(self) -> str:
        rest = self._text[self._at :]
        if self._open or not (rest == "" or rest[0] == "|"):
            raise _refuse('"$" before the end of the pattern')
        self.dollar = True
        return r"\z"

    def _open_group(self) -> str:
        rest = self._text[self._at :]
        self._anchored.append(False)
        for sign, name in sorted(_WRONG_GROUPS.items(), key=lambda item: -len(item[0])):
            if rest.startswith(sign):
                raise _refuse(name)
        if rest.startswith("?:"):
            self._at += 2
            self._open.append(False)
            self._loose.append(False)
            return "(?:"
        if named := _GROUP_NAME.match(rest):
            if named[0] in self._names:
                raise _refuse("a second group of one name")
            self._names.add(named[0])
            self._at += named.end()
        elif rest.startswith("?"):
            raise _refuse("a flag within the pattern")
        self.groups += 1
        self._loose.append(False)
        if self.groups != self._group:
            self._open.append(False)
            return "(?:"
        self._open = [True] * (len(self._open) + 1)
        return "(?P<g>"

    def _close_group(self) -> str:
        if not self._open:
            raise _refuse('a ")" that closes nothing')
        # Of a group that matched several times the two may keep another time, and of what may match nothing another
        # number of times: they find it in the same texts, but not always as much of it.
        is_wanted, is_loose = self._open.pop(), self._loose.pop() or self._text[self._at - 2] in "(:>"
        # Once a group has matched nothing, Java repeats it no more, also if it has to match more often. An anchor
        # matches nothing here and fails there, so RE2 may need it for the first time and letters for the second.
        repeat = _REPEAT.match(self._text, self._at)
        if self._anchored.pop() and is_loose and repeat and int(repeat[1]) > 1:
            raise _refuse("a repeat of what may match nothing at an anchor")
        if self._group is not None and self._text[self._at : self._at + 1] in ("*", "+", "{"):
            if is_wanted:
                raise _refuse("a repeat of the group that is wanted")
            if is_loose:
                raise _refuse("a repeat of what may match nothing")
        return ")"

    def _loosen(self) -> None:
        """Note that what is open now may match nothing, as far as this tells."""
        self._loose = [True] * len(self._loose)

    def _anchor(self) -> None:
        """Note that what is open now has an anchor."""
        self._anchored = [True] * len(self._anchored)

    def _read_repeat(self) -> str:
        start = self._at
        found = _REPEAT.match(self._text, start)
        if self._text[start] in "*?" or (found and not int(found[1])):
            self._loosen()
        if self._text[start] == "{":
            if found is None:
                raise _refuse('a "{" that is no repeat')
            if max(int(found[1]), int(found[3] or 0)) > MOST_REPEATS or (found[3] and int(found[3]) < int(found[1])):
                raise _refuse(f'the repeat "{found[0]}"')
            self._at = found.end()
            # RE2 takes a number that begins with 0 for letters.
            written = re.sub(r"\d+", lambda number: str(int(number[0])), found[0])
        else:
            self._at += 1
            written = self._text[start]
        if self._text[self._at : self._at + 1] == "+":
            raise _refuse("a possessive repeat")
        if self._text[self._at : self._at + 1] == "?":
            self._at += 1
            return f"{written}?"
        return written

    def _read_escape(self) -> tuple[str, bool]:
        letter = self._text[self._at : self._at + 1]
        if letter in ("A", "z"):
            self._at += 1
            self._anchor()
            return f"\\{letter}", False
        found = self._read_escaped()
        return (self._write_letter(found), True) if isinstance(found, int) else (_write(found), True)

    def _read_escaped(self) -> int | Ranges:
        """Read what stands behind a backslash: a character, or a class of them."""
        rest = self._text[self._at :]
        letter = rest[:1]
        if letter in _WRONG_ESCAPES or not letter:
            raise _refuse(_WRONG_ESCAPES.get(letter, "a backslash at the end"))
        if letter.lower() in _CLASSES:
            self._at += 1
            ranges = _CLASSES[letter.lower()]
            return ranges if letter.islower() else _invert(ranges)
        if (named := _PROPERTY.match(rest)) and named[1] in _NAMED:
            if "i" in self._flags and named[1] in _CASES:
                raise _refuse(f'"{named[0]}" where case does not count')
            self._at += named.end()
            return _NAMED[named[1]] if letter == "p" else _invert(_NAMED[named[1]])
        if code := _HEX.match(rest):
            self._at += code.end()
            return _check_letter(int(next(filter(None, code.groups())), 16))
        if letter in _CONTROLS:
            self._at += 1
            return _CONTROLS[letter]
        if letter.isalnum() or not letter.isascii():
            raise _refuse(f'"\\{letter}"')
        self._at += 1
        return ord(letter)

    def _read_class(self) -> Ranges:
        found = list[tuple[int, int]]()
        negated = self._text.startswith("^", self._at)
        self._at += negated
        while True:
            low = self._read_member(first=not found)
            if low is None:
                break
            if isinstance(low, int) and self._begins_range():
                self._at += 1
                high = self._read_member(first=False)
                if not isinstance(high, int) or high < low:
                    raise _refuse("this range of characters")
                found.append((low, high))
            else:
                found += [(low, low)] if isinstance(low, int) else low
        ranges = self._fold(found)
        return _invert(ranges) if negated else _join(ranges)

    def _begins_range(self) -> bool:
        return self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at)

    def _read_member(self, *, first: bool) -> int | Ranges | None:
        """Read a character or a class within brackets; None at their end."""
        letter = self._text[self._at : self._at + 1]
        self._at += 1
        if letter == "]" and not first:
            return None
        if letter in ("", "[", "]", "^") or self._text.startswith("&&", self._at - 1):
            raise _refuse("a class within a class, or an odd one,")
        if letter == "-" and not first and not self._text.startswith("]", self._at):
            raise _refuse('a "-" within a class')
        found = self._read_escaped() if letter == "\\" else _check_letter(ord(letter))
        if isinstance(found, int) and found >= FIRST_WIDE:
            raise _refuse("a character beyond U+FFFF in a class")
        return found

    def _fold(self, ranges: Ranges) -> Ranges:
        """Add the other case of letters of ASCII, if case does not count: Java minds that of all others."""
        if "i" not in self._flags:
            return ranges
        folded = [*ranges]
        for here, there in ((UPPER, LOWER), (LOWER, UPPER)):
            shift = there[0][0] - here[0][0]
            for low, high in ranges:
                first, last = max(low, here[0][0]), min(high, here[0][1])
                folded += [(first + shift, last + shift)] if first <= last else []
        return folded

    def _write_letter(self, code: int) -> str:
        _check_letter(code)
        folded = _join(self._fold(((code, code),)))
        return _write(folded) if len(folded) > 1 else _spell(code)


def _refuse(what: str) -> NotAlike:
    return NotAlike(f"{what} is not supported")


def _check_letter(code: int) -> int:
    if code == 0 or code > LAST or HALVES[0] <= code <= HALVES[1]:
        raise _refuse(f"the character {code:#x}")
    return code


def _join(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Put ranges in order, those that touch each other as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _invert(ranges: Ranges) -> Ranges:
    """Give all characters but these.

    >>> _invert([(1, 5), (7, 0x10FFFF)])
    [(0, 0), (6, 6)]
    """
    edges = [-1, *(edge for pair in _join(ranges) for edge in pair), LAST + 1]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(low + 1, high - 1) for low, high in pairs if low + 1 <= high - 1]


def _write(ranges: Ranges) -> str:
    """Write a class, by what it has or by what it has not: the shorter of both."""
    if ranges in _BOTH_CASES:
        return f"(?:{'|'.join(_spell(low) for low, _ in ranges)})"
    without = _invert(ranges)
    if len(without) < len(ranges) and without:
        return f"[^{_list(without)}]"
    return f"[{_list(ranges)}]" if ranges else "[^\\x{0}-\\x{10FFFF}]"


def _list(ranges: Ranges) -> str:
    return "".join(_spell(low) if low == high else f"{_spell(low)}-{_spell(high)}" for low, high in ranges)


def _spell(code: int) -> str:
    letter = chr(code)
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{code:x}}}"
