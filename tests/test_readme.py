"""The README's code runs, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_code_in_the_readme(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS[number], str(README), "exec"), {})
    printed = capsys.readouterr().out
    said = re.findall(r"^print\(.*\)\s+# ([\[{].*[\]}])$", BLOCKS[number], re.MULTILINE)
    assert said
    assert all(text in printed for text in said)


def test_there_is_code_in_the_readme() -> None:
    assert BLOCKS
