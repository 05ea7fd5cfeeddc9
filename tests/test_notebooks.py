"""The notebooks are there to be read: without outputs in the repository, from a title to a conclusion, and they run.

`make notebooks` executes all of them as they are; here those that take long are given less to do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FEW_ROWS

FOLDER = Path(__file__).parent.parent / "notebooks"
NAMES = ["01_quickstart", "02_compare_policies", "03_streaming_joins", "04_real_data", "05_sql"]
STREAMING, SQL = "03_streaming_joins", "05_sql"
"""The notebooks whose session is Spark's: they run in the tier of such, and the others beside them."""

SMALL = {
    "01_quickstart": "n = 12_000",
    "02_compare_policies": "ROWS, REPEATS = 3_000, 1",
    STREAMING: "BATCHES, ROWS, CUSTOMERS, CHANGE = 5, 200, 60, 2",
    "04_real_data": "MONTHS, ROWS, REPEATS = 1, 4_000, 1",
    SQL: "ROWS, BATCHES = 1_500, 3",
}
"""What stands in the cell that is tagged "parameters" when a notebook is executed here."""

PICTURES = {"01_quickstart": 1, "02_compare_policies": 7, "03_streaming_joins": 3, "04_real_data": 3, SQL: 1}
"""How many there are to be seen at the end."""

LONGEST_CELL = 40
"""Lines of code: what fits on a screen beside its output."""


def cells(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return found


def complaints(found: list[dict[str, Any]]) -> list[str]:
    """What a reader would stumble over."""
    text = ["".join(cell["source"]) for cell in found]
    code = [i for i, cell in enumerate(found) if cell["cell_type"] == "code"]
    notes = [i for i, cell in enumerate(found) if cell["cell_type"] == "markdown"]
    told = [f"cell {i}: has outputs" for i in code if found[i]["outputs"] or found[i]["execution_count"]]
    told += [f"cell {i}: is long" for i in code if len(text[i].splitlines()) > LONGEST_CELL]
    told += [] if notes[:1] == [0] and text[0].startswith("# ") else ["no title"]
    told += [] if notes and notes[-1] == len(found) - 1 and text[-1].startswith("## Conclusion") else ["no conclusion"]
    return told


def test_these_are_the_notebooks() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_can_be_read_to_its_end(name: str) -> None:
    assert complaints(cells(name)) == []


def test_what_a_reader_would_stumble_over_is_found() -> None:
    code: dict[str, Any] = {"cell_type": "code", "source": ["x = 1\n"] * 50, "outputs": [{}], "execution_count": 1}
    assert complaints([code]) == ["cell 0: has outputs", "cell 0: is long", "no title", "no conclusion"]


def executed(name: str, folder: Path) -> list[dict[str, Any]]:
    """The cells of a notebook with their outputs."""
    whole = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
    for cell in whole["cells"]:
        if "parameters" in cell["metadata"].get("tags", ()):
            assert "".join(cell["source"]).partition(" = ")[0] == SMALL[name].partition(" = ")[0]
            cell["source"] = SMALL[name]
    small, ran = folder / f"{name}.ipynb", folder / "ran.ipynb"
    small.write_text(json.dumps(whole), "utf-8")
    (folder / "spark-defaults.conf").write_text("\n".join(map(" ".join, FEW_ROWS.items())), "utf-8")
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "notebook", "--output", str(ran), str(small)]
    env = {**os.environ, "SPARK_CONF_DIR": str(folder)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(ran.read_text("utf-8"))["cells"]
    return found


@pytest.mark.process
@pytest.mark.timeout(900)  # a kernel, and in one of them Spark, which warms up: long where the machine is busy
@pytest.mark.parametrize(
    "name", [name if name in (STREAMING, SQL) else pytest.param(name, marks=pytest.mark.apart) for name in NAMES]
)
def test_a_notebook_runs_and_shows_its_pictures(name: str, tmp_path: Path) -> None:
    ran = [cell for cell in executed(name, tmp_path) if cell["cell_type"] == "code"]
    assert [cell for cell in ran if cell["execution_count"] is None] == []
    shown = [output["data"] for cell in ran for output in cell["outputs"] if "data" in output]
    named = [data for data in shown if "<Figure" in "".join(data.get("text/plain", "")) and "image/png" not in data]
    assert named == [], "a figure is only named"
    assert sum("image/png" in data for data in shown) == PICTURES[name]


def test_those_that_are_given_less_to_do_say_where() -> None:
    tagged = {name for name in NAMES for cell in cells(name) if "parameters" in cell["metadata"].get("tags", ())}
    assert tagged == set(SMALL)
