"""Counters survive being sent."""

from __future__ import annotations

import json

import pytest

import eddy
from eddy.observe.wire import from_plain, to_plain
from eddy.wiring import PolicyChoice
from tests.eddy.test_engine import engine, pairs, query


@pytest.mark.parametrize("policy", ["fixed", "content", {"name": "query_mesh", "S": 2}])
def test_counters_come_back_as_they_were(policy: PolicyChoice) -> None:
    running = engine(query(filters=[eddy.Filter("f", on="a", where="k > 0")]), policy)
    pairs(running, a=[(1, 1), (2, 0), (3, 1)], b=[(1, 1)])
    pairs(running, a=[(3, 1)], b=[(4, 1), (5, 2)])
    counted = running.read_counters()
    assert counted.operators
    assert counted.routes
    assert len(counted.insight.uses) > 0 or policy == "fixed"
    sent = from_plain(json.loads(json.dumps(to_plain(counted))))
    assert to_plain(sent) == to_plain(counted)
    assert eddy.Report([sent]).routes().equals(eddy.Report([counted]).routes())
    assert eddy.Report([sent]).operators().equals(eddy.Report([counted]).operators())
    assert eddy.Report([sent]).batches().equals(eddy.Report([counted]).batches())
    assert eddy.Report([sent]).decisions().equals(eddy.Report([counted]).decisions())
    assert eddy.Report([sent]).decisions().empty == isinstance(policy, str)
