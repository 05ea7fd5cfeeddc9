"""What CONTRIBUTING.md says of a new policy is so, and its example keeps the contract, from a package of its own."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eddy.jobs import cli
from eddy.jobs.config import json_schema
from eddy.jobs.config.sections import JOB
from eddy.policies.choice import ENTRY_POINTS, POLICY_PARTS
from eddy.policies.registry import POLICIES
from tests.policies.checks import CHECKS

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
(PROGRAM,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
(PROJECT,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
POINTS = tomllib.loads(PROJECT)["project"]["entry-points"]

TASK = """
[streams.web]
time = "at"
source = { format = "workload", kind = "web", parameters = { rows = 100 } }
[filters]
large = { on = "web", where = "size > 1000" }
signed = { on = "web", where = "signed" }
[policy]
name = "drawn"
half_life = 500
[trigger]
available_now = true
"""


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The example as pip leaves it: a package, and what it registers."""
    site = tmp_path_factory.mktemp("site")
    ((name, place),) = POINTS[ENTRY_POINTS].items()
    module = place.partition(":")[0]
    file = site.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True)
    file.write_text(PROGRAM, "utf-8")
    info = site / "drawn-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: drawn\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{name} = {place}\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(site)])
        importlib.invalidate_caches()
        yield
    sys.modules.pop(module, None)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_example_does_what_every_policy_must(check: Callable[[str], None]) -> None:
    check("drawn")


def test_a_job_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.toml"
    job.write_text(TASK, "utf-8")
    assert cli.main(["validate", str(job)]) == 0
    assert "drawn" in json_schema.describe_part(JOB)["properties"]["policy"]["properties"]["name"]["anyOf"][0]["enum"]
    wrong = {
        "half_life=0": 'policy.half_life: policy "drawn": half_life: expected a whole number of 1 or more, got 0',
        "halflife=3": 'unknown parameter "halflife"; did you mean "half_life"?',
        "name=drwan": 'unknown policy "drwan"; did you mean "drawn"?',
    }
    for given, told in wrong.items():
        capsys.readouterr()
        assert cli.main(["validate", str(job), "--set", f"policy.{given}"]) == cli.FAILED
        assert told in capsys.readouterr().err


def test_the_guide_has_all_that_a_policy_may_have() -> None:
    (table,) = re.findall(r"^ *\| member \|.*?\n\n", GUIDE, re.DOTALL | re.MULTILINE)
    members = " ".join(re.findall(r"^ *\| (`.*?) \|", table, re.MULTILINE))
    assert sorted(re.findall(r"`(\w+)", members)) == sorted(POLICY_PARTS)


def test_the_page_of_policies_says_what_each_is_for() -> None:
    page = (ROOT / "docs" / "policies.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?) \| .+ \|$", page.partition("\n## ")[0], re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(POLICIES)
