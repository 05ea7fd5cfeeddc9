"""Policies that do not apply to a workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eddy.comparison.contender import Contender
from eddy.comparison.experiment import Experiment, Point
from eddy.errors import QueryError
from eddy.local import run_local


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A policy that does not apply to a workload, and why."""

    contender: Contender
    point: Point
    reason: str

    def __str__(self) -> str:
        return f"skipped: {self.contender.label} on {self.point.label}: {self.reason}"


def inapplicable(experiment: Experiment) -> Iterator[Skipped]:
    """Try every policy on one row of every workload; one that can run nowhere is the user's mistake."""
    for contender in experiment.contenders:
        tried = [(point, *_tried(contender, point, experiment)) for point in experiment.points]
        mistakes = [error for _, _, error in tried if error is not None]
        if mistakes and all(reason is not None for _, reason, _ in tried):
            raise mistakes[0]
        for point, reason, _ in tried:
            if reason is not None:
                yield Skipped(contender=contender, point=point, reason=reason)


def _tried(contender: Contender, point: Point, experiment: Experiment) -> tuple[str | None, QueryError | None]:
    """Why a policy does not apply, and the error where the policy itself says so."""
    workload = point.workload(experiment.seeds[0], rows=1)
    missing = contender.missing(workload)
    if missing is not None:
        return missing, None
    try:
        run_local(workload.query, workload.data, policy=contender.choice(workload))
    except QueryError as error:
        return str(error), error
    return None, None
