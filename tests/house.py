"""The rules of the house, each a function from a file to complaints.

`tests/test_house.py` runs every rule over the tree, and on an example that breaks it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Who may import whom (design.md, section 3). What is not a room of ours, and is not pyspark, anyone may import.
ALLOWED: Mapping[str, Set[str]] = {
    "core": {"core"},
    "operators": {"operators", "core"},
    "policies": {"policies", "core"},
    "wiring": {"wiring", "operators", "policies", "core"},
    "config": {"config", "wiring", "core"},
    "local": {"local", "wiring", "core"},
    "spark": {"spark", "config", "wiring", "core", "pyspark"},
    "eddy": {"eddy", "spark", "config", "local", "wiring", "core"},
    "jobs": {"jobs", "eddy", "spark", "config", "local", "wiring", "core", "pyspark"},
    "benchmarks": {"benchmarks", "jobs", "eddy", "spark", "config", "local", "wiring", "core", "pyspark"},
}
SHIPPED = ("eddy", "operators", "policies", "jobs")
PURE = ("core", "operators", "policies")

# A room's plug-ins: the method that only a plug-in has, and the dict that must list it.
KINDS = {
    "operators": ("run", "OPERATORS"),
    "operators/index": ("search", "INDEXES"),
    "policies": ("plan", "POLICIES"),
}

LONGEST_FUNCTION = 40  # style.md, habit 10
SEEDED = {"BitGenerator", "Generator", "PCG64", "Philox", "SeedSequence", "default_rng"}
CLOCKS = {"now", "today", "utcnow"}
UNPICKLERS = {"dill", "joblib", "marshal", "pickle", "shelve"}

# Written so that it does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.:/~$}])/(?:home|Users|root|tmp|work|mnt|private)/\w|\b[A-Z]:\\\w")


@dataclass(frozen=True, kw_only=True)
class Module:
    """One python file: its dotted name and its text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        return room(self.name)


def room(module: str) -> str:
    """The room of a dotted name; "" for what is not ours.

    >>> [room(name) for name in ("eddy.query", "eddy.sql.reader", "eddy.wiring", "eddy.spark.cell", "eddy", "re")]
    ['core', 'core', 'wiring', 'spark', 'eddy', '']
    """
    top, _, rest = module.partition(".")
    if top != "eddy":
        return top if top in ALLOWED or top == "pyspark" else ""
    inner = rest.partition(".")[0]
    if not inner:
        return "eddy"
    return inner if inner in ALLOWED else "core"


def modules(*folders: str) -> Iterator[Module]:
    """The python files of some folders of the tree."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield Module(name=".".join(parts[:-1] if parts[-1] == "__init__" else parts), text=path.read_text("utf-8"))


def imports(module: Module, known: Set[str]) -> Iterator[tuple[int, str]]:
    """What a module imports; `from eddy import query` is an import of `eddy.query` where that is a module."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield node.lineno, inner if inner in known else node.module


def wrong_imports(module: Module, known: Set[str] = frozenset()) -> list[str]:
    """Imports that point the wrong way."""
    return [
        f"{module.name}:{line}: {module.room} may not import {target}"
        for line, target in imports(module, known)
        if room(target) and room(target) not in ALLOWED[module.room]
    ]


def plugins(module: Module, method: str) -> Iterator[tuple[str, str]]:
    """The (module, class) of every public class that has a plug-in's method."""
    for node in module.tree.body:
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if any(isinstance(part, ast.FunctionDef) and part.name == method for part in node.body):
            yield module.name, node.name


def registered(registry: Module, table: str) -> set[tuple[str, str]]:
    """The (module, class) of every entry of a registry, which must be one literal dict of names."""
    origin = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in registry.tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in registry.tree.body:
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name) and target.id == table and isinstance(node, ast.Assign | ast.AnnAssign):
            if not isinstance(node.value, ast.Dict):
                break
            return {origin[value.id] for value in node.value.values if isinstance(value, ast.Name)}
    raise AssertionError(f"{registry.name}: {table} must be one literal dict")


def unregistered(found: Iterable[Module], registry: Module, kind: str) -> list[str]:
    """Plug-ins that their registry does not list."""
    method, table = KINDS[kind]
    known = registered(registry, table)
    return [
        f"{name}: {class_name} has {method}() and is not in {registry.name}.{table}"
        for module in found
        for name, class_name in plugins(module, method)
        if (name, class_name) not in known
    ]


def _dotted(node: ast.expr) -> str:
    """The dotted name that an expression spells, or "".

    >>> _dotted(ast.parse("np.random.seed(1)").body[0].value.func)
    'np.random.seed'
    """
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else f"?.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _calls(module: Module) -> Iterator[tuple[ast.Call, list[str]]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and (name := _dotted(node.func)):
            yield node, name.split(".")


def code_from_data(module: Module) -> list[str]:
    """Places where data could become code: unpickling, eval, exec.

    cloudpickle carries the user's own functions to the executors, and only the Spark room does that.
    """
    banned = UNPICKLERS if module.room == "spark" else UNPICKLERS | {"cloudpickle"}
    complaints = [
        f"{module.name}:{line}: imports {name}"
        for line, name in imports(module, frozenset())
        if name.split(".")[0] in banned
    ]
    for node, parts in _calls(module):
        loads_pickles = any(word.arg == "allow_pickle" for word in node.keywords) or parts[-1] == "read_pickle"
        if parts in (["eval"], ["exec"]) or loads_pickles:
            complaints.append(f"{module.name}:{node.lineno}: calls {'.'.join(parts)}")
    return complaints


def clocks_and_chance(module: Module) -> list[str]:
    """Places that read a clock or an unseeded generator; both come in from outside."""
    found = [
        (line, f"imports {name}")
        for line, name in imports(module, frozenset())
        if name.split(".")[0] in {"random", "secrets", "time", "uuid"}
    ]
    found += [
        (node.lineno, f"uses the global np.random.{node.attr}")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and _dotted(node.value) in {"np.random", "numpy.random"}
        if node.attr not in SEEDED
    ]
    found += [
        (node.lineno, f"calls {'.'.join(parts)} with nothing from outside")
        for node, parts in _calls(module)
        if (len(parts) > 1 and parts[-1] in CLOCKS) or (parts[-1] in SEEDED and not node.args and not node.keywords)
    ]
    return [f"{module.name}:{line}: {text}" for line, text in found]


def logic_in_init(module: Module) -> list[str]:
    """Statements of an `__init__.py` that are not its docstring, imports or `__all__`."""
    complaints = [] if ast.get_docstring(module.tree) else [f"{module.name}: says not what the folder is for"]
    for node in module.tree.body[1:]:
        names_all = isinstance(node, ast.Assign) and [_dotted(target) for target in node.targets] == ["__all__"]
        if not isinstance(node, ast.Import | ast.ImportFrom) and not names_all:
            complaints.append(f"{module.name}:{node.lineno}: an __init__.py holds no logic")
    return complaints


def long_functions(module: Module) -> list[str]:
    """Functions that do not fit on half a screen."""
    return [
        f"{module.name}:{node.lineno}: {node.name} has {length} lines; at most {LONGEST_FUNCTION}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]


def untyped_spots(module: Module) -> list[str]:
    """Comments that turn the type checker off."""
    return [
        f"{module.name}:{number}: {line.strip()}"
        for number, line in enumerate(module.text.splitlines(), start=1)
        if re.search(r"#\s*(type:\s*ignore|mypy:)", line)
    ]


def machine_paths(name: str, text: str) -> list[str]:
    """Absolute paths that exist on somebody's machine only."""
    return [
        f"{name}:{number}: {line.strip()}"
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]


def changelog_version(text: str) -> str:
    """The version that the newest heading of the change log stands for.

    >>> changelog_version("## [Unreleased] - 1.2.0.dev0"), changelog_version("## [1.1.0] - 2026-01-31")
    ('1.2.0.dev0', '1.1.0')
    """
    heading = re.search(r"^## \[(.+?)\] - (\S+)$", text, flags=re.MULTILINE)
    if heading is None:
        return ""
    return heading[2] if heading[1] == "Unreleased" else heading[1]
