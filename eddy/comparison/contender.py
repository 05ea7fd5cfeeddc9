"""A policy among those that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eddy.comparison.run_key import class_text
from eddy.comparison.workload import Workload
from eddy.redaction import HIDDEN, is_secret

if TYPE_CHECKING:
    from eddy.wiring import PolicyChoice

BASELINE, BOUND, CONTROL = "baseline", "bound", "control"
"""The one that others are compared with, the one that none can be better than, and the baseline once more, to show the
noise."""

AGAIN = "again"
"""The control is called as the baseline, with this behind it."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A policy with its parameters, its label and its role.

    `batch_rows` are those of its micro-batches, where they are not those of all others.
    """

    label: str
    role: str = ""
    batch_rows: int | None = None
    policy: PolicyChoice

    def find_missing(self, workload: Workload) -> str | None:
        """Find why the policy cannot run; None if it can.

        It asks for knowledge that the workload does not have of itself.
        """
        known = workload.list_facts()
        texts = [(n, v) for n, v in self._parameters().items() if isinstance(v, str)]
        asked = [(name, text) for name, text in texts if text in known and known[text] is None]
        return f'{asked[0][0]} = "{asked[0][1]}" is not known of this workload' if asked else None

    def choice(self, workload: Workload) -> PolicyChoice:
        """Give the policy as `run_local` takes it.

        A text such as "$truth" becomes what the workload knows of itself.
        """
        if not isinstance(self.policy, Mapping):
            return self.policy
        known = workload.list_facts()
        return {n: known.get(v, v) if isinstance(v, str) else v for n, v in self.policy.items()}

    @property
    def is_written_order(self) -> bool:
        """Whether rows go in the order of the query, in micro-batches as they are."""
        return self.policy in ("fixed", {"name": "fixed"}) and self.batch_rows is None

    def control(self) -> Contender:
        """Make the same policy once more."""
        label = f"{self.label} ({AGAIN})"
        return Contender(label=label, role=CONTROL, batch_rows=self.batch_rows, policy=self.policy)

    def describe(self) -> dict[str, Any]:
        """Give the settings that its runs depend on."""
        own = {} if self.batch_rows is None else {"batch_rows": self.batch_rows}
        code = {"code": class_text(self.policy)} if isinstance(self.policy, type) else {}
        return {"policy": name_of(self.policy), **code, **own, "again": self.role == CONTROL}

    def _parameters(self) -> Mapping[str, Any]:
        return self.policy if isinstance(self.policy, Mapping) else {}


def name_of(policy: PolicyChoice) -> str:
    """A name that tells one choice of policy and parameters apart."""
    from eddy.wiring import policy_name  # noqa: PLC0415  a plug-in that is imported first needs us before the wiring

    return policy_name(policy)


def label(policy: PolicyChoice) -> str:
    """Give the name of a policy that the user did not name.

    It has the parameters, without secret ones.

    >>> label({"name": "fixed", "order": ["big"]}), label({"name": "mine", "token": "x"})
    ("fixed(order=['big'])", 'mine(token=(hidden))')
    """
    if isinstance(policy, str):
        return policy
    if not isinstance(policy, Mapping):
        return name_of(policy)
    told = ", ".join(f"{n}={HIDDEN if is_secret((n,)) else v}" for n, v in policy.items() if _is_in_name(n, v))
    return f"{policy.get('name')}({told})" if told else str(policy.get("name"))


def _is_in_name(name: str, value: object) -> bool:
    """Tell whether a parameter belongs in the name.

    One that stands for a workload's own knowledge does not.
    """
    return name != "name" and not str(value).startswith("$")
