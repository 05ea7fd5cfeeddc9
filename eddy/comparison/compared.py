"""An experiment is run, and becomes a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eddy.comparison.comparison import Comparison
from eddy.comparison.contender import Contender, name_of
from eddy.comparison.experiment import Experiment
from eddy.comparison.journal import Journal
from eddy.comparison.progress import Bar
from eddy.comparison.runner import Runner
from eddy.comparison.setting import machine
from eddy.comparison.skipping import Skipped, inapplicable
from eddy.comparison.turns import Turns


def compared(
    experiment: Experiment,
    place: Runner,
    *,
    command: str,
    resume: str | Path | None = None,
    quiet: bool = False,
) -> Comparison:
    """Run what has not been run before; `command` is how to do it again."""
    journal = Journal(resume)
    skipped = list(inapplicable(experiment))
    bar = Bar(_runs(experiment, skipped), quiet=quiet)
    where = machine()
    turns = Turns(experiment, place, journal, bar)
    try:
        turns.run(skipped, where)
    finally:
        bar.close()
    return Comparison(
        name=experiment.name,
        runs=turns.rows,
        traced=turns.traced,
        skipped=list(map(str, skipped)),
        settings={**_settings(experiment, place), "machine": where},
        command=command,
    )


def _runs(experiment: Experiment, skipped: list[Skipped]) -> int:
    """How many runs there are to be."""
    policies = 0
    for setup in experiment.setups:
        out = [skip.contender for skip in skipped if skip.point is setup.point]
        policies += len(experiment.controlled(without=out))
    return policies * len(experiment.seeds) * experiment.repeats


def _settings(experiment: Experiment, place: Runner) -> dict[str, Any]:
    """Everything that was asked for."""
    return {
        "experiment": experiment.name,
        "runner": place.name,
        **place.describe(),
        "repeats": experiment.repeats,
        "seeds": list(experiment.seeds),
        "rows of a micro-batch": list(experiment.batch_rows),
        "windows": [str(window) for window in experiment.windows] or "those of the query",
        "first rows only": experiment.rows,
        "policies": {contender.label: _policy(contender) for contender in experiment.contenders},
        "workloads": {point.label: dict(point.describe()) for point in experiment.points},
    }


def _policy(contender: Contender) -> dict[str, Any]:
    """Its parameters one by one, so that those that are secret can be told."""
    own = {} if contender.batch_rows is None else {"rows of a micro-batch": contender.batch_rows}
    given = contender.policy
    told = given if isinstance(given, Mapping) else {"name": given if isinstance(given, str) else name_of(given)}
    return {**told, **own, "role": contender.role or "none"}
