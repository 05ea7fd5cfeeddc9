"""eddy init: a project with one job, its filters and a test of them."""

from __future__ import annotations

import keyword
import re
import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

from eddy.errors import QueryError, quote
from eddy.jobs.commands.command import Command
from eddy.observe.text import plural

JOB = """\
# Web requests of scripts, with a token that is too short. "eddy run job.toml" runs it.

[query]
name = "$name"
select = ["web.at", "web.agent", "web.size"]

[streams.web]
time = "at"

# Requests that come with eddy, to begin with. Files of your own: format = "parquet", path = "/data/requests".
[streams.web.source]
format = "workload"
kind = "web"
parameters = { rows = 5_000 }
per_trigger = 1_000

# Filters are asked in whatever order is best for the rows at hand: SQL, or functions of ${module}.py.
[filters.large]
on = "web"
where = "size > 100"

[filters.scripted]
on = "web"
function = "${module}:is_scripted"
columns = ["agent"]

[filters.short_token]
on = "web"
function = "${module}:has_short_token"
columns = ["body"]

# Read what is there, and end. Without this section the job waits for more; give it a [checkpoint] then.
[trigger]
available_now = true

[sink]
format = "console"
rows = 5
"""

FILTERS = '''\
"""The filters of the job: whole columns come, a boolean for each row goes."""

from __future__ import annotations

import pandas as pd

TOKEN_DIGITS = 9


def is_scripted(agent: pd.Series) -> pd.Series:
    """Tell which agents say that they are scripts."""
    return agent.str.contains("script", regex=False)


def has_short_token(body: pd.Series) -> pd.Series:
    """Tell where the token has fewer digits than it should."""
    return body.str.extract(r"token=(\\w*)", expand=False).str.len().fillna(0) < TOKEN_DIGITS
'''

TEST = '''\
"""Tests of the filters, and of the job as a whole; none of them starts Spark."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from $module import has_short_token, is_scripted

from eddy.jobs import cli

JOB = str(Path(__file__).with_name("job.toml"))


def test_scripts_are_told_from_browsers() -> None:
    assert is_scripted(pd.Series(["curl/8.5 (script)", "Firefox"])).tolist() == [True, False]


def test_tokens_have_nine_digits() -> None:
    assert has_short_token(pd.Series(["token=12345678&a=1", "token=123456789", "a=1"])).tolist() == [True, False, True]


def test_the_job_is_right() -> None:
    assert cli.main(["validate", JOB, "--sample", "500"]) == 0
'''

README = """\
# $name

`job.toml` says what is read, which filters and joins there are, and where the answer goes. `${module}.py` has the
filters in Python.

```sh
pip install "eddy-spark[spark]" pytest
eddy validate job.toml --sample 500   # what is wrong with it, and its first results, without Spark
eddy run job.toml                     # hands it to spark-submit; Spark needs Java 17 or newer
eddy compare job.toml                 # which policy is best for these rows
pytest                                # the filters and the job, without Spark
```

`eddy doctor` says what to do if Spark does not start.
"""

IGNORED = """\
__pycache__/
.pytest_cache/
.venv/
checkpoints/
metastore_db/
spark-warehouse/
derby.log
"""

MODULE = "{}_filters"
"""The project's name stands in it, so that no module of somebody else's is called like it."""

FILES = {
    "job.toml": JOB,
    f"{MODULE}.py": FILTERS,
    f"test_{MODULE}.py": TEST,
    "README.md": README,
    ".gitignore": IGNORED,
}
"""What a project is made of."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", metavar="DIR", help="the folder of the project; its name becomes the job's")


def run(chosen: Namespace) -> int:
    """Write the files of a project, and say how to go on."""
    folder = Path(chosen.folder)
    written = make_project(folder)
    print(f"{plural(len(written), 'file')} in {folder}: {', '.join(written)}")
    here = folder.resolve() == Path.cwd()
    print(f"next: {'' if here else f'cd {shlex.quote(str(folder))} && '}eddy run job.toml")
    return 0


def make_project(folder: Path) -> list[str]:
    """Write the files, none of which may be there."""
    name = check_name(folder)
    module = MODULE.format(name)
    texts = {file.format(name): fill(text, name, module) for file, text in FILES.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [file for file in texts if (folder / file).exists() or (folder / file).is_symlink()]
        if there:
            raise QueryError(
                f'init "{folder}": expected a folder without {quote(there)}, since nothing is overwritten; take '
                "another folder, or move what is there"
            )
        for file, text in texts.items():
            with (folder / file).open("x", encoding="utf-8") as opened:
                opened.write(text)
    except OSError as error:
        raise QueryError(f'init "{folder}": cannot be written: {error.strerror}') from None
    return list(texts)


def check_name(folder: Path) -> str:
    """Find the name of a project, which is that of a module of Python's too.

    >>> check_name(Path("late-orders"))
    'late_orders'
    """
    given = folder.resolve().name
    name = given.replace("-", "_")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or keyword.iskeyword(name):
        raise QueryError(
            f'init "{folder}": expected the name of a folder with letters, digits, - and _ alone, the first a letter, '
            f'and no word of Python\'s, such as "late_orders", got "{given}"'
        )
    return name


def fill(text: str, name: str, module: str) -> str:
    """Put the names of a project into a text.

    >>> fill("$name: ${module}.py", "late", "late_filters")
    'late: late_filters.py'
    """
    return text.replace("${module}", module).replace("$module", module).replace("$name", name)


COMMAND = Command(arguments=arguments, run=run)
