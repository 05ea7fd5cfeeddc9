"""The rules of the house, each a function from a file to complaints.

`tests/test_house.py` runs every rule over the tree, and on an example that breaks it. `python -m tests.house` prints
the rooms in their order.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import statistics
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent

# The rooms, in order: a room imports itself and the rooms before it. A room is a folder, or a file that stands alone.
ROOMS = (
    *("requirements", "version", "errors", "plug_ins", "redaction", "tuples", "kernels"),
    *("sql.values", "sql.kernels", "sql.bind", "sql.text", "sql"),
    *("classes", "observe", "contracts", "predicates", "query", "taps"),
    "operators",
    *("policies.shared", "policies.matrix", "policies.content", "policies.caching"),
    *("policies.query_mesh.learn", "policies.query_mesh.search", "policies.query_mesh", "policies.auto", "policies"),
    *("routing", "engine", "wiring", "clocks", "live_line", "local"),
    *("spark.layout", "spark", "frame_columns", "where", "accessor", "comparison", "eddy"),
    *(
        "jobs.dist",
        "jobs.workloads",
        "jobs.config",
        "jobs.sources",
        "jobs.run",
        "jobs.comparison",
        *(f"jobs.experiments.{part}" for part in ("flights", "public_data", "workloads")),
        "jobs.experiments",
        "jobs.demo",
    ),
    *("jobs.commands", "jobs"),
    "benchmarks",
)
# Nobody knows a concrete plug-in but its own kind, and the one file that puts an engine together.
PLUG_INS = ("operators", "policies")
COMPOSER = "wiring"
# Spark is known here, and in no other room.
WITH_SPARK = ("spark", "accessor", "jobs", "benchmarks")
# A job's file is read, and told about, before there is Spark.
BEFORE_SPARK = ("jobs.config",)
# No clock, no chance of their own: everything that an engine is made of.
PURE = ROOMS[: ROOMS.index(COMPOSER)]

# The folders of rooms that stand at the top of the repository and are imported as `eddy.operators` and so on.
LINKED = ("operators", "policies", "jobs")
SHIPPED = ("eddy", *LINKED)
# A room of ours by its short name, which may be the name of a user's own folder: nobody imports it so.
OUTSIDE_OF_EDDY = "short name"

MOST_FILES = 16
SMALL_FILE = 40
# A small file with one importer is a piece of that one's file, unless there is a reason.
SMALL_ON_PURPOSE: Mapping[str, str] = {
    "eddy.observe.wide_frame": "importing it imports pandas",
    "eddy.jobs.sources.paced": "importing it needs Spark 4.2",
}
# A registry is small, and one file asks it; what it lists is a file of its own, however few others need it.
REGISTRY = "registry"
# Importers of a room that the table names one by one.
FEW_ROOMS = 6

# A room's plug-ins: the method that only a plug-in has, and the dict that must list it.
KINDS = {
    "operators": ("run", "OPERATORS"),
    "operators/index/structures": ("search", "INDEXES"),
    "operators/tuning/assess": ("counts", "ASSESSMENTS"),
    "operators/tuning/select": ("select", "SELECTIONS"),
    "operators/tuning/schedule": ("ask", "SCHEDULES"),
    "policies": ("plan", "POLICIES"),
}

# style.md, habit 10
LONGEST_FUNCTION = 40
TYPICAL_FUNCTION = 12
LONGEST_FILE = 400

CLOCKS = {"now", "today", "utcnow"}
CHANCE = {"os.getrandom", "os.urandom", "pyarrow.compute.random"}
OUTSIDE = {"random", "secrets", "time", "uuid"}
SEEDED = {"BitGenerator", "Generator", "PCG64", "Philox", "SeedSequence", "default_rng"}
UNPICKLERS = {"_pickle", "dill", "joblib", "marshal", "pickle", "shelve"}
EVALUATORS = {"eval", "exec", "builtins.eval", "builtins.exec"}
CHANGERS = {"clear", "pop", "popitem", "setdefault", "update"}

# What a tool would read instead of setup.cfg or ruff.toml, without a word.
RIVALS = {
    *(".mypy.ini", "mypy.ini", ".ruff.toml", ".coveragerc", ".coveragerc.toml", "tox.ini"),
    *(".pytest.ini", ".pytest.toml", "pytest.ini", "pytest.toml"),
}
ROOT_ONLY = {"pyproject.toml", "ruff.toml", "setup.cfg"}

# Written so that it does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.:/~$}])/(?:home|Users|root|tmp|work|mnt|private)/\w|\b[A-Z]:\\\w")


@dataclass(frozen=True, kw_only=True)
class Module:
    """One python file: its dotted name, its text, and whether it is the `__init__.py` of a folder."""

    name: str
    text: str
    is_init: bool = False

    @cached_property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """Everything in the tree: each rule looks at all of it."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> Sequence[Import]:
        """What it imports, also by a call with the name in it."""
        return list(_imports(self))

    @property
    def room(self) -> str:
        return room(self.name)

    @cached_property
    def origins(self) -> Mapping[str, str]:
        """What imported names stand for: `pc` for `pyarrow.compute`, `rand` for `numpy.random.rand`."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found |= {alias.asname: alias.name for alias in node.names if alias.asname}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found

    def full(self, node: ast.expr) -> str:
        """The dotted name that an expression spells, with imported names in full."""
        first, dot, rest = _dotted(node).partition(".")
        return self.origins.get(first, first) + dot + rest

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Every call, and the full name of what is called."""
        return ((node, self.full(node.func)) for node in self.nodes if isinstance(node, ast.Call))

    def mentions(self) -> Iterator[tuple[ast.expr, str]]:
        """Every name that is read, in full."""
        for node in self.nodes:
            if isinstance(node, ast.Name | ast.Attribute):
                yield node, self.full(node)


def _dotted(node: ast.expr) -> str:
    """The dotted name that an expression spells, or "".

    >>> _dotted(ast.parse("np.random.seed(1)").body[0].value.func)
    'np.random.seed'
    """
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else f"?.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def room(module: str) -> str:
    """The room of a dotted name; "" for what is not ours.

    >>> [room(name) for name in ("eddy.query.query", "eddy.sql.bind.binder", "eddy.wiring", "eddy", "pyspark.sql")]
    ['query', 'sql.bind', 'wiring', 'eddy', 'pyspark']
    """
    top, _, inner = module.partition(".")
    if top in LINKED:
        return OUTSIDE_OF_EDDY
    if top != "eddy":
        return top if top in {"pyspark", "benchmarks"} else ""
    parts = inner.split(".")
    names = [".".join(parts[:size]) for size in range(len(parts), 0, -1)]
    return next((name for name in names if name in ROOMS), "eddy")


def is_in(room: str, house: Iterable[str]) -> bool:
    """Tell whether a room is one of some, or inside of one."""
    return any(room == one or room.startswith(f"{one}.") for one in house)


def may_import(importer: str, room: str) -> bool:
    """Tell whether a room may import from another."""
    if room == "pyspark":
        return is_in(importer, WITH_SPARK) and not is_in(importer, BEFORE_SPARK)
    if importer == room:
        return True
    for kind in PLUG_INS:
        if is_in(room, [kind]) and not is_in(importer, [kind]) and importer != COMPOSER:
            return False
    return room in ROOMS and ROOMS.index(room) < ROOMS.index(importer)


def modules(*folders: str, suffix: str = ".py") -> Iterator[Module]:
    """The python files of some folders of the tree."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
            yield _module(path)


@cache
def _module(path: Path) -> Module:
    """One file, which every rule then reads once."""
    return Module(name=dotted(path), text=path.read_text("utf-8"), is_init=path.name == "__init__.py")


def dotted(path: Path) -> str:
    """The name by which a file of the tree is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(("eddy", *parts) if parts[0] in LINKED else parts)


@dataclass(frozen=True, kw_only=True)
class Import:
    """The import of a module, or of a name from one."""

    line: int
    module: str
    name: str = ""

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


def _imports(module: Module) -> Iterator[Import]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (Import(line=node.lineno, module=alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (Import(line=node.lineno, module=node.module, name=alias.name) for alias in node.names)
    for call, name in module.calls():
        if name in {"importlib.import_module", "importlib.__import__", "builtins.__import__", "__import__"}:
            given = [*call.args, *(word.value for word in call.keywords if word.arg == "name")][:1]
            texts = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            yield from (Import(line=call.lineno, module=text) for text in texts)


def wrong_imports(module: Module, known: Set[str] = frozenset()) -> list[str]:
    """Imports that point the wrong way; `from eddy import query` is one of `eddy.query`."""
    found = [(i.line, i.full if i.full in known else i.module) for i in module.imports]
    return [
        f"{module.name}:{line}: {module.room} may not import {target}"
        for line, target in found
        if room(target) and not may_import(module.room, room(target))
    ]


def import_cycles(found: Iterable[Module]) -> list[str]:
    """Modules that cannot be imported without being there already."""
    modules = {module.name: module for module in found}
    needs = {name: _first_imports(module, modules) for name, module in modules.items()}
    complaints: list[str] = []
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            complaints.append(" -> ".join([*path[path.index(name) :], name]))
        elif name not in done:
            for need in sorted(needs[name]):
                visit(need, [*path, name])
            done.add(name)

    for name in needs:
        visit(name, [])
    return complaints


def _first_imports(module: Module, known: Container[str]) -> set[str]:
    """The modules that are imported with a module, without the packages that it is in."""
    found: set[str] = set()
    for statement in _run_at_once(module.tree.body):
        for i in Module(name=module.name, text=ast.unparse(statement)).imports:
            parts = i.full.split(".")
            found |= {".".join(parts[:size]) for size in range(1, len(parts) + 1)}
    return {
        name for name in found if name in known and name != module.name and not f"{module.name}.".startswith(f"{name}.")
    }


def _run_at_once(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The imports that run when a module is imported."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.Try):
            yield from _run_at_once([*statement.body, *statement.orelse, *statement.finalbody])
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" not in ast.unparse(statement.test):
            yield from _run_at_once([*statement.body, *statement.orelse])


def plugins(found: Iterable[ModuleType], method: str) -> Iterator[type]:
    """Every public class that has a plug-in's method, its own or inherited, and can be built."""
    for module in found:
        for name, member in vars(module).items():
            if not inspect.isclass(member) or member.__module__ != module.__name__ or name.startswith("_"):
                continue
            # typing.is_protocol says the same, from Python 3.13 on.
            abstract = inspect.isabstract(member) or vars(member).get("_is_protocol", False)
            if not abstract and callable(getattr(member, method, None)):
                yield member


def unregistered(found: Iterable[ModuleType], table: Mapping[str, object], kind: str) -> list[str]:
    """Plug-ins that their registry does not list."""
    method, name = KINDS[kind]
    return [
        f"{plugin.__module__}: {plugin.__name__} has {method}() and is not in {name}"
        for plugin in plugins(found, method)
        if plugin not in table.values()
    ]


def loose_registry(registry: Module, table: str) -> list[str]:
    """What a registry holds besides imports and its table: one literal dict from texts to imported names."""
    complaints, tables = [], 0
    for node in registry.tree.body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and _targets(node) == [table]:
            tables += 1
            complaints += [f"{registry.name}:{node.lineno}: {fault}" for fault in _faults(node.value, registry)]
        elif not isinstance(node, ast.ImportFrom) and not _is_text(node):
            complaints.append(f"{registry.name}:{node.lineno}: a registry holds imports and {table}, and nothing else")
    return complaints if tables == 1 else [*complaints, f"{registry.name}: {table} must be assigned once"]


def _targets(node: ast.AnnAssign | ast.Assign) -> list[str]:
    return [_dotted(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _faults(value: ast.expr | None, registry: Module) -> Iterator[str]:
    if not isinstance(value, ast.Dict):
        yield "expected one literal dict"
        return
    for key, entry in zip(value.keys, value.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            yield "expected a text for each key"
        if not isinstance(entry, ast.Name) or entry.id not in registry.origins:
            yield f"expected an imported name for each value, got {ast.unparse(entry)}"


def registry_changes(module: Module) -> list[str]:
    """Places that change a registry after it was written down."""
    tables = {table for _, table in KINDS.values()}
    changed: list[tuple[int, ast.expr]] = []
    for node in module.nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed.append((node.lineno, node.value))
        elif isinstance(node, ast.AugAssign):
            changed.append((node.lineno, node.target))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGERS:
            changed.append((node.lineno, node.func.value))
    names = [(line, module.full(node).rpartition(".")[2]) for line, node in changed]
    return [f"{module.name}:{line}: changes {name}" for line, name in names if name in tables]


def code_from_data(module: Module) -> list[str]:
    """Places where data could become code: unpickling, eval, exec, and what pandas evaluates.

    cloudpickle carries the user's own functions to the executors, and only the Spark room does that.
    """
    banned = UNPICKLERS if is_in(module.room, ["spark"]) else UNPICKLERS | {"cloudpickle"}
    found = [(i.line, f"imports {i.full}") for i in module.imports if {*i.full.split(".")} & banned]
    found += [(i.line, f"uses {i.full}") for i in module.imports if i.full in EVALUATORS]
    found += [(node.lineno, f"uses {name}") for node, name in module.mentions() if name in EVALUATORS]
    found += [(call.lineno, f"calls {name}") for call, name in module.calls() if _loads_code(call, name)]
    return _complaints(module, found)


def _loads_code(call: ast.Call, name: str) -> bool:
    before, _, last = name.rpartition(".")
    pickled = any(word.arg == "allow_pickle" and not _is(word.value, False) for word in call.keywords)
    pickled |= name == "numpy.load" and len(call.args) > 2 and not _is(call.args[2], False)
    evaluated = before not in {"", "builtins"} and last in {"eval", "query"} and bool(call.args or call.keywords)
    return pickled or evaluated or last == "read_pickle"


def clocks_and_chance(module: Module) -> list[str]:
    """Places that read a clock or an unseeded generator; both come in from outside."""
    banned = [(i.line, i.full) for i in module.imports if i.name and _is_chance(i.full)]
    called = {id(call.func) for call, _ in module.calls()}
    found = [(i.line, f"imports {i.full}") for i in module.imports if i.full.split(".")[0] in OUTSIDE]
    found += [(line, f"uses {name}") for line, name in banned]
    for node, name in module.mentions():
        if isinstance(node, ast.Attribute) and _is_chance(name):
            found.append((node.lineno, f"uses {name}"))
        if name == "numpy.random.default_rng" and id(node) not in called:
            found.append((node.lineno, f"hands on {name}, to be called with no seed"))
    found += [
        (call.lineno, f"calls {name} with nothing from outside") for call, name in module.calls() if _unfed(call, name)
    ]
    return _complaints(module, found)


def _is_chance(name: str) -> bool:
    generator = re.fullmatch(r"numpy\.random\.([\w*]+)", name)
    return name in CHANCE or (generator is not None and generator[1] not in SEEDED)


def _unfed(call: ast.Call, name: str) -> bool:
    """Whether a call makes up its answer: it has no seed, or asks for the time."""
    before, _, last = name.rpartition(".")
    given = [*call.args, *(word.value for word in call.keywords)]
    if last in SEEDED:
        return all(_is(value, None) for value in given)
    if last == "sample" and before not in {"", "self"}:
        return all(_is(word.value, None) for word in call.keywords if word.arg == "random_state")
    if last in {"Timestamp", "datetime64", "to_datetime"}:
        return any(isinstance(value, ast.Constant) and value.value in CLOCKS for value in given)
    return bool(before) and last in CLOCKS


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _complaints(module: Module, found: Iterable[tuple[int, str]]) -> list[str]:
    """One for each place, though several rules may have found it."""
    return [f"{module.name}:{line}: {text}" for line, text in dict.fromkeys(found)]


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
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]


def typical_function(found: Iterable[Module]) -> float:
    """The median length of a function."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for module in found for node in module.nodes if isinstance(node, functions)]
    return statistics.median((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)


def long_file(module: Module) -> list[str]:
    """A file that is more than one concern."""
    return [f"{module.name}: has {module.lines} lines; at most {LONGEST_FILE}"] if module.lines > LONGEST_FILE else []


def folder_sizes(found: Iterable[Module]) -> Counter[str]:
    """How many modules stand side by side in each folder, the `__init__.py` aside."""
    return Counter(module.name.rpartition(".")[0] for module in found if not module.is_init)


def crowded_folders(found: Iterable[Module]) -> list[str]:
    """Folders with more modules than a reader looks through."""
    sizes = folder_sizes(found)
    return [f"{name}: has {size} modules; at most {MOST_FILES}" for name, size in sizes.items() if size > MOST_FILES]


def importers(found: Iterable[Module]) -> Mapping[str, Set[str]]:
    """The modules that import each module; one that imports a name from a folder imports the folder."""
    modules = {module.name: module for module in found}
    by: dict[str, set[str]] = {name: set() for name in modules}
    for module in modules.values():
        for i in module.imports:
            target = i.full if i.full in by else i.module
            if target in by and target != module.name:
                by[target].add(module.name)
    return by


def single_importers(found: Iterable[Module]) -> Mapping[str, str]:
    """The modules that one other module imports, and which one that is; registries and what they list are aside."""
    found = list(found)
    inits = {module.name for module in found if module.is_init}
    alone = {name: min(by) for name, by in importers(found).items() if len(by) == 1 and name not in inits}
    return {name: by for name, by in alone.items() if REGISTRY not in (_last(name), _last(by))}


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def small_files(found: Iterable[Module], excused: Collection[str]) -> list[str]:
    """Small files that one other file imports and that have no reason to be files, and reasons that nobody needs."""
    found = list(found)
    lines, single = {module.name: module.lines for module in found}, single_importers(found)
    small = [name for name in single if lines[name] < SMALL_FILE]
    complaints = [
        f"{name}: has {lines[name]} lines, and {single[name]} alone imports it: put it there"
        for name in small
        if name not in excused
    ]
    return complaints + [f"{name}: needs no reason in SMALL_ON_PURPOSE" for name in excused if name not in small]


# `eddy.jobs` is ours, `jobs` may be a user's own. An import, what `-m` starts, and "module:name" in quotes.
_IMPORTS = r"(?:\b(?:from|import)|(?<![\w-])-m) +"
_NAMES = r"(?<![\w./])(?=[\w.]+:[a-z_]\w*[\"'])"
SHORT_NAME = re.compile(rf"(?:{_IMPORTS}|{_NAMES})(?:{'|'.join(LINKED)})(?:[.]\w+| +import\b|$)", re.MULTILINE)


def short_names(name: str, text: str) -> list[str]:
    """Places in a text that call a folder of ours by its short name, which may be that of a user's own."""
    lines = enumerate(text.splitlines(), start=1)
    return [f"{name}:{number}: {found[0].strip()}" for number, line in lines if (found := SHORT_NAME.search(line))]


def untyped_spots(module: Module) -> list[str]:
    """Comments and decorators that turn the type checker off."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    found = [(c.start[0], c.string) for c in comments if re.search(r"#\s*type:\s*ignore|^#\s*mypy:", c.string)]
    found += [(i.line, f"imports {i.full}") for i in module.imports if i.name == "no_type_check"]
    found += [(n.lineno, name) for n, name in module.mentions() if name.rpartition(".")[2] == "no_type_check"]
    return _complaints(module, found)


def rival_settings(name: str, text: str) -> list[str]:
    """A file that would win over setup.cfg or ruff.toml, or bend them for one folder."""
    folder, _, file = name.rpartition("/")
    if file in RIVALS or (folder and file in ROOT_ONLY):
        return [f"{name}: the settings are in setup.cfg and ruff.toml of the first folder, and nowhere else"]
    tools = tomllib.loads(text).get("tool", {}) if file == "pyproject.toml" else {}
    return [f"{name}: [tool.{tool}] would win over setup.cfg" for tool in tools]


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


def room_table(found: Iterable[Module]) -> Iterator[tuple[str, ...]]:
    """One line for each room, in their order: files, lines, and the rooms that import it."""
    found = list(found)
    rooms = {module.name: module.room for module in found}
    by_room: defaultdict[str, set[str]] = defaultdict(set)
    for name, by in importers(found).items():
        by_room[rooms[name]] |= {rooms[one] for one in by} - {rooms[name]}
    yield ("room", "files", "lines", "imported by")
    for one in ROOMS:
        own = [module for module in found if module.room == one]
        ordered = sorted(by_room[one], key=ROOMS.index)
        told = ", ".join(ordered) if len(ordered) <= FEW_ROOMS else f"{len(ordered)} rooms, from {ordered[0]} on"
        yield (one, str(len(own)), f"{sum(module.lines for module in own):,}", told)


def main() -> int:
    """Print the rooms."""
    rows = list(room_table(modules(*SHIPPED, "benchmarks")))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for room_name, files, lines, by in rows:
        print(f"{room_name:<{widths[0]}}  {files:>{widths[1]}}  {lines:>{widths[2]}}  {by}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
