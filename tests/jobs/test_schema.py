"""The JSON Schema says of a file what the reader of jobs does, as far as a schema can."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from eddy.jobs import cli
from eddy.jobs.config.json_schema import make_schema
from tests.house import ROOT

EXAMPLES = sorted((ROOT / "conf").glob("*.toml"))
README = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0]

JOB = """
[streams.web]
time = "at"
source = { format = "workload", kind = "web", per_trigger = 5 }
[filters.signed]
on = "web"
where = "signed"
"""


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    schema = make_schema()
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def errors(validator: Draft7Validator, text: str) -> list[str]:
    return [error.message for error in validator.iter_errors(tomllib.loads(text))]


@pytest.mark.parametrize("text", [*(path.read_text("utf-8") for path in EXAMPLES), README, JOB])
def test_every_example_fits(text: str, validator: Draft7Validator) -> None:
    assert errors(validator, text) == []


RIGHT = {
    "a variable for a number": '[engine]\ncells = "${CELLS}"',
    "dotted settings": "[spark]\nsql.shuffle.partitions = 4",
    "heavy values": '[engine.heavy]\n"a.k" = [0]',
    "a sink that is not said": "[sink]\nrows = 3",
    "a profile that says a part": '[profile.prod.engine]\ncells = 3\n[profile.prod.sink]\npath = "out"',
    "a parameter of a policy": '[policy]\nname = "content"\nalpha = 0.5',
}

WRONG = {
    "a section": "[engin]\ncells = 3",
    "a key": "[engine]\ncels = 3",
    "a type": '[engine]\ncells = "two"',
    "too small": "[engine]\ncells = 0",
    "a choice": '[engine]\nstate = "some"',
    "a policy": '[policy]\nname = "contents"',
    "a format": '[sink]\nformat = "kafk"',
    "a key of another format": '[sink]\nformat = "noop"\nrows = 3',
    "what is needed": '[sink]\nformat = "parquet"',
    "a stream without a source": '[streams.b]\ntime = "at"',
    "a profile": "[profile.prod.engine]\ncels = 3",
    "a port": "[metrics]\nprometheus = { port = 70_000 }",
    "no list": '[query]\nselect = "web.at"',
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_fits(case: str, validator: Draft7Validator) -> None:
    assert errors(validator, f"{JOB}{RIGHT[case]}\n") == []


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_does_not(case: str, validator: Draft7Validator) -> None:
    assert errors(validator, f"{JOB}{WRONG[case]}\n")


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["schema"]) == 0
    printed: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert printed == make_schema()
    assert printed["properties"]["engine"]["properties"]["cells"]["description"].startswith("how many engines")
