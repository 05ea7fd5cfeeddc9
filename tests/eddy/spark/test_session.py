"""What attach says of the session before anything starts: its partitions, and the Python of its workers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eddy
from eddy.spark.session import PARTITIONS
from eddy.spark.workers import NEEDED_MODULES, PYTHON_VARIABLE, VERSION, find_fault
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import query, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PYTHONS = {
    "older": ("echo 3.9 eddy", "is Python 3.9, and this is "),
    "bare": (f"echo {VERSION} eddy pandas", 'does not find "eddy", "pandas"'),
    "broken": ("echo one >&2; echo two >&2; exit 3", "does not start: two"),
    "silent": ("exit 3", "does not start: it says nothing"),
}


@pytest.fixture(scope="module")
def frames(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, DataFrame]:
    return feeds.streams(spark, tmp_path_factory.mktemp("session"), {"a": rows(1), "b": rows(2)})


def python(place: Path, body: str) -> str:
    """A program that is called as a Python is."""
    file = place / "python3"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.process
@pytest.mark.parametrize("kind", PYTHONS)
def test_another_python_is_asked_what_it_has(tmp_path: Path, kind: str) -> None:
    body, expected = PYTHONS[kind]
    wrong = find_fault(python(tmp_path, body), os.environ)
    assert wrong.startswith(expected)


def test_many_empty_partitions_are_told_once(spark: SparkSession, frames: Mapping[str, DataFrame]) -> None:
    before = spark.conf.get(PARTITIONS)
    try:
        spark.conf.set(PARTITIONS, 200)
        told = r'2 cells in 200 partitions: .* 198 tasks .*, write spark.conf.set\("spark.sql.shuffle.partitions", 2\)'
        with pytest.warns(eddy.EddyWarning, match=told) as found:
            eddy.attach(query(), frames, cells=2)
        assert [Path(warning.filename).name for warning in found] == [Path(__file__).name]
        spark.conf.set(PARTITIONS, 12)
        eddy.attach(query(), frames, cells=2)
    finally:
        spark.conf.set(PARTITIONS, str(before))


def test_a_python_that_lacks_us_is_told_before_anything_starts(
    spark: SparkSession, frames: Mapping[str, DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = python(tmp_path, "echo no such module >&2; exit 3")
    context = spark.sparkContext
    monkeypatch.setenv(PYTHON_VARIABLE, named)
    monkeypatch.setattr(context, "pythonExec", named)
    with pytest.raises(
        eddy.QueryError, match=r'starts its workers with, ".*python3", does not start: no such module; '
    ):
        eddy.attach(query(), frames)
    monkeypatch.delenv(PYTHON_VARIABLE)
    monkeypatch.setattr(context, "pythonExec", "python3")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eddy.attach(query(), frames)
    assert context.pythonExec == "python3"
    monkeypatch.setattr(context, "master", "spark://elsewhere:7077")
    with pytest.warns(eddy.EddyWarning, match=f'{PYTHON_VARIABLE} is not set, .* and to find "{NEEDED_MODULES[0]}"'):
        eddy.attach(query(), frames)
