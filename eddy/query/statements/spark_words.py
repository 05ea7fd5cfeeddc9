"""Words in the parts of a statement that are Spark's: which are no columns, and what has no meaning there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eddy.query.statements.tree import Written
from eddy.sql.text.reader import Token, TokenReader
from eddy.sql.values.name_case import fold_case

NO_COLUMN = frozenset({"AS", "TO", "INTERVAL", ".", "::"})
"""Words before a word that is no column: a type, a unit, a field."""

KEYWORDS = frozenset(
    "AND OR NOT IN IS LIKE ILIKE RLIKE REGEXP ESCAPE BETWEEN DIV CASE WHEN THEN ELSE END NULL TRUE FALSE DISTINCT ALL "
    "FROM FOR BOTH LEADING TRAILING FILTER WHERE INTERVAL EXISTS".split()
)
"""Words of expressions. A column that is called so has its input before it, or stands in backticks."""

TAKES_FIELD = frozenset("EXTRACT TIMESTAMPADD TIMESTAMPDIFF DATEADD DATEDIFF DATE_ADD DATE_DIFF".split())
"""Functions whose first argument may be a field of a time, which is no column."""

FIELDS = frozenset(
    "YEAR QUARTER MONTH WEEK DAY DAYS DAYOFYEAR DAYOFWEEK HOUR HOURS MINUTE MINUTES SECOND SECONDS MILLISECOND "
    "MICROSECOND".split()
)

_WINDOW = "window(at, '1 minute')"
_SLIDING = "window(at, '10 minutes', '1 minute')"
_SESSION = "session_window(at, '5 minutes')"
FLINK = {
    "TUMBLE": _WINDOW,
    "HOP": _SLIDING,
    "CUMULATE": _SLIDING,
    "SESSION": _SESSION,
    **dict.fromkeys(("TUMBLE_START", "HOP_START"), "window.start"),
    **dict.fromkeys(("TUMBLE_END", "HOP_END"), "window.end"),
    **dict.fromkeys(("TUMBLE_ROWTIME", "HOP_ROWTIME"), "window_time(window)"),
    "SESSION_START": "session_window.start",
    "SESSION_END": "session_window.end",
}
"""Flink's windows, with what Spark has for them."""

NO_ALIAS_AFTER = KEYWORDS - {"END", "NULL", "TRUE", "FALSE"} | {"TO", "COLLATE"}
"""Words that an expression does not end with: what follows is a part of it, and no name for it."""

NO_RANKS = (
    "window functions: a stream has no last row; number or rank the rows in what a sink has, and aggregate by time "
    f"with GROUP BY {_WINDOW}"
)
NO_SUBQUERIES = (
    "a subquery here asks about a table row by row: join the table, or ask by LEFT SEMI or LEFT ANTI JOIN; what is "
    "one value belongs before the eddy, as a column of an input"
)


def refuse_words(words: Sequence[Token], reader: TokenReader) -> None:
    """Refuse what Spark has no answer for over a stream, or what another system has."""
    for place, word in enumerate(words):
        before, after = _key(words, place - 1), _key(words, place + 1)
        if word.key in ("SELECT", "WITH") and before == "(":
            raise reader.error(NO_SUBQUERIES, word)
        if word.key == "OVER" and before == ")":
            raise reader.error(NO_RANKS, word)
        if word.key in FLINK and after == "(" and before != ".":
            raise reader.error(f"{word.key} is Flink's; Spark groups after the eddy, by {FLINK[word.key]}", word)


def find_column_words(words: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Find where columns may stand: names with dots between them, and how many of them.

    >>> from eddy.sql.text.reader import tokens
    >>> from eddy.sql.values.tree import Place
    >>> words = [*tokens(Place("here", "extract(day FROM o.at) + filter(o.list, x -> x > y)"))]
    >>> [(words[place].text, count) for place, count in find_column_words(words)]
    [('extract', 1), ('o', 2), ('filter', 1), ('o', 2), ('y', 1)]
    """
    variables = _find_variables(words)
    place = 0
    while place < len(words):
        count = 0 if place in variables else _count_names(words, place)
        if count and not (count == 1 and _is_word(words, place)):
            yield place, count
        place += max(2 * count - 1, 1)


def split_alias(words: Sequence[Token]) -> tuple[Sequence[Token], str | None]:
    """Take the name from the end of an entry that has one without AS.

    >>> from eddy.sql.text.reader import tokens
    >>> from eddy.sql.values.tree import Place
    >>> parts = [[*tokens(Place("here", text))][:-1] for text in ("a * 2 b", "a IS NULL", "a + INTERVAL 2 DAYS")]
    >>> [split_alias(part)[1] for part in parts]
    ['b', None, None]
    """
    *rest, last = words
    if not rest or not last.is_name or last.key in KEYWORDS or _ends_interval(words):
        return words, None
    end = rest[-1]
    ends_value = end.is_text or end.kind in ("number", "hex", "quoted") or end.key in (")", "]")
    if ends_value or (end.kind == "word" and end.key not in NO_ALIAS_AFTER):
        return rest, last.name
    return words, None


def split_parts(words: Sequence[Token]) -> list[Sequence[Token]]:
    """Split words at the commas that are in no brackets."""
    found: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.key in ("(", "[")) - (word.key in (")", "]"))
        if word.key == "," and not depth:
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]


def is_name(part: Sequence[Token]) -> bool:
    """Tell whether a part is one name and nothing else."""
    return len(part) == 1 and part[0].is_name


def is_argument(words: Sequence[Token], place: int) -> bool:
    """Tell whether a word is within the brackets of a function, such as an aggregate."""
    depth = 0
    for at in range(place - 1, 0, -1):
        depth += (words[at].key == ")") - (words[at].key == "(")
        if depth < 0:
            depth = 0
            if words[at - 1].is_name and words[at - 1].key not in KEYWORDS:
                return True
    return False


def write_part(part: Written, text: str) -> str:
    """Write a part as it stands, on one line."""
    return " ".join(text[part.words[0].start : part.words[-1].end].split())


def _ends_interval(words: Sequence[Token]) -> bool:
    """Tell whether the last word is the unit of an interval."""
    place = len(words) - 1
    while place > 0 and (
        words[place].key in (*FIELDS, "WEEKS", "MONTHS", "YEARS", "MILLISECONDS", "MICROSECONDS", "TO")
    ):
        place -= 1
        while place > 0 and (_is_literal(words, place) or words[place].key in ("-", "+")):
            place -= 1
    return place < len(words) - 1 and words[place].key == "INTERVAL"


def _count_names(words: Sequence[Token], place: int) -> int:
    """Count the names with dots between them that begin at a word."""
    if not words[place].is_name or _key(words, place - 1) in NO_COLUMN or _is_literal(words, place - 1):
        return 0
    count = 1
    while _key(words, place + 2 * count - 1) == "." and _is_name(words, place + 2 * count):
        count += 1
    return count


def _is_word(words: Sequence[Token], place: int) -> bool:
    """Tell whether a name is a word of SQL's where it stands."""
    word, after = words[place], _key(words, place + 1)
    if word.kind != "word":
        return False
    if after == "(":
        return False
    if word.key in KEYWORDS or after == "=>" or (place + 1 < len(words) and words[place + 1].is_text):
        return True
    is_first = _key(words, place - 1) == "(" and _key(words, place - 2) in TAKES_FIELD
    return is_first and word.key in FIELDS and after in ("FROM", ",")


def _find_variables(words: Sequence[Token]) -> set[int]:
    """Find the words that are variables: `x` in `x -> x + 1`, up to the end of that argument."""
    found: set[int] = set()
    for place, word in enumerate(words):
        if word.key != "->":
            continue
        first = place - 1
        while _key(words, place - 1) == ")" and first > 0 and words[first].key != "(":
            first -= 1
        names = {fold_case(one.name) for one in words[first:place] if one.is_name}
        for at in range(first, _find_end(words, place)):
            if words[at].is_name and fold_case(words[at].name) in names and _key(words, at - 1) != ".":
                found.add(at)
    return found


def _find_end(words: Sequence[Token], place: int) -> int:
    """Find the comma or bracket that ends an argument."""
    depth = 0
    while place < len(words) and (depth or words[place].key not in (",", ")")):
        depth += (words[place].key in ("(", "[")) - (words[place].key in (")", "]"))
        place += 1
    return place


def _key(words: Sequence[Token], place: int) -> str:
    return words[place].key if 0 <= place < len(words) else ""


def _is_name(words: Sequence[Token], place: int) -> bool:
    return place < len(words) and words[place].is_name


def _is_literal(words: Sequence[Token], place: int) -> bool:
    return place >= 0 and (words[place].kind == "number" or words[place].is_text)
