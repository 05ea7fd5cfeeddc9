"""The code of the README and of the docs runs, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/spark.md"]


def blocks(page: str) -> list[str]:
    """The programs of a page; each may go on from the one before."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", PAGES)
def test_code_in_the_docs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = {"__name__": "__main__"}  # functions of a program of its own are sent to Spark's workers as they are
    for block in blocks(page):
        exec(compile(block, page, "exec"), known)
        printed = capsys.readouterr().out
        said = re.findall(r"^print\(.*\)\s+# ([\[{].*[\]}])$", block, re.MULTILINE)
        assert said
        assert [text for text in said if text not in printed] == []


def test_there_is_code_in_the_docs() -> None:
    assert [len(blocks(page)) for page in PAGES] == [2, 1]
