"""The notebooks are there to be read: without outputs in the repository, from a title to a conclusion, and they run.

`make notebooks` executes all of them; here the quickest is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NAMES = ["01_quickstart", "02_compare_policies", "03_streaming_joins", "04_real_data"]

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


def test_the_quickstart_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "notebook", "--output-dir", str(tmp_path)]
    done = subprocess.run([*command, str(FOLDER / f"{NAMES[0]}.ipynb")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = json.loads((tmp_path / f"{NAMES[0]}.ipynb").read_text("utf-8"))["cells"]
    assert [cell for cell in ran if cell["cell_type"] == "code" and cell["execution_count"] is None] == []
