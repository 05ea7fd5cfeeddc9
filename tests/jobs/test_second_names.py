"""Streams of a job that are second names of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eddy
from eddy.comparison.compare import compare
from eddy.errors import QueryError
from eddy.jobs.commands.validate import run_sample
from eddy.jobs.comparison.job_comparison import read_sample
from eddy.jobs.config.config import Job, load
from eddy.jobs.run.checking import check
from eddy.jobs.run.run_job import answer
from tests.eddy.spark import feeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
[query]
name = "again"
joins = ["a.cookie = b.cookie and a.at < b.at"]
select = ["a.at", "b.at AS later"]

[streams.a]
time = "at"
delay = "1 minute"
bad_rows = "fail"
source = { format = "workload", kind = "web", input = "web", per_trigger = 300, parameters = { rows = 900 } }

[streams.b]
same_as = "a"
window = "1 second"
"""


def read(folder: Path, text: str = JOB) -> Job:
    file = folder / "job.toml"
    file.write_text(text, "utf-8")
    return load(file)


def test_a_second_name_has_what_it_does_not_say(tmp_path: Path) -> None:
    job = read(tmp_path)
    first, second = job.query.streams
    assert second == eddy.Stream("b", time="at", delay="1 minute", bad_rows="fail", window=eddy.Range("1 second"))
    assert (first.origin, second.origin) == ("a", "a")
    assert job.sources["b"] == job.sources["a"]
    checked = check(job)
    assert checked.binding is not None
    assert "  a, b: one store of a" in eddy.explain(job.query)
    assert run_sample(checked, 500).startswith("sample: 500 of a; ")


def test_a_sample_has_the_same_rows_under_both_names(tmp_path: Path) -> None:
    job = read(tmp_path)
    data = read_sample(job, check(job), 500)
    assert data["a"] is data["b"]
    compared = compare(job.query, data, ["fixed", "random"], quiet=True)
    assert compared.rows.num_rows > 0


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('same_as = "a"', 'same_as = "c"', 'streams.b.same_as: unknown stream "c"; .*"a"'),
        ('same_as = "a"', 'same_as = "b"', 'same_as: expected a stream that has a source, got "b"'),
        ('same_as = "a"', 'same_as = "a"\nsource = { format = "rate" }', 'source: the rows are those of "a"; leave it'),
        ('same_as = "a"', 'same_as = "a"\ndelay = 3', "are one source, \"a\", and differ in delay: '1 minute' and 3"),
        ('same_as = "a"\n', "", r"expected a table \[streams.b.source\], got none"),
    ],
)
def test_mistakes_are_told_at_their_keys(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        read(tmp_path, JOB.replace(old, new))


@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_wrong_with_the_source_is_told_once(tmp_path: Path, *, is_first: bool) -> None:
    begin, first, second = JOB.replace('input = "web", ', "").replace("[streams", "\0[streams").split("\0")
    job = read(tmp_path, "\n".join([begin, first, second] if is_first else [begin, second, first]))
    with pytest.raises(
        QueryError, match=r'job.toml": 1 mistake\n .*streams\.a\.source: workload "web": unknown input "a"'
    ):
        check(job)


def test_the_rows_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    found = feeds.answer(answer(read(tmp_path), spark), tmp_path / "checkpoint")
    assert {len(progress.sources) for progress in found.query.recentProgress} == {1}
    assert set(found.report.streams().groupby("stream")["rows"].sum()) == {900}
