"""Files from somebody who means harm, or slips: values that are frozen, or our error with its place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import eddy
from eddy.jobs.config.config import load
from eddy.jobs.config.overrides import from_command
from eddy.jobs.config.references import DEEPEST_TYPE
from tests import hostile
from tests.hostile import GOOD

LONG = hostile.LONG


@settings(max_examples=150)
@given(content=hostile.FILES)
def test_any_file_is_read_or_refused(content: bytes) -> None:
    hostile.read_file(content)


@given(sets=hostile.SETS)
def test_any_override_is_taken_or_refused(sets: list[str]) -> None:
    hostile.read_file(GOOD, sets=tuple(sets))


def refused(place: Path, content: bytes, *sets: str) -> str:
    (place / "job.toml").write_bytes(content)
    with pytest.raises(eddy.QueryError) as caught:
        load(place / "job.toml", [from_command(one) for one in sets])
    return str(caught.value)


WITH_FUNCTION = GOOD.replace(b'where = "value > 1"', b'function = "users_module:f"')


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise AttributeError('no such thing')", 'module "users_module" cannot be imported: AttributeError: no such'),
        ("import sys; sys.exit(3)", 'module "users_module" cannot be imported: SystemExit: 3'),
        ("def __getattr__(name): raise ValueError(name)", 'module "users_module" cannot be imported: ValueError: f'),
        ("f = 3", 'expected "users_module:f" to be a function, got int'),
        ("def ff(): ...", 'module "users_module" has no "f"; did you mean "ff"?'),
        ("from os.path import abspath as ff\ndef other(): ...", 'has no "f"; did you mean "ff"?'),
        (
            "from pyspark.errors import PySparkRuntimeError as E\n"
            "raise E(errorClass='SESSION_OR_CONTEXT_NOT_EXISTS', messageParameters={})",
            "take the type as a class, as in pandas_udf(BooleanType()), or leave the decorator out",
        ),
    ],
)
def test_a_module_that_does_anything_when_it_is_imported_is_told(
    code: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users_module.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "users_module", raising=False)
    assert expected in refused(tmp_path, WITH_FUNCTION)


def test_functions_are_looked_for_where_python_looks_and_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After all others, and not in a folder that a path names."""
    (tmp_path / "beside").mkdir()
    (tmp_path / "users_module.py").write_text("def f(value): return value > 1")
    monkeypatch.delitem(sys.modules, "users_module", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = list(sys.path)
    assert 'no module "users_module"' in refused(tmp_path / "beside", WITH_FUNCTION)
    assert sys.path == [*before, str(tmp_path / "beside")]
    sys.path[:] = before
    for path in (str(tmp_path / "users_module"), "..users_module", ".users_module", "users_module/../x", "a;b"):
        told = refused(tmp_path, WITH_FUNCTION.replace(b"users_module", path.encode()))
        assert "expected an import path" in told
    assert sys.path == before


@pytest.mark.parametrize("name", ["../../x", "a/b", "a\\\\b", "..", "a b", "x;y", "\\u0000", "x`y"])
def test_a_name_that_would_leave_its_folder_is_refused(name: str, tmp_path: Path) -> None:
    """Names become those of Spark's queries, of folders below a checkpoint, and of columns."""
    for text in (
        f'[query]\nname = "{name}"\n'.encode() + GOOD,
        GOOD.replace(b"streams.a", f'streams."{name}"'.encode()),
        GOOD.replace(b"filters.f", f'filters."{name}"'.encode()),
        GOOD + f'[tables."{name}".source]\nformat = "workload"\nkind = "web"\n'.encode(),
        GOOD + f'[sink]\nformat = "memory"\nname = "{name}"\n'.encode(),
    ):
        assert "expected a name of letters, digits and underscores" in refused(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch x')",
        "java_method('java.lang.System', 'exit', '1') is null",
        "reflect('java.lang.Runtime', 'getRuntime') is null",
        "exec('x')",
        "value.__class__ is null",
        "(lambda: 1)()",
        "value > 1; drop table x",
        "value in (select 1)",
        "{value}",
    ],
)
def test_a_where_is_never_code(text: str, tmp_path: Path) -> None:
    """A function of Spark that runs code would be handed on to it with the rest of the text."""
    content = GOOD.replace(b"value > 1", text.encode())
    (tmp_path / "job.toml").write_bytes(content)
    try:
        (asked,) = load(tmp_path / "job.toml").query.filters
    except eddy.QueryError as error:
        told = str(error)
    else:
        with pytest.raises(eddy.QueryError) as caught:
            asked.bind({eddy.sql.Column("a", "value"): eddy.sql.parse_type("bigint", where="")})
        told = str(caught.value)
    assert 'filter "f"' in told


@pytest.mark.parametrize(
    "text", ["(" * LONG, "not " * LONG + "true", "- " * LONG + "1 = 1", "value" + " + 1" * LONG, "case " * LONG]
)
def test_a_where_without_end_is_refused(text: str, tmp_path: Path) -> None:
    told = refused(tmp_path, GOOD.replace(b"value > 1", text.encode()))
    assert "filters.f" in told
    assert len(told) < 1_500


@pytest.mark.parametrize("text", ["(" * LONG, "a.x = b.x " * 500, "a." + "x" * LONG + " > 1", "`" + "a" * LONG])
def test_a_text_without_end_is_shown_where_it_is_wrong(text: str) -> None:
    streams = [eddy.Stream(name, time="ts") for name in "ab"]
    wrong: list[dict[str, Any]] = [{"joins": [text]}, {"select": [text]}]
    for more in wrong:
        with pytest.raises(eddy.QueryError) as caught:
            eddy.Query(streams=streams, **more)
        assert len(str(caught.value)) < 1_500
    far = "x > 1 and\n" + "y > 2 or " * 500 + "= 5" + " or z > 3" * 500
    with pytest.raises(eddy.QueryError) as caught:
        eddy.Filter("f", on="a", where=far)
    *_, line, marks = str(caught.value).split("\n")
    assert line[marks.index("^")] == "="
    assert line.strip().startswith("...")
    assert line.endswith("...")


def test_a_value_without_end_is_cut_in_an_error() -> None:
    asked = eddy.Query(
        streams=[eddy.Stream("a", time="t")], filters=[eddy.Filter("f", on="a", where="cast(v as int) > 1")]
    )
    with pytest.raises(eddy.QueryError, match=r"cannot be cast to .*use try_cast") as caught:
        eddy.run_local(asked, {"a": pa.table({"t": [1], "v": ["9" * 100_000]})})
    assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("delay = 1" + "0" * 400, "line 4, streams.a.delay: expected a duration"),
        ("delay = inf", "line 4, streams.a.delay: expected a duration"),
        ("delay = 1" + "0" * LONG, "not TOML: Exceeds the limit"),
        ("delay = " + "[" * LONG + "]" * LONG, "not TOML that can be read: too many brackets"),
        ("delay = '9e999 days'", "line 4, streams.a.delay"),
    ],
)
def test_a_number_without_end_is_refused(text: str, expected: str, tmp_path: Path) -> None:
    assert expected in refused(tmp_path, GOOD.replace(b'time = "timestamp"', f'time = "timestamp"\n{text}'.encode()))


@pytest.mark.parametrize(
    "text", ['"\\x"=1', 'a."\\q"=1', "=", "a", '"=1', "a" + ".a" * LONG + "=1", "engine.cells=" + "[" * LONG]
)
def test_an_override_of_any_spelling_is_taken_or_refused(text: str) -> None:
    assert hostile.read_file(GOOD, sets=(text,)) == "refused"


@pytest.mark.parametrize("text", ["array<" * LONG + "int" + ">" * LONG, "struct<a: " * LONG + "int" + ">" * LONG])
def test_a_type_without_end_is_refused(text: str, tmp_path: Path) -> None:
    source = f'format = "csv"\npath = "."\nschema = {{ a = "{text}" }}'.encode()
    told = refused(tmp_path, GOOD.replace(b'format = "rate"', source))
    assert f"expected at most {DEEPEST_TYPE} types within types, got {LONG}" in told
