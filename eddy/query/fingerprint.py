"""The parts of a query that its saved state depends on."""

from __future__ import annotations

from collections.abc import Mapping

from eddy.errors import CheckpointError, shorten
from eddy.predicates.function import Function
from eddy.query.binding import Binding
from eddy.query.existence import ANTI, SEMI
from eddy.query.query import Filter


def of(binding: Binding) -> dict[str, str]:
    """List the parts that stored rows and verdicts depend on.

    Each has a name for people.

    What is selected is not among them, nor is the policy: both may change from one start to the next, as long as the
    columns are stored.
    """
    query = binding.query
    parts: dict[str, str] = {}
    for stream in query.streams:
        place = f'stream "{stream.name}"'
        if stream.time is not None:
            parts[f"{place}: time"] = stream.time
        parts[f"{place}: window"] = str(stream.window)
        parts[f"{place}: delay"] = str(stream.delay)
        parts |= {f'{place}: column "{f.name}"': str(f.type) for f in binding.find_stored(stream.name)}
    parts |= {f'table "{table.name}"': "a table" for table in query.tables}
    parts |= {f'join "{text}"': "a join" for text in query.joins}
    parts |= {f'{kind} "{text}"': f"a {kind} join" for kind in (SEMI, ANTI) for text in getattr(query, kind)}
    parts |= {f'filter "{f.name}"': _describe_filter(f) for f in query.filters}
    return parts


def check(saved: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Refuse state that another query has written.

    The error says where they differ. Columns may be left unused.
    """
    differences = [
        f"{shorten(part)}: the checkpoint has {_quote_part(saved.get(part))}, "
        f"the query has {_quote_part(wanted.get(part))}"
        for part in dict.fromkeys((*wanted, *saved))
        if saved.get(part) != wanted.get(part) and not (part not in wanted and ": column " in part)
    ]
    if differences:
        raise CheckpointError(
            "checkpoint: it belongs to another query; " + "; ".join(differences) + "; "
            "go back to the query that wrote it, or begin a new checkpoint"
        )


def _describe_filter(asked: Filter) -> str:
    predicate = asked.predicate
    if isinstance(predicate, Function):
        return f"on {', '.join(asked.on)}: function {predicate.name} of {', '.join(map(str, predicate.columns))}"
    return f"on {', '.join(asked.on)}: {predicate.text}"


def _quote_part(part: str | None) -> str:
    return "nothing" if part is None else f'"{shorten(part)}"'
