"""The demo runs as `make demo` runs it."""

from __future__ import annotations

import pytest

from jobs import demo


def test_every_order_gives_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    printed = capsys.readouterr().out
    assert "answers: all the same" in printed
    assert "random" in printed
