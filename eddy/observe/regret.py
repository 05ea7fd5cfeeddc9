"""What adapting has cost and what it has saved: sums and words.

A policy that keeps an account tells of each stream, in each micro-batch, what was spent and what the written order
would have taken. Accounts add up over micro-batches and over cells; other policies tell nothing, and nothing is shown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from eddy.errors import clip
from eddy.observe.counters import Counters
from eddy.observe.insight import Regret
from eddy.observe.text import align_columns, write_seconds

SUMMED = ("spent", "written", "saved", "sampling", "duels", "control", "learning")
"""Seconds, which add up. The error of a sum is another matter."""

WIDEST_NAME = 18
"""Characters of a stream, a state or an arm: three of them and the seconds fit into a line."""

TITLES = ["stream", "state", "arm", "spent", "written order", "saved", "adapting", "regret"]


def sum_over_cells(regrets: Iterable[Regret]) -> list[Regret]:
    """Add up the accounts of a stream in several cells.

    Seconds add up; standard errors add up in squares, since each cell makes its own estimate. Cells need not agree:
    `state` and `arm` are those of all cells, the commonest first.
    """
    return [
        _sum(same, state=_join(r.state for r in same), arm=_join(r.arm for r in same))
        for same in _by_stream(regrets).values()
    ]


def count_since(now: Sequence[Regret], before: Mapping[str, Regret]) -> list[Regret]:
    """Give the part of each account that is new; policies tell of all that has been.

    What the written order would have cost is as uncertain for the new part as for the whole.
    """
    return [_subtract(account, before[account.stream]) if account.stream in before else account for account in now]


def _subtract(account: Regret, known: Regret) -> Regret:
    # Done for every stream in every micro-batch, so without names: a loop over them takes ten times as long.
    stream, state, arm, spent, written, error, saved, sampling, duels, control, learning = account
    _, _, _, old_spent, old_written, _, old_saved, old_sampling, old_duels, old_control, old_learning = known
    new = written - old_written
    return Regret(
        stream,
        state,
        arm,
        spent - old_spent,
        new,
        error * new / written if written else 0.0,
        saved - old_saved,
        sampling - old_sampling,
        duels - old_duels,
        control - old_control,
        learning - old_learning,
    )


def sum_over_batches(counters: Iterable[Counters]) -> list[Regret]:
    """Add up the accounts of each stream over micro-batches.

    `state` and `arm` are those of its last micro-batch.
    """
    return sum_over_time(regret for c in counters for regret in c.insight.regrets)


def sum_over_time(regrets: Iterable[Regret]) -> list[Regret]:
    """Add up accounts of each stream, the earliest first."""
    return [_sum(same, state=same[-1].state, arm=same[-1].arm) for same in _by_stream(regrets).values()]


def measure_regret(account: Regret) -> float | None:
    """Give what was spent over the written order, as a share of it.

    It is below zero where more was saved than spent; None while nothing is known of the written order.

    >>> none = Regret(stream="s", state="", arm="", spent=0, written=0, error=0, saved=0, sampling=0, duels=0,
    ...     control=0, learning=0)
    >>> measure_regret(none._replace(spent=90.0, written=120.0)), measure_regret(none)
    (-0.25, None)
    """
    return (account.spent - account.written) / account.written if account.written > 0 else None


def write_regret(account: Regret) -> str:
    """Write the regret in per cent; "" while it is not known."""
    share = measure_regret(account)
    return "" if share is None else f"{round(share * 100, 1) + 0.0:+.1f} %"


def tell_adapting(accounts: Sequence[Regret], write: Callable[[float], str] = write_seconds) -> str:
    """Tell in one line what adapting has cost and saved.

    Policies that keep no account get "". `write` is for accounts in calls, as of a policy with `costs = "unit"`.
    """
    if not accounts:
        return ""
    besides = sum(map(_besides, accounts))
    saved, written = (sum(getattr(a, name) for a in accounts) for name in ("saved", "written"))
    gain = f"{write(abs(saved))} {'saved' if saved >= 0 else 'lost'}"
    # Rows that others were tried on may have cost less than they would have in the written order.
    tried = "samples, duels, control and learning"
    took = f"{write(besides)} spent on {tried}" if besides >= 0 else f"{tried} took {write(-besides)} less than without"
    return f"adapting: {took}; {gain}, of {write(written)} in the written order"


def list_accounts(accounts: Sequence[Regret], write: Callable[[float], str] = write_seconds) -> Iterator[str]:
    """Write a line for each stream, below titles.

    `adapting` is what samples, duels, control and learning took; `regret` is what everything took over the written
    order.
    """
    yield from align_columns([TITLES, *(account_cells(account, write) for account in accounts)], "<<<>>>>>")


def account_cells(account: Regret, write: Callable[[float], str] = write_seconds) -> list[str]:
    """Write an account as texts, one for each of `TITLES`."""
    names = (clip(name, WIDEST_NAME) for name in (account.stream, account.state, account.arm))
    error = f" ± {write(account.error)}" if account.error > 0 else ""
    return [
        *names,
        write(account.spent),
        f"{write(account.written)}{error}",
        write(account.saved),
        write(_besides(account)),
        write_regret(account),
    ]


def _besides(account: Regret) -> float:
    return account.sampling + account.duels + account.control + account.learning


def _by_stream(regrets: Iterable[Regret]) -> dict[str, list[Regret]]:
    found: dict[str, list[Regret]] = {}
    for regret in regrets:
        found.setdefault(regret.stream, []).append(regret)
    return found


def _sum(same: Sequence[Regret], *, state: str, arm: str) -> Regret:
    sums = {name: sum(getattr(regret, name) for regret in same) for name in SUMMED}
    error = math.hypot(*(regret.error for regret in same))
    return Regret(stream=same[0].stream, state=state, arm=arm, error=error, **sums)


def _join(texts: Iterable[str]) -> str:
    """Join different texts, the commonest first.

    >>> _join(["idle", "in charge", "in charge"]), _join(["b", "a"])
    ('in charge, idle', 'a, b')
    """
    counts = Counter(texts)
    return ", ".join(sorted(counts, key=lambda text: (-counts[text], text)))
