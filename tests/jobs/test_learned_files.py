"""eddy learned: what one job has learned goes on in another; what is damaged or another query's is refused."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import eddy
from eddy.engine.snapshot import unpack
from eddy.engine.snapshot_file import read_file
from eddy.jobs import cli
from eddy.jobs.config.config import load
from eddy.jobs.run import run_job
from eddy.jobs.run.checking import check
from eddy.jobs.run.one_pass import run_once
from eddy.jobs.run.progress_line import Teller
from eddy.jobs.run.stopping import Stop
from tests.sparks import WITHOUT_STATE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
[query]
name = "learns"
[streams.s]
[streams.s.source]
format = "workload"
kind = "web"
input = "web"
mode = "batch"
parameters = { rows = 900 }
[filters.even]
on = "s"
function = "tests.jobs.test_learned_files:is_even"
rowwise = true
[filters.large]
on = "s"
where = "size > 2000"
[policy]
name = "source"
[engine]
pushdown = false
seed = 1
remember = "kept.learned"
[sink]
format = "noop"
"""


def is_even(size: int) -> bool:
    return size % 2 == 0


def job(place: Path, *changes: tuple[str, str]) -> str:
    """The file of a job, in a folder of its own."""
    place.mkdir(exist_ok=True)
    text = JOB
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (place / "job.toml").write_text(text)
    return str(place / "job.toml")


@pytest.fixture
def learned(tmp_path: Path) -> Path:
    """What `eddy.where` has learned of the same query, as the job would."""
    file = job(tmp_path / "first")
    binding = check(load(file)).binding
    assert binding is not None
    rows = pa.table({"size": range(5_000)})
    kept = tmp_path / "first" / "kept.learned"
    filters = [
        eddy.Filter("even", on="s", function=is_even, rowwise=True),
        eddy.Filter("large", on="s", where="size > 2000"),
    ]
    eddy.where(rows, *filters, policy="source", remember=kept)
    (found,) = kept.iterdir()
    return found


def test_it_is_carried_to_another_job(learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    carried, second = tmp_path / "carried", job(tmp_path / "second")
    assert cli.main(["learned", "export", str(tmp_path / "first" / "job.toml"), str(carried)]) == 0
    assert "learned of 5,000 rows, by the policy" in capsys.readouterr().out
    assert cli.main(["learned", "import", second, str(carried)]) == 0
    (kept,) = (tmp_path / "second" / "kept.learned").iterdir()
    assert kept.read_bytes() == learned.read_bytes()
    assert "even" in capsys.readouterr().out
    # What is there is not lost by a slip.
    assert cli.main(["learned", "import", second, str(carried)]) == 2
    assert "say --replace to write over it" in capsys.readouterr().err
    assert cli.main(["learned", "import", second, str(carried), "--replace"]) == 0


def test_another_policy_is_told(learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = job(tmp_path / "other", ('"source"', '"content"'))
    assert cli.main(["learned", "import", other, str(learned)]) == 0
    assert 'the job has {"name": "content"}, which begins anew' in capsys.readouterr().out


class Evil:
    """Unpickling it would write a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("unpickled"),))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body[:-7], "checksum does not match"),
        (lambda body: body[:5], "expected b'edl1' and two numbers in front"),
        (lambda _: b"", "give a file that `eddy learned export` or `remember` has written"),
        (lambda _: pickle.dumps(Evil()), "expected b'edl1' and two numbers in front"),
        (lambda body: body[:60] + bytes([body[60] ^ 1]) + body[61:], "checksum does not match"),
        (lambda body: body[:11] + b"\x07" + body[12:], "format"),
    ],
    ids=["cut", "a stub", "nothing", "a pickle", "a bit", "another format"],
)
@pytest.mark.parametrize("way", ["export", "import"])
def test_what_is_damaged_is_refused(
    way: str, change: object, said: str, learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(change)
    file = learned if way == "export" else tmp_path / "given"
    file.write_bytes(change(learned.read_bytes()))
    other = job(tmp_path / "other" if way == "import" else tmp_path / "first")
    target = tmp_path / "out" if way == "export" else tmp_path / "other" / "kept.learned"
    assert cli.main(["learned", way, other, str(file if way == "import" else target)]) == 2
    told = capsys.readouterr().err
    assert f'"{file}"' in told
    assert said in told
    assert not target.exists()
    assert not Path("unpickled").exists()


def test_what_is_foreign_is_refused(learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = job(tmp_path / "other", ("size > 2000", "size > 3000"))
    assert cli.main(["learned", "import", other, str(learned)]) == 2
    told = capsys.readouterr().err
    assert 'filter "large": the file has "on s: s.size > 2000", the query has "on s: s.size > 3000"' in told
    assert "checkpoint" not in told


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([('remember = "kept.learned"\n', "")], "engine.remember: expected a folder, got none; add it"),
        ([('"kept.learned"', '"s3://kept/learned"')], "expected the path of a folder on this machine"),
        ([('mode = "batch"', "per_trigger = 5"), ("seed = 1", 'state = "store"')], "engine.remember: expected none"),
    ],
    ids=["none", "elsewhere", "state"],
)
def test_a_job_that_keeps_nothing_there_is_told(
    changes: list[tuple[str, str]], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["learned", "export", job(tmp_path / "other", *changes), str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err


def test_there_is_nothing_to_carry_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["learned", "export", job(tmp_path / "other"), str(tmp_path / "out")]) == 2
    assert "learned: nothing has been left in" in capsys.readouterr().err


@WITHOUT_STATE
def test_a_job_goes_on_from_what_was_carried(spark: SparkSession, learned: Path, tmp_path: Path) -> None:
    """With another seed no worker knows the query, so that what it goes on from is the file."""
    place = tmp_path / "second"
    file = job(place, ("seed = 1", "seed = 12345"))
    assert cli.main(["learned", "import", file, str(learned)]) == 0
    asked = load(file)
    run_once(asked, run_job.answer(asked, spark), Stop(), Teller(quiet=False, live=False, out=io.StringIO()))
    # The file that was carried is gone, since those that tasks have left have it in them.
    left = [*map(read_file, (place / "kept.learned").glob("*-0.learned"))]
    assert left
    assert not [*place.glob("kept.learned/imported*")]
    for kept in left:
        assert kept is not None
        meta, _ = unpack(kept)
        assert meta["came"]["s"]["rows"] > 5_000
        assert meta["policy"] == '{"name": "source"}'
