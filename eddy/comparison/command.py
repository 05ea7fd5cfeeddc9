"""The call that runs a comparison again.

It is for a reader who has the query and the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eddy.comparison.contender import Contender, name_of
from eddy.comparison.contender import label as label_of
from eddy.comparison.experiment import Experiment
from eddy.redaction import HIDDEN, is_secret

if TYPE_CHECKING:
    from eddy.wiring import PolicyChoice


def command(experiment: Experiment, *, runner: str, cells: int | None = None, drift_points: Sequence[int] = ()) -> str:
    """The call of `eddy.compare`, with what is not as it would be anyway; no secret is in it.

    >>> command(
    ...     Experiment(
    ...         name="q",
    ...         points=[],
    ...         contenders=[
    ...             Contender(label="fixed", role="baseline", policy="fixed"),
    ...             Contender(label="mine", policy={"name": "content", "P": 0.1}),
    ...         ],
    ...         seeds=[0],
    ...         batch_rows=[500],
    ...         repeats=3,
    ...     ),
    ...     runner="local",
    ... )
    'eddy.compare(query, data, {"fixed": "fixed", "mine": {"name": "content", "P": 0.1}}, repeats=3, batch_rows=500)'
    """
    first = experiment.contenders[0]
    said: dict[str, Any] = {"repeats": experiment.repeats}
    said |= {} if list(experiment.seeds) == [0] else {"seeds": list(experiment.seeds)}
    said |= {} if experiment.baseline is first else {"baseline": experiment.baseline.label}
    said |= {"batch_rows": experiment.batch_rows[0] if len(experiment.batch_rows) == 1 else list(experiment.batch_rows)}
    told = [f"{name}={_spell(value)}" for name, value in said.items()]
    told += [f"windows=[{', '.join(f'eddy.{window}' for window in experiment.windows)}]"] if experiment.windows else []
    told += [f"drift_points={list(drift_points)}"] if drift_points else []
    told += [] if runner == "local" else [f'runner="{runner}"']
    told += [] if cells is None else [f"cells={cells}"]
    return f"eddy.compare(query, data, {_policies(experiment.contenders)}, {', '.join(told)})"


def _policies(contenders: Sequence[Contender]) -> str:
    """A list where policies have no names of their own."""
    if all(contender.label == label_of(contender.policy) for contender in contenders):
        return f"[{', '.join(_policy(contender.policy) for contender in contenders)}]"
    return f"{{{', '.join(f'{_spell(each.label)}: {_policy(each.policy)}' for each in contenders)}}}"


def _policy(choice: PolicyChoice) -> str:
    return _spell(choice) if isinstance(choice, str | Mapping) else name_of(choice)


def _spell(value: object) -> str:
    """A value as a program would have it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        inner = ((name, HIDDEN if is_secret((str(name),)) else _spell(one)) for name, one in value.items())
        return f"{{{', '.join(f'{_spell(name)}: {text}' for name, text in inner)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spell, value))}]"
    return repr(value)
