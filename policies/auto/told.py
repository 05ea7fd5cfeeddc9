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
        # Told in every micro-batch of a stream on which nothing happens: names of fields would take twice the time.
        besides, written = account.optional.values(), account.written + idle
        spent = written - account.saved + sum(besides)
        return Regret(course.stream, "idle", WRITTEN_ORDER, spent, written, 0.0, account.saved, *besides)
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
