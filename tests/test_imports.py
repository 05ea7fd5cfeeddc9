"""What is imported, and what waits until it is needed: a command that starts at once imports little."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house import ROOT

pytestmark = pytest.mark.process

HEAVY = ("pandas", "pyspark", "matplotlib", "scipy", "duckdb", "polars")
"""What takes longer to import than all of ours, or is not there for everybody."""

COMMANDS = "eddy.jobs.commands."

TELL = 'import sys; print(*sys.modules, sep="\\n", file=sys.stderr)'


def find_imported(code: str) -> set[str]:
    """The modules that a fresh process has imported after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{TELL}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines())


def test_the_package_imports_nothing_heavy() -> None:
    assert find_imported("import eddy").isdisjoint(HEAVY)


def test_help_imports_no_command() -> None:
    found = find_imported("from eddy.jobs import cli\ntry: cli.main(['--help'])\nexcept SystemExit: pass")
    assert found.isdisjoint(HEAVY)
    assert not [name for name in found if name.startswith(COMMANDS)]


def test_a_command_imports_no_other_command() -> None:
    found = find_imported("from eddy.jobs import cli\ncli.main(['validate', 'conf/three_way.toml'])")
    # Arrow imports pandas by itself, with the first value of Python's that it is given.
    assert found.isdisjoint({*HEAVY} - {"pandas"})
    assert {name.removeprefix(COMMANDS) for name in found if name.startswith(COMMANDS)} == {"command", "validate"}


def test_what_a_command_needs_is_light_until_it_runs() -> None:
    assert find_imported("from eddy.jobs import cli\ncli.command('validate')").isdisjoint(HEAVY)


WITHOUT_SPARK = "import sys; sys.modules['pyspark'] = None; from eddy.jobs import cli; import eddy"


@pytest.mark.parametrize("code", ["cli.main(['demo'])", "eddy.attach(None, {})"])
def test_where_there_is_no_spark_the_error_names_the_extra(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT_SPARK}; {code}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert 'expected the package "pyspark", got none; pip install "eddy-spark[spark]"' in done.stderr


def test_joins_filters_and_checks_need_no_spark() -> None:
    find_imported(
        f"{WITHOUT_SPARK}; import pandas\n"
        "assert len(eddy.where(pandas.DataFrame({'size': range(10)}), 'size > 5')) == 4\n"
        "assert cli.main(['validate', 'conf/three_way.toml']) == 0"
    )
