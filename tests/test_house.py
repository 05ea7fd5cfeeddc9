"""The house keeps its rules; every rule is also shown something that breaks it."""

from __future__ import annotations

import ast
import configparser
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import house
from tests.house import ROOT, Module

Rule = Callable[[Module], list[str]]

KNOWN = frozenset(module.name for module in house.modules("eddy", "operators", "policies", "jobs", "benchmarks"))
PLACES = (*house.SHIPPED, "benchmarks", "tests", "stubs", "conf", "notebooks", "docs", ".ci")


def python(name: str, *lines: str) -> Module:
    return Module(name=name, text="\n".join(lines))


def pure() -> list[Module]:
    return [module for module in house.modules("eddy", "operators", "policies") if module.room in house.PURE]


def files() -> Iterator[tuple[str, str]]:
    """Every text file that is ours, and nothing that a person left lying about."""
    found = [path for folder in PLACES for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    found += [path for pattern in ("*.md", "*.cfg", "*.toml", "Makefile") for path in ROOT.glob(pattern)]
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


@pytest.mark.parametrize("module", list(house.modules(*house.SHIPPED, "benchmarks")), ids=lambda module: module.name)
def test_imports_point_one_way(module: Module) -> None:
    assert house.wrong_imports(module, KNOWN) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("eddy.query", "import pyspark"),
        ("eddy.query", "from pyspark.sql import DataFrame"),
        ("eddy.query", "from operators.filter import Filter"),
        ("eddy.router", "from policies.registry import POLICIES"),
        ("eddy.sql.reader", "from eddy.wiring import engine"),
        ("eddy.engine", "from eddy import wiring"),
        ("eddy.engine", "from eddy import Query"),
        ("eddy.report", "import eddy"),
        ("eddy.query", "import jobs.demo"),
        ("eddy.wiring", "from eddy.local import run_local"),
        ("eddy.local", "from operators.filter import Filter"),
        ("eddy.config", "import policies.fixed"),
        ("eddy.config", "import pyspark.sql"),
        ("eddy.spark.cell", "from policies.fixed import Fixed"),
        ("operators.filter", "from policies.fixed import Fixed"),
        ("operators.filter", "from eddy.wiring import engine"),
        ("operators.filter", "import pyspark"),
        ("policies.fixed", "from operators.filter import Filter"),
        ("policies.fixed", "def f():\n    from jobs import demo"),
        ("policies.fixed", "import eddy.spark.cell"),
        ("jobs.demo", "from policies.fixed import Fixed"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_found(name: str, line: str) -> None:
    assert house.wrong_imports(python(name, line), KNOWN | {"eddy.wiring", "eddy.query"}) != []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("eddy.engine", "from eddy.lineage import Lineage"),
        ("eddy.engine", "from eddy import query"),
        ("operators.filter", "import eddy.tuples"),
        ("eddy.wiring", "from policies.registry import POLICIES"),
        ("eddy.local", "from eddy import wiring"),
        ("eddy.spark.cell", "from pyspark.sql import DataFrame"),
        ("jobs.demo", "import eddy, pyspark"),
        ("eddy.query", "import re, numpy.random, sqlglot"),
    ],
)
def test_an_import_that_points_the_right_way_is_allowed(name: str, line: str) -> None:
    assert house.wrong_imports(python(name, line), KNOWN | {"eddy.wiring", "eddy.query"}) == []


# --- registries


@pytest.mark.parametrize("kind", [kind for kind in house.KINDS if (ROOT / kind).is_dir()])
def test_every_plug_in_is_registered(kind: str) -> None:
    name = f"{kind.replace('/', '.')}.registry"
    registry = Module(name=name, text=(ROOT / kind / "registry.py").read_text("utf-8"))
    assert house.unregistered(house.modules(kind), registry, kind) == []
    assert house.registered(registry, house.KINDS[kind][1])
    for module, class_name in house.registered(registry, house.KINDS[kind][1]):
        assert isinstance(getattr(importlib.import_module(module), class_name), type)


def test_an_unregistered_plug_in_is_found() -> None:
    plug_in = python("policies.greedy", "class Greedy:", "    def plan(self, task, ready): ...")
    helper = python(
        "policies.merit", "class Merit:", "    def best(self): ...", "class _Base:", "    def plan(self): ..."
    )
    empty = python("policies.registry", "POLICIES = {}")
    full = python("policies.registry", "from policies.greedy import Greedy", "POLICIES: dict = {'greedy': Greedy}")
    assert len(house.unregistered([plug_in, helper], empty, "policies")) == 1
    assert house.unregistered([plug_in, helper], full, "policies") == []


@pytest.mark.parametrize("text", ["POLICIES = dict(a=1)", "OTHERS = {}"])
def test_a_registry_that_is_no_literal_dict_is_found(text: str) -> None:
    with pytest.raises(AssertionError, match="literal dict"):
        house.registered(python("policies.registry", text), "POLICIES")


# --- what the code may do


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (house.code_from_data, list(house.modules("eddy", "operators", "policies"))),
        (house.clocks_and_chance, pure()),
        (house.long_functions, list(house.modules(*house.SHIPPED))),
        (house.untyped_spots, list(house.modules(*house.SHIPPED))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_code_keeps_the_rule(rule: Rule, found: list[Module]) -> None:
    assert [complaint for module in found for complaint in rule(module)] == []


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (house.code_from_data, "eddy.snapshot", "import pickle"),
        (house.code_from_data, "eddy.snapshot", "from pickle import loads"),
        (house.code_from_data, "operators.filter", "import cloudpickle"),
        (house.code_from_data, "eddy.spark.cell", "import pickle"),
        (house.code_from_data, "eddy.sql", "x = eval('1')"),
        (house.code_from_data, "eddy.config", "exec(text)"),
        (house.code_from_data, "eddy.snapshot", "np.load(file, allow_pickle=True)"),
        (house.code_from_data, "policies.fixed", "pd.read_pickle(file)"),
        (house.clocks_and_chance, "eddy.router", "import time"),
        (house.clocks_and_chance, "policies.lottery", "import random"),
        (house.clocks_and_chance, "policies.lottery", "from random import choice"),
        (house.clocks_and_chance, "policies.lottery", "np.random.shuffle(rows)"),
        (house.clocks_and_chance, "policies.lottery", "draw = np.random.random"),
        (house.clocks_and_chance, "policies.lottery", "g = np.random.default_rng()"),
        (house.clocks_and_chance, "eddy.engine", "n = datetime.now()"),
        (house.clocks_and_chance, "eddy.engine", "n = pd.Timestamp.now(tz='UTC')"),
        (house.clocks_and_chance, "eddy.engine", "n = datetime.date.today()"),
        (house.long_functions, "eddy.engine", "def f():\n" + "    x = 1\n" * house.LONGEST_FUNCTION),
        (house.untyped_spots, "eddy.engine", "x: int = ''  # type" + ": ignore[assignment]"),
        (house.untyped_spots, "eddy.engine", "# mypy" + ": ignore-errors"),
    ],
)
def test_code_that_breaks_the_rule_is_found(rule: Rule, name: str, text: str) -> None:
    assert len(rule(python(name, text))) == 1


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (house.code_from_data, "eddy.spark.cell", "import cloudpickle"),
        (house.code_from_data, "eddy.sql", "p = re.compile('x')"),
        (house.clocks_and_chance, "policies.random", "from policies.random import Random"),
        (house.clocks_and_chance, "eddy.engine", "g = np.random.default_rng([seed, cell])"),
        (house.clocks_and_chance, "eddy.engine", "def f(g: np.random.Generator, now: int): return now"),
        (house.long_functions, "eddy.engine", "def f():\n" + "    x = 1\n" * (house.LONGEST_FUNCTION - 1)),
    ],
)
def test_code_that_keeps_the_rule_is_allowed(rule: Rule, name: str, text: str) -> None:
    assert rule(python(name, text)) == []


# --- folders and files


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
