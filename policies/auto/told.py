"""What a course tells: its account, and what the arm in charge says."""

from __future__ import annotations

from dataclasses import replace

from eddy.observe.insight import WRITTEN_ORDER, Insight, Regret
from eddy.policies.auto.arms import Arm
from eddy.policies.auto.course import Course


def ask_champion(arm: Arm, stream: str) -> Insight:
    """Tell what the arm in charge tells of a stream."""
    told = arm.policy.insight
    decisions = [replace(d, policy=d.policy or arm.name) for d in told.decisions if d.stream == stream]
    return replace(told, decisions=decisions)


def tell_regret(course: Course) -> Regret:
    """Tell the account so far; rounds that are not settled yet count as if they had been like others."""
    ledger, account, idle = course.ledger, course.ledger.account, course.ledger.unsettled
    if course.is_idle:
        return Regret(
            stream=course.stream,
            state="idle",
            arm=WRITTEN_ORDER,
            spent=account.spent + idle,
            written=account.written + idle,
            error=0.0,
            saved=account.saved,
            **account.optional,
        )
    written, usual, learning = ledger.expect_quiet(course.champion, ledger.current(course.champion, course.guard))
    optional = {**account.optional, "learning": account.optional["learning"] + learning}
    state = "sampling" if course.sample is not None else "in a duel" if course.duel is not None else "in charge"
    return Regret(
        stream=course.stream,
        state=state,
        arm=WRITTEN_ORDER if course.champion is None else course.champion.name,
        spent=account.spent + idle + usual + learning,
        written=account.written + idle + written,
        error=ledger.find_error(course.champion),
        saved=account.saved + written - usual,
        **optional,
    )
