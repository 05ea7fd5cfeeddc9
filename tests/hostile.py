"""Files as nobody should write them: any bytes, and any tree of TOML, also one whose keys are those that we know."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import eddy
from eddy.jobs.config.config import load, write_resolved
from eddy.jobs.config.overrides import from_command, from_spark
from eddy.jobs.config.schema import ConfigKey, ConfigPart, NamedSections, Section, Variants
from eddy.jobs.config.sections import JOB
from eddy.policies.registry import POLICIES

LONG = 5_000
"""Letters, or levels of brackets: more than a reader by recursion can follow."""

WORDS = (
    *(
        "a",
        "b",
        "ts",
        "timestamp",
        "value",
        "rate",
        "kafka",
        "csv",
        "memory",
        "json",
        "a.value > 1",
        "a.value = b.value",
    ),
    *("10 seconds", "interval 1 day", "-1 second", "1e999 days", "9" * 400 + " seconds", "math:isfinite", "..:x"),
    *("no_such_module_here:f", "a.b", "", "\x00", "../../etc", "/", "~", "é" * 10, "decimal(99)", "a' or '1' = '1"),
    *("array<" * LONG, "(" * LONG, "not " * LONG, "- " * LONG, "a.value" + " + 1" * LONG, "`" * 7, "array<int" * 3),
    *sorted(POLICIES),
)

SCALARS = (
    st.sampled_from(WORDS)
    | st.text(max_size=12)
    | st.integers()
    | st.sampled_from([0, -1, 2**63, 10**400])
    | st.floats()
    | st.booleans()
    | st.sampled_from([datetime(2024, 1, 1, tzinfo=UTC), date(2024, 1, 1)])
)
NAMES = st.sampled_from(["a", "b", "c", "A", "select", "../x", "a b", "a.b", "", "password", "é"]) | st.text(max_size=5)
ANY = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


@st.composite
def parts(draw: st.DrawFn, part: ConfigPart) -> Any:
    """Values for a part of a file, most of them where they belong."""
    if draw(st.integers(0, 19)) == 0:
        return draw(ANY)
    if isinstance(part, NamedSections):
        names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
        return {name: draw(parts(part.each)) for name in names}
    if isinstance(part, Variants):
        name = draw(st.sampled_from(sorted(part.formats)))
        return {"format": name, **draw(sections(part.formats[name]))}
    return draw(sections(part))


@st.composite
def sections(draw: st.DrawFn, section: Section) -> dict[str, Any]:
    found = {
        name: draw(values(key)) for name, key in section.keys.items() if key.required or draw(st.integers(0, 2)) == 0
    }
    for name, inner in section.parts.items():
        if inner.required or draw(st.integers(0, 2)) == 0:
            found[name] = draw(parts(inner))
    for name in draw(st.lists(NAMES, max_size=2)) if section.others else ():
        found[name] = draw(ANY)
    return found


@st.composite
def values(draw: st.DrawFn, key: ConfigKey) -> Any:
    fitting: st.SearchStrategy[Any] = SCALARS | st.lists(st.sampled_from(WORDS), max_size=2)
    fitting = fitting.filter(key.kind.fits) if draw(st.integers(0, 5)) else fitting | ANY
    return draw(st.sampled_from(tuple(key.choices)) | fitting) if key.choices else draw(fitting)


def toml(value: Any) -> str:
    """A value as TOML spells it, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(name)} = {toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else repr(value)


def _text(value: str) -> str:
    return json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")


def whole(tree: Any) -> bytes:
    """A tree as a file."""
    return "\n".join(f"{_text(name)} = {toml(value)}" for name, value in tree.items()).encode()


TREES = sections(JOB).map(whole) | st.dictionaries(NAMES, ANY, max_size=4).map(whole)

GOOD = b"""
[streams.a]
time = "timestamp"
[streams.a.source]
format = "rate"
[filters.f]
on = "a"
where = "value > 1"
"""


@st.composite
def cut(draw: st.DrawFn) -> bytes:
    """A good file with something else in its middle."""
    start = draw(st.integers(0, len(GOOD)))
    return GOOD[:start] + draw(st.binary(max_size=8)) + GOOD[start + draw(st.integers(0, 8)) :]


FILES = TREES | TREES | TREES | st.binary() | cut() | st.text().map(lambda text: text.encode("utf-8", "replace"))

SETS = st.lists(
    st.text()
    | st.tuples(
        st.sampled_from(
            ["policy.name", "engine.cells", "streams.a.delay", "spark.x", "filters.f.where", "", "query.joins"]
        ),
        st.sampled_from(WORDS) | st.text(),
    ).map("=".join),
    max_size=3,
)


def read_file(content: bytes, number: int = 0, sets: tuple[str, ...] = ()) -> str:
    """Load a file: values that are frozen, or our error with its place."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.toml"
        file.write_bytes(content)
        try:
            overrides = [*map(from_command, sets), *from_spark({f"spark.eddy.{one}": "1" for one in sets})]
            job = load(file, overrides)
        except eddy.QueryError as error:
            told = str(error)
        else:
            _is_frozen(job)
            assert write_resolved(job)
            return "read"
    places = (f'config "{file}": ', "--set ", "--conf ")
    if not told.startswith(places):
        raise AssertionError(f"an error that does not say where: {told}")
    return "refused"


def _is_frozen(job: Any) -> None:
    try:
        job.policy = {}
    except dataclasses.FrozenInstanceError:
        return
    raise AssertionError("a job that can be changed")
