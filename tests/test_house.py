"""The house keeps its rules; every rule is also shown something that breaks it."""

from __future__ import annotations

import ast
import configparser
import importlib
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests import house
from tests.house import ROOT, Module

Rule = Callable[[Module], list[str]]

KNOWN = frozenset(module.name for module in house.modules(*house.SHIPPED, "benchmarks"))
PLACES = (*house.SHIPPED, "benchmarks", "tests", "stubs", "conf", "notebooks", "docs", ".ci")

LARGEST = 256 << 10
"""Bytes of the largest file: every clone has all of them, and whatever is larger was made by a run."""


def python(name: str, *lines: str) -> Module:
    return Module(name=name, text="\n".join(lines))


def run(name: str, *lines: str) -> ModuleType:
    """A module that is in no file."""
    module = ModuleType(name)
    exec("\n".join(lines), vars(module))
    return module


def pure() -> list[Module]:
    return [module for module in house.modules("eddy", "operators", "policies") if module.room in house.PURE]


def files() -> Iterator[tuple[str, str]]:
    """Every text file that is ours, and nothing that a person left lying about."""
    found = [path for folder in PLACES for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    root = ("*.md", "*.cfg", "*.toml", "Makefile", *house.RIVALS)
    found += [path for pattern in root for path in ROOT.glob(pattern)]
    for path in sorted(found):
        if path.is_file():
            try:
                yield str(path.relative_to(ROOT)), path.read_text("utf-8")
            except UnicodeDecodeError:
                continue


def options(path: Path = ROOT / "setup.cfg") -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    parser.read(path, encoding="utf-8")
    return parser


# --- who imports whom


def test_imports_point_one_way() -> None:
    found = house.modules(*house.SHIPPED, "benchmarks")
    assert [complaint for module in found for complaint in house.wrong_imports(module, KNOWN)] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("eddy.query.query", "import pyspark"),
        ("eddy.query.query", "from pyspark.sql import DataFrame"),
        ("eddy.query.query", "from eddy.operators.filter import Filter"),
        ("eddy.routing.router", "from eddy.policies.registry import POLICIES"),
        ("eddy.sql.text.reader", "from eddy.wiring import engine"),
        ("eddy.engine.engine", "from eddy import wiring"),
        ("eddy.engine.engine", "from eddy import Query"),
        ("eddy.observe.report", "import eddy"),
        ("eddy.query.query", "import jobs.demo"),
        ("eddy.comparison.turns", "import jobs.demo"),
        ("eddy.comparison.runner", "import pyspark"),
        ("eddy.query.query", "from eddy.comparison.compare import compare"),
        ("eddy.wiring", "from eddy.local import run_local"),
        ("eddy.local", "from eddy.operators.filter import Filter"),
        ("eddy.jobs.config.config", "import eddy.policies.fixed"),
        ("eddy.jobs.config.config", "import pyspark.sql"),
        ("eddy.spark.cell", "from eddy.policies.fixed import Fixed"),
        ("eddy.operators.filter", "from eddy.policies.fixed import Fixed"),
        ("eddy.operators.filter", "from eddy.wiring import engine"),
        ("eddy.operators.filter", "import pyspark"),
        ("eddy.policies.fixed", "from eddy.operators.filter import Filter"),
        ("eddy.policies.fixed", "def f():\n    from jobs import demo"),
        ("eddy.policies.fixed", "import eddy.spark.cell"),
        ("eddy.local", "import operators.filter"),
        ("eddy.local", "from policies import fixed"),
        ("benchmarks.filters", "from jobs.workloads import burn"),
        ("eddy.sql.values.types", "from eddy.sql.kernels import casts"),
        ("eddy.jobs.demo.racing", "from eddy.policies.fixed import Fixed"),
        ("eddy.policies.fixed", "from importlib import import_module\nimport_module('pyspark')"),
        ("eddy.policies.fixed", "import importlib as i\ni.import_module(name='eddy.operators.filter')"),
        ("eddy.query.query", "__import__('pyspark.sql')"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_found(name: str, line: str) -> None:
    assert house.wrong_imports(python(name, line), KNOWN | {"eddy.wiring", "eddy.query.query"}) != []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("eddy.engine.engine", "from eddy.tuples.lineage import Lineage"),
        ("eddy.engine.engine", "from eddy import query"),
        ("eddy.operators.filter", "import eddy.tuples.tuples"),
        ("eddy.wiring", "from eddy.policies.registry import POLICIES"),
        ("eddy.local", "from eddy import wiring"),
        ("eddy.local", "def f():\n    from eddy import wiring"),
        ("eddy.spark.cell", "from pyspark.sql import DataFrame"),
        ("eddy.jobs.demo.racing", "import eddy, pyspark"),
        ("eddy.query.query", "import re, numpy.random, sqlglot"),
    ],
)
def test_an_import_that_points_the_right_way_is_allowed(name: str, line: str) -> None:
    assert house.wrong_imports(python(name, line), KNOWN | {"eddy.wiring", "eddy.query.query"}) == []


def test_no_module_imports_itself_by_others() -> None:
    """Then any module can be the first to be imported, and a plug-in can be tried on its own."""
    assert house.import_cycles(house.modules(*house.SHIPPED)) == []


@pytest.mark.parametrize(
    "texts",
    [
        {"eddy.a": "import eddy.b", "eddy.b": "from eddy.a import x"},
        {"eddy.a": "from eddy import b", "eddy.b": "from eddy import c", "eddy.c": "from eddy import a"},
        {"eddy.a": "from eddy.b import x", "eddy.b": "from eddy.b.c import x", "eddy.b.c": "import eddy.a"},
        {"eddy.a": "try:\n    import eddy.b\nfinally: ...", "eddy.b": "import eddy.a"},
    ],
)
def test_a_cycle_of_imports_is_found(texts: dict[str, str]) -> None:
    assert len(house.import_cycles(python(name, text) for name, text in texts.items())) == 1


@pytest.mark.parametrize(
    "texts",
    [
        {"eddy.a": "import eddy.b", "eddy.b": "def f():\n    import eddy.a"},
        {"eddy.a": "import eddy.b", "eddy.b": "if TYPE_CHECKING:\n    import eddy.a"},
        {"eddy.b": "from eddy.b.c import x", "eddy.b.c": "import eddy.d", "eddy.d": "import re"},
    ],
)
def test_what_is_imported_later_or_never_makes_no_cycle(texts: dict[str, str]) -> None:
    assert house.import_cycles(python(name, text) for name, text in texts.items()) == []


def test_nobody_calls_a_folder_of_ours_by_its_short_name() -> None:
    """The texts say what is imported, too: a job's file, an example, a notebook. What has been stays as it was."""
    users = {"tests/test_house.py", "tests/jobs/test_own_folders.py", "CHANGELOG.md"}
    found = [(name, text) for name, text in files() if name not in users]
    assert [complaint for name, text in found for complaint in house.short_names(name, text)] == []


@pytest.mark.parametrize(
    "line",
    [
        "from jobs.demo import racing",
        "from jobs import demo",
        "import jobs",
        'function = "jobs.web:bad_token"',
        "python -m jobs.cli",
        "    import jobs.demo",
    ],
)
def test_a_short_name_in_a_text_is_found(line: str) -> None:
    assert len(house.short_names("docs/x.md", f"before\n{line}\nafter")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "from eddy.jobs.demo import racing",
        "spark-submit jobs/run_stream.py conf/quickstart.toml",
        'function = "eddy.jobs.workloads.web:bad_token"',
        "the jobs: each is a file",
        "import jobsy",
    ],
)
def test_a_full_name_in_a_text_is_allowed(line: str) -> None:
    assert house.short_names("docs/x.md", line) == []


# --- registries


@pytest.mark.parametrize("kind", house.KINDS)
def test_every_plug_in_is_registered(kind: str) -> None:
    table = house.KINDS[kind][1]
    name = f"eddy.{kind.replace('/', '.')}.registry"
    listed = getattr(importlib.import_module(name), table)
    assert house.unregistered([importlib.import_module(m.name) for m in house.modules(kind)], listed, kind) == []
    assert house.loose_registry(Module(name=name, text=(ROOT / kind / "registry.py").read_text("utf-8")), table) == []
    assert listed
    assert all(isinstance(entry, type) for entry in listed.values())


GREEDY = ("class Greedy:", "    def plan(self, task, ready): ...")


@pytest.mark.parametrize(
    "lines",
    [
        GREEDY,
        ("from eddy.policies.fixed import Fixed", "class Greedy(Fixed): ..."),
        ("class _Base:", "    def plan(self): ...", "class Greedy(_Base): ..."),
        ("class Greedy:", "    plan = lambda self, task, ready: []"),
    ],
)
def test_an_unregistered_plug_in_is_found(lines: tuple[str, ...]) -> None:
    module = run("eddy.policies.shared.merit", *lines)
    assert len(house.unregistered([module], {}, "policies")) == 1
    assert house.unregistered([module], {"greedy": module.Greedy}, "policies") == []


@pytest.mark.parametrize(
    "lines",
    [
        ("class Merit:", "    def best(self): ..."),
        ("class _Base:", "    def plan(self, task, ready): ..."),
        ("from eddy.policies.fixed import Fixed",),
        ("from typing import Protocol", "class Planner(Protocol):", "    def plan(self): ..."),
        ("import abc", "class Planner(abc.ABC):", "    @abc.abstractmethod", "    def plan(self): ..."),
    ],
)
def test_what_is_no_plug_in_needs_no_registry(lines: tuple[str, ...]) -> None:
    assert house.unregistered([run("eddy.policies.shared.merit", *lines)], {}, "policies") == []


@pytest.mark.parametrize(
    "lines",
    [
        ("POLICIES = dict(a=A)",),
        ("OTHERS = {}",),
        ("POLICIES = {'a': partial(A)}",),
        ("POLICIES = {'a': A, **extra()}",),
        ("POLICIES = {A.name: A}",),
        ("POLICIES = {'a': A}", "POLICIES.update(b=A)"),
        ("POLICIES = {'a': A}", "POLICIES = {}"),
        ("POLICIES = {'a': A}", "globals()['POLICIES']['b'] = A"),
        ("class B: ...", "POLICIES = {'b': B}"),
    ],
)
def test_a_registry_that_is_no_literal_dict_is_found(lines: tuple[str, ...]) -> None:
    assert (
        house.loose_registry(python("eddy.policies.registry", "from eddy.policies.a import A", *lines), "POLICIES")
        != []
    )


def test_a_registry_that_is_a_literal_dict_is_allowed() -> None:
    lines = ('"""Says."""', "from eddy.policies.a import A", "POLICIES: dict[str, type] = {'a': A}", '"""Says more."""')
    assert house.loose_registry(python("eddy.policies.registry", *lines), "POLICIES") == []


# --- what the code may do


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (house.code_from_data, list(house.modules("eddy", "operators", "policies"))),
        (house.clocks_and_chance, pure()),
        (house.registry_changes, list(house.modules(*house.SHIPPED, "benchmarks"))),
        (house.long_functions, list(house.modules(*house.SHIPPED))),
        (house.long_file, list(house.modules(*house.SHIPPED))),
        (house.untyped_spots, list(house.modules(*house.SHIPPED, "benchmarks", "tests"))),
        (house.untyped_spots, list(house.modules("stubs", suffix=".pyi"))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_code_keeps_the_rule(rule: Rule, found: list[Module]) -> None:
    assert found
    assert [complaint for module in found for complaint in rule(module)] == []


def test_a_function_is_short_as_a_rule() -> None:
    assert house.typical_function(house.modules(*house.SHIPPED)) < house.TYPICAL_FUNCTION


def test_the_length_of_a_typical_function_is_the_median() -> None:
    modules = [
        python("eddy.a", "def f(): ...", "def g():", "    ..."),
        python("eddy.b", "def h():", *["    x = 1"] * 9),
    ]
    assert house.typical_function(modules) == 2


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (house.code_from_data, "eddy.engine.snapshot", "import pickle"),
        (house.code_from_data, "eddy.engine.snapshot", "from pickle import loads"),
        (house.code_from_data, "eddy.operators.filter", "import cloudpickle"),
        (house.code_from_data, "eddy.spark.cell", "import pickle"),
        (house.code_from_data, "eddy.sql", "x = eval('1')"),
        (house.code_from_data, "eddy.jobs.config.config", "exec(text)"),
        (house.code_from_data, "eddy.engine.snapshot", "np.load(file, allow_pickle=True)"),
        (house.code_from_data, "eddy.engine.snapshot", "import numpy as np\nnp.load(file, None, True)"),
        (house.code_from_data, "eddy.policies.fixed", "pd.read_pickle(file)"),
        (house.code_from_data, "eddy.sql", "import builtins as b\nb.eval('1')"),
        (house.code_from_data, "eddy.sql", "from builtins import eval as run"),
        (house.code_from_data, "eddy.sql", "list(map(eval, texts))"),
        (house.code_from_data, "eddy.sql", "frame.eval('a + b')"),
        (house.code_from_data, "eddy.sql", "frames[0].query(expr=text)"),
        (house.code_from_data, "eddy.sql", "import pandas as pd\npd.eval(text)"),
        (house.code_from_data, "eddy.engine.snapshot", "import importlib\nimportlib.import_module('pickle')"),
        (house.code_from_data, "eddy.engine.snapshot", "from pyspark import cloudpickle"),
        (house.clocks_and_chance, "eddy.routing.router", "import time"),
        (house.clocks_and_chance, "eddy.policies.lottery", "import random"),
        (house.clocks_and_chance, "eddy.policies.lottery", "from random import choice"),
        (house.clocks_and_chance, "eddy.policies.lottery", "import numpy as np\nnp.random.shuffle(rows)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "import numpy\ndraw = numpy.random.random"),
        (house.clocks_and_chance, "eddy.policies.lottery", "g = np.random.default_rng()"),
        (house.clocks_and_chance, "eddy.policies.lottery", "from numpy.random import rand"),
        (house.clocks_and_chance, "eddy.policies.lottery", "from numpy.random import *"),
        (house.clocks_and_chance, "eddy.policies.lottery", "from numpy import random as r\nr.rand(3)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "from numpy.random import default_rng\ng = default_rng()"),
        (house.clocks_and_chance, "eddy.policies.lottery", "g = np.random.default_rng(None)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "g = np.random.default_rng(seed=None)"),
        (
            house.clocks_and_chance,
            "eddy.policies.lottery",
            "import numpy as np\nf = field(default_factory=np.random.default_rng)",
        ),
        (house.clocks_and_chance, "eddy.policies.lottery", "import pyarrow.compute as pc\npc.random(3)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "import pyarrow as pa\npa.compute.random(3)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "frame.sample(3)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "frame.sample(3, random_state=None)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "import os\nos.urandom(8)"),
        (house.clocks_and_chance, "eddy.policies.lottery", "from os import urandom"),
        (
            house.clocks_and_chance,
            "eddy.policies.lottery",
            "from importlib import import_module\nimport_module('random')",
        ),
        (house.clocks_and_chance, "eddy.engine.engine", "n = pd.Timestamp('now')"),
        (house.clocks_and_chance, "eddy.engine.engine", "n = datetime.now()"),
        (house.clocks_and_chance, "eddy.engine.engine", "n = pd.Timestamp.now(tz='UTC')"),
        (house.clocks_and_chance, "eddy.engine.engine", "n = datetime.date.today()"),
        (house.long_functions, "eddy.engine.engine", "def f():\n" + "    x = 1\n" * house.LONGEST_FUNCTION),
        (house.untyped_spots, "eddy.engine.engine", "x: int = ''  # type" + ": ignore[assignment]"),
        (house.untyped_spots, "eddy.engine.engine", "x: int = ''  # noqa: E501  # type" + ":ignore"),
        (house.untyped_spots, "eddy.engine.engine", "# mypy" + ": ignore-errors"),
        (house.untyped_spots, "eddy.engine.engine", "import typing\n@typing.no_type_check\ndef f(): ..."),
        (house.untyped_spots, "eddy.engine.engine", "from typing import no_type_check as free"),
        (house.long_file, "eddy.engine.engine", "x = 1\n" * (house.LONGEST_FILE + 1)),
        (house.registry_changes, "eddy.wiring", "from eddy.policies.registry import POLICIES as p\np['new'] = New"),
        (
            house.registry_changes,
            "eddy.wiring",
            "from eddy.policies.registry import POLICIES\nPOLICIES.update(new=New)",
        ),
        (
            house.registry_changes,
            "eddy.wiring",
            "from eddy.policies import registry\nregistry.POLICIES |= {'new': New}",
        ),
        (house.registry_changes, "eddy.wiring", "from eddy.policies.registry import POLICIES\ndel POLICIES['fixed']"),
    ],
)
def test_code_that_breaks_the_rule_is_found(rule: Rule, name: str, text: str) -> None:
    assert len(rule(python(name, text))) == 1


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (house.code_from_data, "eddy.spark.cell", "import cloudpickle"),
        (house.code_from_data, "eddy.sql", "p = re.compile('x')"),
        (house.code_from_data, "eddy.sql", "bound.evaluate(columns, rows); workload.query(); eval_rows(x)"),
        (house.code_from_data, "eddy.engine.snapshot", "np.load(file, allow_pickle=False)"),
        (house.clocks_and_chance, "eddy.policies.random", "from eddy.policies.random import Random"),
        (house.clocks_and_chance, "eddy.engine.engine", "g = np.random.default_rng([seed, cell])"),
        (house.clocks_and_chance, "eddy.engine.engine", "def f(g: np.random.Generator, now: int): return now"),
        (
            house.clocks_and_chance,
            "eddy.engine.engine",
            "from numpy.random import Generator\ndef f(g: Generator): g.random(3)",
        ),
        (house.clocks_and_chance, "eddy.engine.engine", "frame.sample(3, random_state=seed)"),
        (
            house.registry_changes,
            "eddy.wiring",
            "from eddy.policies.registry import POLICIES\nfound = POLICIES['fixed']",
        ),
        (house.untyped_spots, "eddy.engine.engine", "x = '# type" + ": ignore'"),
        (house.long_functions, "eddy.engine.engine", "def f():\n" + "    x = 1\n" * (house.LONGEST_FUNCTION - 1)),
    ],
)
def test_code_that_keeps_the_rule_is_allowed(rule: Rule, name: str, text: str) -> None:
    assert rule(python(name, text)) == []


# --- folders and files


def test_no_folder_is_crowded() -> None:
    assert house.crowded_folders(house.modules(*house.SHIPPED)) == []


def test_a_crowded_folder_is_found() -> None:
    several = [python(f"eddy.query.m{number}") for number in range(house.MOST_FILES + 1)]
    assert len(house.crowded_folders(several)) == 1
    assert house.crowded_folders(several[1:]) == []
    assert house.crowded_folders([*several[1:], Module(name="eddy.query.inner", text="", is_init=True)]) == []


def test_a_small_file_has_several_importers_or_a_reason() -> None:
    assert house.small_files(house.modules(*house.SHIPPED), house.SMALL_ON_PURPOSE) == []
    assert all(house.SMALL_ON_PURPOSE.values())


def test_a_small_file_with_one_importer_is_found() -> None:
    small, large = python("eddy.a"), python("eddy.b", *["x = 1"] * house.SMALL_FILE)
    user = python("eddy.c", "from eddy import a", "from eddy.b import x")
    assert len(house.small_files([small, large, user], ())) == 1
    assert house.small_files([small, large, user], ["eddy.a"]) == []
    assert house.small_files([small, user, python("eddy.d", "import eddy.a")], ()) == []
    assert house.small_files([python("eddy.registry", "from eddy import a"), small], ()) == []
    assert len(house.small_files([large, user], ["eddy.b"])) == 1


def test_the_table_has_every_room_and_every_file() -> None:
    found = list(house.modules(*house.SHIPPED, "benchmarks"))
    _, *rows = house.room_table(found)
    assert [row[0] for row in rows] == list(house.ROOMS)
    assert sum(int(row[1]) for row in rows) == len(found)


def test_an_init_holds_no_logic() -> None:
    found = [
        path for folder in (*house.SHIPPED, "benchmarks", "tests") for path in (ROOT / folder).rglob("__init__.py")
    ]
    assert [c for path in found for c in house.logic_in_init(python(str(path), path.read_text("utf-8")))] == []


@pytest.mark.parametrize("text", ["import re", '"""Says."""\nX = 1', '"""Says."""\ndef f(): ...', ""])
def test_an_init_with_logic_is_found(text: str) -> None:
    assert house.logic_in_init(python("eddy", text)) != []


def test_every_folder_of_python_files_is_a_package() -> None:
    folders = {
        path.parent for folder in (*house.SHIPPED, "benchmarks", "tests") for path in (ROOT / folder).rglob("*.py")
    }
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_no_file_knows_a_machine() -> None:
    assert {"Makefile", "CONTRIBUTING.md", ".ci/run", "tests/test_house.py"} <= {name for name, _ in files()}
    assert [complaint for name, text in files() for complaint in house.machine_paths(name, text)] == []


@pytest.mark.parametrize(
    "parts", [["", "home", "ann", "x"], ["'", "tmp", "x'"], ["(", "Users", "ann)"], ["", "root", "x"]]
)
def test_a_path_of_a_machine_is_found(parts: list[str]) -> None:
    assert len(house.machine_paths("conf/x.toml", "/".join(parts))) == 1


@pytest.mark.parametrize(
    "text", ["https://x.org/home/y", "docs/home/x", "~/tmp/x", "$HOME/work/x", "#!/usr/bin/env bash"]
)
def test_other_paths_are_allowed(text: str) -> None:
    assert house.machine_paths("conf/x.toml", text) == []


def test_the_settings_are_where_everybody_looks() -> None:
    assert [complaint for name, text in files() for complaint in house.rival_settings(name, text)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, "") for name in sorted(house.RIVALS)),
        ("tests/mypy.ini", ""),
        ("eddy/ruff.toml", ""),
        ("jobs/pyproject.toml", ""),
        ("pyproject.toml", "[build-system]\nrequires = []\n[tool.pytest.ini_options]\naddopts = []"),
    ],
)
def test_settings_that_would_win_over_ours_are_found(name: str, text: str) -> None:
    assert len(house.rival_settings(name, text)) == 1


@pytest.mark.parametrize("name", ["setup.cfg", "ruff.toml", "pyproject.toml", "docs/notes.toml"])
def test_our_settings_are_allowed(name: str) -> None:
    assert house.rival_settings(name, "[build-system]\nrequires = []") == []


@pytest.mark.parametrize(
    "module", ["eddy", "eddy.query.query", "eddy.operators.filter", "eddy.jobs.demo.racing", "tests.test_house"]
)
def test_a_warning_that_we_cause_is_an_error(module: str) -> None:
    with pytest.raises(FutureWarning, match="soon gone"):
        warnings.warn_explicit("soon gone", FutureWarning, "a.py", 1, module=module)


@pytest.mark.parametrize("module", ["pyspark.sql.pandas.types", "pandas.core.frame", "eddystone.query", "test_house"])
def test_a_warning_inside_of_a_dependency_is_none(module: str) -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.warn_explicit("soon gone", FutureWarning, "a.py", 1, module=module)
    assert [str(warning.message) for warning in shown] == ["soon gone"]


def test_a_warning_of_the_tests_machinery_is_an_error() -> None:
    with pytest.raises(pytest.PytestUnraisableExceptionWarning):
        warnings.warn_explicit("x", pytest.PytestUnraisableExceptionWarning, "a.py", 1, module="_pytest.x")


# --- what the project says of itself


def test_the_change_log_and_the_package_agree_on_the_version() -> None:
    version = options()["metadata"]["version"]
    assert house.changelog_version((ROOT / "CHANGELOG.md").read_text("utf-8")) == version


def test_a_change_log_without_a_version_is_found() -> None:
    assert house.changelog_version("# Changelog\n\n## Unreleased\n") == ""


def test_the_type_checker_has_no_opt_outs() -> None:
    parser = options()
    assert [section for section in parser.sections() if section.startswith("mypy")] == ["mypy"]
    assert parser["mypy"].getboolean("strict")
    assert set(parser["mypy"]) == {"strict", "enable_error_code", "mypy_path", "files"}


def _declared(stub: ast.Module) -> set[str]:
    """The public names that a stub declares."""
    targets = [node.target for node in stub.body if isinstance(node, ast.AnnAssign)]
    assigned = [target for node in stub.body if isinstance(node, ast.Assign) for target in node.targets]
    names = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    names |= {target.id for target in (*targets, *assigned) if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("path", sorted((ROOT / "stubs").rglob("*.pyi")), ids=lambda path: path.stem)
def test_the_stubs_declare_only_what_exists(path: Path) -> None:
    parts = path.relative_to(ROOT / "stubs").with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    assert sorted(name for name in _declared(ast.parse(path.read_text("utf-8"))) if not hasattr(module, name)) == []


@pytest.mark.process
def test_no_file_of_the_repository_is_large() -> None:
    """A program's leftovers of 800 MB came in once, with a change of ten lines."""
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if asked.returncode:
        pytest.skip(f"git does not tell which files there are: {asked.stderr.strip()}")
    found = [ROOT / name for name in asked.stdout.split("\0") if name]
    assert found
    assert [str(path) for path in found if path.is_file() and path.stat().st_size > LARGEST] == []
