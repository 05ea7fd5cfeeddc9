"""A policy among those that are compared, with the indexes that it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eddy.comparison.run_key import class_text
from eddy.comparison.workload import Workload
from eddy.errors import write_repr
from eddy.redaction import HIDDEN, is_secret

if TYPE_CHECKING:
    from eddy.wiring import IndexChoice, PolicyChoice

BASELINE, BOUND, CONTROL = "baseline", "bound", "control"
"""The one that others are compared with, the one that none can be better than, and the baseline once more, to show the
noise."""

AGAIN = "again"
"""The control is called as the baseline, with this behind it."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A policy with its parameters, its label and its role.

    `batch_rows` are those of its micro-batches, where they are not those of all others; `index` says how rows are found
    there, and `cache_memory` how much caches may keep, as `run_local` takes them.
    """

    label: str
    role: str = ""
    batch_rows: int | None = None
    policy: PolicyChoice
    index: IndexChoice = None
    cache_memory: int | None = None

    def find_missing(self, workload: Workload) -> str | None:
        """Find why the policy cannot run; None if it can.

        It asks for knowledge that the workload does not have of itself.
        """
        known = workload.list_facts()
        given = self.policy if isinstance(self.policy, Mapping) else {}
        asked = [(n, v) for n, v in given.items() if isinstance(v, str) and v in known and known[v] is None]
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
    def written(self) -> PolicyChoice:
        """The choice as a user writes it."""
        if self.index is None:
            return self.policy
        given = self.policy if isinstance(self.policy, Mapping) else {"name": self.policy}
        return {**given, "index": self.index}

    @property
    def is_written_order(self) -> bool:
        """Whether rows go in the order of the query, in micro-batches as they are."""
        return self.policy in ("fixed", {"name": "fixed"}) and self.batch_rows is None

    def control(self) -> Contender:
        """Make the same policy once more."""
        return replace(self, label=f"{self.label} ({AGAIN})", role=CONTROL)

    def differs_in_index(self, other: Contender) -> bool:
        """Tell whether it goes by other indexes only, and so must take the same routes.

        Where routes depend on what steps take, they may well be others.
        """
        from eddy.wiring import depends_on_time  # noqa: PLC0415  as below

        same = name_of(self.policy) == name_of(other.policy) and self.batch_rows == other.batch_rows
        return same and self.index != other.index and not depends_on_time(self.policy)

    def describe(self) -> dict[str, Any]:
        """Give the settings that its runs depend on."""
        own: dict[str, Any] = {} if self.batch_rows is None else {"batch_rows": self.batch_rows}
        own |= {} if self.index is None else {"index": index_text(self.index)}
        own |= {} if self.cache_memory is None else {"cache_memory": self.cache_memory}
        code = {"code": class_text(self.policy)} if isinstance(self.policy, type) else {}
        return {"policy": name_of(self.policy), **code, **own, "again": self.role == CONTROL}


def make_contender(
    choice: PolicyChoice, *, label: str, role: str = "", batch_rows: int | None = None, cache_memory: int | None = None
) -> Contender:
    """Make a contender of a policy, which may have an `index` among its parameters."""
    from eddy.wiring import read_index  # noqa: PLC0415  a plug-in that is imported first needs us before the wiring

    policy, index = split_index(choice)
    read_index(index, where=f'policy "{label}": index', may_be_told=True)
    return Contender(
        label=label, role=role, batch_rows=batch_rows, policy=policy, index=index, cache_memory=cache_memory
    )


def split_index(choice: PolicyChoice) -> tuple[PolicyChoice, IndexChoice]:
    """Split a choice of a policy, which may have an `index` among its parameters.

    >>> split_index({"name": "fixed", "index": "bits"})
    ({'name': 'fixed'}, 'bits')
    """
    if not isinstance(choice, Mapping) or "index" not in choice:
        return choice, None
    return {name: value for name, value in choice.items() if name != "index"}, choice["index"]


def index_text(index: IndexChoice) -> str:
    """Write a choice of indexes in few words.

    >>> index_text({"kind": "bits", "bits": 14, "assess": "dia"})
    'bits(bits=14, assess=dia)'
    """
    if index is None or isinstance(index, str):
        return index or ""
    if not isinstance(index, Mapping):
        return write_repr(index)
    given = dict(index)
    kind = given.pop("kind", "")
    told = ", ".join(f"{name}={value}" for name, value in given.items())
    return f"{kind}({told})" if told else str(kind)


def name_of(policy: PolicyChoice) -> str:
    """A name that tells one choice of policy and parameters apart."""
    from eddy.wiring import policy_name  # noqa: PLC0415  a plug-in that is imported first needs us before the wiring

    return policy_name(policy)


def label(policy: PolicyChoice) -> str:
    """Give the name of a policy that the user did not name.

    It has the parameters, without secret ones.

    >>> label({"name": "fixed", "order": ["big"]}), label({"name": "mine", "token": "x"})
    ("fixed(order=['big'])", 'mine(token=(hidden))')
    >>> label({"name": "fixed", "index": {"kind": "bits"}})
    'fixed by bits'
    """
    policy, index = split_index(policy)
    if index is not None:
        return f"{label(policy)} by {index_text(index)}"
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
