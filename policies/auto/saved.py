"""A course as plain values and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eddy.observe.insight import Decision
from eddy.policies.auto.arms import Arm
from eddy.policies.auto.conduct import Challenge
from eddy.policies.auto.course import Course
from eddy.policies.auto.duel import Duel
from eddy.policies.auto.guard import ArmGuard
from eddy.policies.auto.sample import TriedRows
from eddy.policies.auto.told import tell_regret
from eddy.tuples import Hop

NUMBERS = ("rows", "look", "decided", "independent")
"""The plain numbers of a course."""

Arrays = dict[str, Any]


def save(course: Course) -> tuple[dict[str, Any], Arrays]:
    """Write a course down: plain values, and the arrays of its arms and samples."""
    arrays: Arrays = {}
    told = tell_regret(course)
    plain = {
        "state": told.state,
        "arm": told.arm,
        "account": course.ledger.account.snapshot(),
        "reasons": [decision.reason for decision in course.decisions],
        "ledger": course.ledger.snapshot(),
        "numbers": {name: getattr(course, name) for name in NUMBERS},
        "dealer": course.dealer.snapshot(),
        "next_challenge": course.next_challenge,
        "ready": [list(hop) for hop in course.ready],
        "prospect": course.prospect.snapshot(),
        "idle": course.idle.snapshot(),
        "guard": course.guard.snapshot(),
        "duel": None if course.duel is None else course.duel.snapshot(),
        "champion": _save_arm("champion", course.champion, arrays),
        "challenger": _save_arm("challenger", course.challenger, arrays),
        "sample": _save_sample("sample", course.sample, arrays),
        "lesson": _save_sample("lesson", course.prospect.lesson, arrays),
    }
    return plain, arrays


def restore(course: Course, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Let a new course go on from what was written down."""
    course.ledger.restore(plain["ledger"], plain["account"])
    for name in NUMBERS:
        setattr(course, name, plain["numbers"][name])
    course.dealer.restore(plain["dealer"])
    course.next_challenge = None if plain["next_challenge"] is None else Challenge(*plain["next_challenge"])
    course.ready = tuple(Hop(*hop) for hop in plain["ready"])
    course.prospect.restore(plain["prospect"])
    course.idle.restore(plain["idle"])
    course.guard = ArmGuard.restore(plain["guard"])
    course.duel = None if plain["duel"] is None else Duel.restore(plain["duel"])
    course.champion, course.challenger = (
        _read_arm(place, course, plain, arrays) for place in ("champion", "challenger")
    )
    course.sample = _read_sample("sample", plain, arrays)
    course.prospect.lesson = _read_sample("lesson", plain, arrays)
    first = course.decided - len(plain["reasons"])
    course.decisions = [
        Decision(stream=course.stream, number=first + place, reason=reason, seconds=0.0, policy="auto")
        for place, reason in enumerate(plain["reasons"])
    ]


def _save_arm(place: str, arm: Arm | None, arrays: Arrays) -> list[Any] | None:
    if arm is None:
        return None
    state = arm.policy.snapshot()
    own = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    arrays |= {f"{place} {name}": value for name, value in own.items()}
    return [arm.name, arm.purse, {name: value for name, value in state.items() if name not in own}]


def _read_arm(place: str, course: Course, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> Arm | None:
    if plain[place] is None:
        return None
    name, purse, state = plain[place]
    arm = course.conduct.build(name, course.stream, purse)
    first = f"{place} "
    own = {key.removeprefix(first): value for key, value in arrays.items() if key.startswith(first)}
    arm.policy.restore({**state, **own})
    return arm


def _save_sample(place: str, sample: TriedRows | None, arrays: Arrays) -> dict[str, Any] | None:
    if sample is None:
        return None
    if len(sample):
        arrays |= {f"{place} buckets": sample.buckets, f"{place} outcomes": sample.outcomes}
    numbers = {"dividing": sample.dividing, "paid": sample.paid}
    return {"hops": [list(hop) for hop in sample.hops], "editions": list(sample.editions), **numbers}


def _read_sample(place: str, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> TriedRows | None:
    if plain[place] is None:
        return None
    sample = TriedRows(tuple(Hop(*hop) for hop in plain[place]["hops"]))
    sample.dividing = float(plain[place]["dividing"])
    if f"{place} buckets" in arrays:
        buckets, outcomes = arrays[f"{place} buckets"], list(arrays[f"{place} outcomes"].T)
        sample.add(buckets, outcomes, plain[place]["editions"])
    sample.paid = float(plain[place]["paid"])
    return sample
