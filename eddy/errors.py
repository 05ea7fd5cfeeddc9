"""The errors a person meets: theirs, ours, the checkpoint's.

Every text says what is wrong, where, what was expected, what was got and what to do, in lower case and
with names in double quotes. `QueryError` is raised for whatever the user can mend: the query, the data handed
in, a function of theirs. `EngineError` means that a rule of this project was broken: by the engine, or by a
plug-in. `CheckpointError` means that saved state and the query that wants it do not fit. `EddyWarning` is the one
category of warnings.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from typing import Any, NoReturn

from eddy.requirements import judge_spark

LONGEST_TEXT = 500
"""Characters of what an exception says, or of a text of the user's, in an error: a paragraph that a person reads. What
others write there has no end: the repr of a table, a `where` that a program has made."""

LONGEST_NAME = 200
"""Characters of a name or a value, which is a part of a sentence."""


class EddyError(Exception):
    """The base of all errors that this project raises."""


class EddyWarning(UserWarning):
    """Warns of something that is allowed, and seldom meant."""


class QueryError(EddyError):
    """The query, its data or its functions are wrong."""


class SparkOnlyError(QueryError):
    """The text is SQL of Spark's that ours has not: Spark alone evaluates it."""


class RowError(QueryError):
    """A predicate has no answer for some row.

    It is an error of the query only if everything else lets the row pass. `kind` is a text without values of rows,
    for reports; `final` says that no `on_error` may pass over it, since it is not the row that is wrong.
    """

    def __init__(self, text: str, *, kind: str, final: bool = False) -> None:
        super().__init__(text)
        self.kind = kind
        self.final = final

    def bare(self) -> RowError:
        """Give the same error without its frames and its cause.

        They hold the rows of the call.
        """
        return RowError(str(self), kind=self.kind, final=self.final)


class EngineError(EddyError):
    """The engine or a plug-in broke a rule of the engine."""


class CheckpointError(EddyError):
    """Saved state does not fit the query that wants it."""


class Within:
    """Says in errors of ours where they come from; nothing is added where there is no more to say.

    >>> with Within('query "alerts": '):
    ...     raise CheckpointError("it does not fit")
    Traceback (most recent call last):
        ...
    eddy.errors.CheckpointError: query "alerts": it does not fit
    """

    # It is entered several times in each micro-batch, which a generator would make three times as dear.
    __slots__ = ("_place",)

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._place and isinstance(error, EddyError):
            kinds = (QueryError, EngineError, CheckpointError, EddyError)
            raise next(one for one in kinds if isinstance(error, one))(f"{self._place}{error}") from error


SPARK = "spark"
"""The extra that has Spark, which may also be too old, or there twice."""


def need_package(name: str, extra: str, what: str) -> Path:
    """Find the folder of a package that only some of our users need, and that an extra of ours installs.

    >>> need_package("elephants", "zoo", "feeding")
    Traceback (most recent call last):
        ...
    eddy.errors.QueryError: feeding: expected the package "elephants", got none; pip install "eddy-spark[zoo]"
    """
    spec = find_spec(name)
    if spec is None:
        raise QueryError(f'{what}: expected the package "{name}", got none; pip install "eddy-spark[{extra}]"')
    wrong = judge_spark() if extra == SPARK else ""
    if wrong:
        raise QueryError(f"{what}: {wrong}")
    return Path(*(spec.submodule_search_locations or ()))


def warn(text: str) -> None:
    """Warn at the line of the caller's that led to it.

    Python says it once for that line.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] in ("eddy", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, EddyWarning, stacklevel=level)


def shorten(text: str, most: int = LONGEST_TEXT) -> str:
    """Cut the middle out of a long text.

    The end often says what to do.

    >>> shorten("x" * 30 + " is too long", 20)
    'xxxxxxx ... too long'
    """
    whole = str.__str__(text)  # a text may be of a class of the user's, whose slices are anything at all
    if len(whole) <= most:
        return whole
    end = most // 2 - len(" ... ") // 2
    return f"{whole[: most - end - len(' ... ')]} ... {whole[len(whole) - end :]}"


def clip(text: str, most: int) -> str:
    """Cut the end of a text.

    A name is known by how it begins.

    >>> clip("temperature", 8)
    'tempera…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def read_message(error: BaseException) -> str:
    """Give the text of an exception, even if asking it fails."""
    try:
        return shorten(str(error))
    except Exception as another:  # whatever an exception of the user's raises when it is asked for its text
        return f"(asked for its text, it raised {_kind(another)})"


def describe_error(error: BaseException) -> str:
    """Write an exception as people know it.

    >>> describe_error(ValueError("no such thing")), describe_error(ValueError())
    ('ValueError: no such thing', 'ValueError')
    """
    text = read_message(error)
    return f"{_kind(error)}: {text}" if text else _kind(error)


def write_repr(value: Any) -> str:
    """Write a value as Python does, even if asking it fails."""
    try:
        return shorten(repr(value), LONGEST_NAME)
    except Exception as error:
        return f"a {shorten(type(value).__name__, LONGEST_NAME)} (asked for its text, it raised {_kind(error)})"


def quote_choice(name: str) -> str:
    """Quote what a policy is called; with parameters it is a table, which has quotes of its own.

    >>> quote_choice("auto"), quote_choice('{"name": "content", "d": 24}')
    ('"auto"', '{"name": "content", "d": 24}')
    """
    return name if name.startswith("{") else f'"{name}"'


def quote(names: Iterable[str]) -> str:
    """Write names as they stand in error texts.

    >>> quote(["a", "b"])
    '"a", "b"'
    """
    return ", ".join(f'"{name}"' for name in names)


def is_whole(value: object, least: int, most: int | None = None) -> bool:
    """Tell whether a value is a whole number within limits.

    `True` is none, an integer of numpy's is one.

    >>> is_whole(1, 1), is_whole(True, 1), is_whole(1.0, 1), is_whole(9, 1, most=8)
    (True, False, False, False)
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return least <= int(value) and (most is None or int(value) <= most)


def check_whole(value: Any, name: str, least: int = 1, *, where: str = "", most: int | None = None) -> int:
    """Check a whole number that a user gave.

    >>> check_whole(0, "rows", where="workload web")
    Traceback (most recent call last):
    eddy.errors.QueryError: workload web: rows: expected a whole number of 1 or more, got 0
    """
    if not is_whole(value, least, most):
        limits = f"of {least} or more" if most is None else f"from {least} to {most:,}"
        raise QueryError(f"{where}{': ' if where else ''}{name}: expected a whole number {limits}, got {value!r}")
    return int(value)


def check_flag(value: object, name: str, *, where: str) -> None:
    """Check a value that is true or false: the text "no" would count as true.

    >>> check_flag("no", "cross", where="query")
    Traceback (most recent call last):
    eddy.errors.QueryError: query: cross: expected True or False, got 'no'
    """
    if not isinstance(value, bool):
        raise QueryError(f"{where}: {name}: expected True or False, got {write_repr(value)}")


def unknown_name(kind: str, name: str, known: Iterable[str], *, where: str, unlisted: Iterable[str] = ()) -> QueryError:
    """Build the error for a name that nothing has.

    `unlisted` may have been meant as well, and are too many to be told.

    >>> print(unknown_name("column", "prise", ["price", "size"], where='filter "cheap"'))
    filter "cheap": unknown column "prise"; did you mean "price"? known: "price", "size"
    """
    names = sorted(known)
    meant = sorted({*names, *unlisted})
    close = difflib.get_close_matches(name, meant, n=1) or [n for n in meant if n.lower() == name.lower()]
    hint = f'did you mean "{close[0]}"? ' if close else ""
    listed = f"known: {quote(names)}" if names else f"there is no {kind} at all"
    return QueryError(f'{where}: unknown {kind} "{shorten(name, LONGEST_NAME)}"; {hint}{listed}')


def check_choice(choice: object, known: Iterable[str], kind: str, *, where: str) -> str:
    """Check that a user chose something that is on offer.

    >>> check_choice("sudden", {"gradual": 1, "sudden": 2}, "kind", where="drift")
    'sudden'
    """
    if not isinstance(choice, str) or choice not in known:
        raise unknown_name(kind, str(choice), known, where=where)
    return choice


def _kind(error: BaseException) -> str:
    return shorten(type(error).__name__, LONGEST_NAME)


def refuse_to_make(choice: object, offered: object) -> NoReturn:
    """Stand in for what builds other policies, where nobody gave it."""
    raise EngineError(f"policy {choice!r} with {offered!r}: this setting builds no policies; an engine's does")
