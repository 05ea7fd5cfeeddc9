"""What a course tells: its account, and what the arm in charge says."""

from __future__ import annotations

from dataclasses import replace

from eddy.observe.insight import NO_INSIGHT, Insight, Regret
from eddy.policies.auto.course import Course


def ask_champion(course: Course) -> Insight:
    """Tell what the arm in charge tells of this stream."""
    if course.champion is None:
        return NO_INSIGHT
    name, told = course.champion.name, course.champion.policy.insight
    decisions = [replace(d, policy=d.policy or name) for d in told.decisions if d.stream == course.stream]
    return replace(told, decisions=decisions)


def tell_regret(course: Course) -> Regret:
    """The account so far."""
    account, unsettled = course.ledger.account, course.ledger.unsettled
    state = "sampling" if course.sample else "in a duel" if course.duel else "in charge" if course.champion else "idle"
    return Regret(
        stream=course.stream,
        state=state,
        arm="written order" if course.champion is None else course.champion.name,
        spent=account.spent + unsettled,
        written=account.written + unsettled,
        error=course.ledger.find_error(course.champion),
        saved=account.saved,
        **account.optional,
    )
