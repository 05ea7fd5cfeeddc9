"""What a policy may be told beforehand: how selective operators are, by class and by phase of the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.classes.classifier import Features
from eddy.classes.divider import Attribute, Buckets
from eddy.classes.single_values import MOST_BUCKETS
from eddy.contracts import Setting
from eddy.errors import QueryError, is_whole, unknown_name
from eddy.tuples.arrays import Floats, Integers

SHARED = ("attribute", "values", "selectivities")
OWN = ("operators",)
PHASES = ("phases",)
PHASE = "from"
"""The parts of a truth: of one attribute for all operators, of one for each operator, or of several phases."""

MOST_PHASES = 250
"""Phases at most: a row's phase is one byte, as its buckets are."""

Told = Mapping[str, tuple[Attribute, Floats]]
"""Each operator's attribute, its selectivity for each value, and then for all others."""


class Truth:
    """The selectivities of operators, by class of rows and by phase of the stream."""

    def __init__(self, truth: object, setting: Setting, *, where: str) -> None:
        self._where, self._setting = where, setting
        self._columns = {str(column): column for column in setting.columns}
        if not isinstance(truth, Mapping) or set(truth) not in (set(SHARED), set(OWN), set(PHASES)):
            raise QueryError(
                f"{where}: expected attribute, values and selectivities, or operators with such of their own, or "
                f"phases, got {truth!r}"
            )
        self._phases, self._begins = self._read_phases(truth)
        attributes = dict.fromkeys(attribute for told in self._phases for attribute, _ in told.values())
        columns = [attribute.column for attribute in attributes]
        if len(set(columns)) < len(columns):
            raise QueryError(f"{where}: expected the same values of an attribute everywhere, got others in {truth!r}")
        most = max((len(attribute.values) for attribute in attributes), default=0)
        self.features = Features(attributes=tuple(attributes), buckets=max(most, 2))

    @property
    def has_phases(self) -> bool:
        """Tell whether the rows of a stream have to be counted."""
        return len(self._begins) > 1

    def find_phases(self, first: int, rows: int) -> Buckets:
        """Find the phase of each row, where the first one has a number."""
        return (np.searchsorted(self._begins, first + np.arange(rows), side="right") - 1).astype(np.uint8)

    def rates(self, operator: str, phases: Integers, stream: str, classes: Buckets) -> Floats | None:
        """Give an operator's selectivity for classes of a stream's rows; None if nobody told it.

        Each class has a phase, and a bucket of each of the stream's attributes.
        """
        found = np.empty(len(classes))
        own = self.features.of(stream)
        for phase in np.unique(phases).tolist():
            told = self._phases[phase].get(operator)
            if told is None:
                return None
            attribute, rates = told
            of_phase = phases == phase
            buckets = classes[of_phase, own.index(attribute)] if attribute in own else np.array([len(rates) - 1])
            found[of_phase] = rates[np.minimum(buckets, len(rates) - 1)]
        return found

    def _read_phases(self, truth: Mapping[str, Any]) -> tuple[list[Told], Integers]:
        if set(truth) != set(PHASES):
            return [self._read(truth)], np.array([0])
        told = truth["phases"]
        if not isinstance(told, list | tuple) or not 1 <= len(told) <= MOST_PHASES:
            raise QueryError(f"{self._where}: phases: expected a list of 1 to {MOST_PHASES} phases, got {told!r}")
        for one in told:
            if not isinstance(one, Mapping) or not is_whole(one.get(PHASE), 0):
                raise QueryError(f'{self._where}: phases: expected "from", the number of a row, in each, got {one!r}')
        begins = [one[PHASE] for one in told]
        if begins[0] != 0 or begins != sorted(set(begins)):
            raise QueryError(f'{self._where}: phases: expected "from" to begin with 0 and to rise, got {begins}')
        return [self._read({k: part for k, part in one.items() if k != PHASE}) for one in told], np.array(begins)

    def _read(self, truth: Mapping[str, Any]) -> Told:
        """Read the truth of one phase."""
        if set(truth) == set(OWN) and isinstance(truth["operators"], Mapping):
            return {name: self._read_operator(name, one) for name, one in truth["operators"].items()}
        if set(truth) != set(SHARED):
            raise QueryError(f"{self._where}: expected attribute, values and selectivities, got {truth!r}")
        attribute, told = self._read_attribute(truth), truth["selectivities"]
        if not isinstance(told, Mapping):
            raise QueryError(
                f"{self._where}: selectivities: expected a list of numbers for each operator, got {told!r}"
            )
        return {name: (attribute, self._read_rates(name, rates, attribute)) for name, rates in told.items()}

    def _read_operator(self, name: str, told: object) -> tuple[Attribute, Floats]:
        if not isinstance(told, Mapping) or set(told) != set(SHARED):
            raise QueryError(
                f'{self._where}: operators: expected attribute, values and selectivities of "{name}", got {told!r}'
            )
        attribute = self._read_attribute(told)
        return attribute, self._read_rates(name, told["selectivities"], attribute)

    def _read_attribute(self, told: Mapping[str, Any]) -> Attribute:
        name, values = str(told["attribute"]), told["values"]
        if name not in self._columns:
            raise unknown_name("classifier attribute", name, self._columns, where=self._where)
        if not isinstance(values, list | tuple) or not 1 <= len(set(values)) == len(values) <= MOST_BUCKETS:
            raise QueryError(
                f"{self._where}: values: expected a list of 1 to {MOST_BUCKETS} different values, got {values!r}"
            )
        return Attribute(self._columns[name], tuple(values))

    def _read_rates(self, operator: str, told: object, attribute: Attribute) -> Floats:
        where, values = f"{self._where}: selectivities", len(attribute.values)
        if operator not in self._setting.operators:
            raise unknown_name("operator", operator, self._setting.operators, where=where)
        if not isinstance(told, Sequence) or not all(isinstance(rate, int | float) and rate >= 0 for rate in told):
            raise QueryError(f'{where}: expected numbers of 0 or more for "{operator}", got {told!r}')
        if len(told) != values:
            raise QueryError(f'{where}: expected one for each of {values} values, got {len(told)} of "{operator}"')
        return np.array([*told, sum(told) / len(told)], np.float64)
