"""What the docs name is there, and they are written plainly."""

from __future__ import annotations

import importlib
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from eddy.jobs.config.connectors import SINK_GROUP, SOURCE_GROUP
from eddy.operators.tuning.settings import INDEX_GROUP
from eddy.spark.monitoring.metrics import METRICS
from tests import house
from tests.house import ROOT

PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "platforms").glob("*.md"),
    ]
)
TEXTS = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in PAGES}


PLACES = ("benchmarks", "conf", "docs", "eddy", "jobs", "notebooks", "operators", "policies", "stubs", "tests")
PATH = re.compile(rf"`((?:{'|'.join(PLACES)})/[\w./*-]*)`|(?<![\w/.])((?:{'|'.join(PLACES)})/[\w/.-]+\.\w+)")
DOTTED = re.compile(r"(?<![\w./-])((?:eddy|tests|benchmarks)(?:\.[A-Za-z_]\w*)+)")
NO_MODULES = {
    "eddy.batch",
    "eddy.job",
    *(f"eddy.{metric.name}" for metric in METRICS),
    SOURCE_GROUP,
    SINK_GROUP,
    INDEX_GROUP,
}
"""Names of loggers, of metrics and of groups of entry points."""
SHORT = re.compile(r"`(test_\w+\.py)`")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")

UNWANTED = re.compile(
    r"(?:^|[.!?:|]\s+|\n\n)(?:[-*] )?(?:\*\*)?(Of |Where it\b|What is\b)|\b([Ww]hoever|is handed|what is none)\b",
    re.MULTILINE,
)


@pytest.mark.parametrize("page", TEXTS)
def test_paths_are_of_this_tree(page: str) -> None:
    named = {path or bare for path, bare in PATH.findall(TEXTS[page])}
    assert [name for name in sorted(named) if not any(ROOT.glob(name.rstrip("/.")))] == []
    known = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name in SHORT.findall(TEXTS[page]) if name not in known] == []


@pytest.mark.parametrize("page", TEXTS)
def test_dotted_names_can_be_imported(page: str) -> None:
    names = {name for name in DOTTED.findall(TEXTS[page]) if not name.endswith((".zip", ".toml", ".json"))}
    assert [name for name in sorted(names - NO_MODULES) if not importable(name)] == []


def importable(name: str) -> bool:
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    broken = []
    for path, anchor in LINK.findall(TEXTS[page]):
        if path.startswith(("http", "...")):
            continue
        target = (folder / path).resolve() if path else ROOT / page
        if not target.exists() or (anchor and anchor not in set(anchors(target))):
            broken.append(f"{path}#{anchor}")
    assert broken == []


def anchors(page: Path) -> Iterator[str]:
    for heading in re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", TEXTS)
def test_sentences_are_statements(page: str) -> None:
    text = re.sub(r"```.*?```", "", TEXTS[page], flags=re.DOTALL)
    assert [match[0].strip() for match in UNWANTED.finditer(text)] == []


def test_architecture_has_every_room_in_its_order() -> None:
    rooms = re.findall(r"^\| `([\w/.]+)` \|", TEXTS["docs/architecture.md"], re.MULTILINE)
    names = [room.removesuffix("/__init__.py").removesuffix(".py").rstrip("/").replace("/", ".") for room in rooms]
    assert [name if name == "eddy" else name.removeprefix("eddy.") for name in names] == list(house.ROOMS)


def test_architecture_names_files_of_each_room() -> None:
    lines = re.findall(r"^\| `([\w/.]+/)` \|.*\| (.*) \|$", TEXTS["docs/architecture.md"], re.MULTILINE)
    assert len(lines) > 20
    files = [f"{room}{file}" for room, last in lines for file in re.findall(r"`(\w+\.py)`", last)]
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_way_of_a_tuple_is_drawn_as_the_script_says_and_passes_functions_that_there_are() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "figures" / "way_of_a_tuple.py"))
    assert script["OUT"].read_text("utf-8") == script["picture"]()
    stops = [(stop.file, stop.function) for stop in script["STOPS"]]
    assert [
        (file, name)
        for file, name in stops
        if not re.search(rf"^ *def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
    ] == []
