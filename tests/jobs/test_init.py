"""A project is made of files that none of a user's own makes way for."""

from __future__ import annotations

from pathlib import Path

import pytest

from eddy.jobs import cli

MADE = ["job.toml", "late_orders_filters.py", "test_late_orders_filters.py", "README.md", ".gitignore"]


def test_a_project_is_right_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init", str(tmp_path / "late-orders")]) == 0
    assert sorted(path.name for path in (tmp_path / "late-orders").iterdir()) == sorted(MADE)
    assert not [path for path in (tmp_path / "late-orders").iterdir() if "$" in path.read_text()]
    assert cli.main(["validate", str(tmp_path / "late-orders" / "job.toml")]) == 0
    told = capsys.readouterr()
    assert "warning" not in told.out + told.err


def test_files_of_others_stay_beside_it(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    assert cli.main(["init", str(tmp_path / "demo")]) == 0
    assert len(list((tmp_path / "demo").iterdir())) == len(MADE) + 1


@pytest.mark.parametrize("name", ["README.md", ".gitignore", "demo_filters.py"])
def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / name).write_text("mine")
    assert cli.main(["init", str(tmp_path / "demo")]) == 2
    assert [path.name for path in (tmp_path / "demo").iterdir()] == [name]
    assert f'expected a folder without "{name}", since nothing is overwritten' in capsys.readouterr().err


@pytest.mark.parametrize("name", ["1st", "class", "a b", "süd", "x.y", "-"])
def test_the_name_is_that_of_a_module(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert cli.main(["init", str(tmp_path / name)]) == 2
    assert list(tmp_path.iterdir()) == []
    assert f'and no word of Python\'s, such as "late_orders", got "{name}"' in capsys.readouterr().err


def test_a_file_in_the_way_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "demo").write_text("mine")
    assert cli.main(["init", str(tmp_path / "demo")]) == 2
    assert "cannot be written: File exists" in capsys.readouterr().err
