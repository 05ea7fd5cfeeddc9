"""A comparison as a notebook shows it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from eddy.comparison.html.summaries import choices, policies
from eddy.comparison.summary import grouped
from eddy.comparison.verdict import verdict

if TYPE_CHECKING:
    from eddy.comparison.comparison import Comparison

BOX = "border-left: 5px solid #0b6b4f; padding: 8px 14px; margin: 6px 0"
"""The only look of its own: a notebook has a style for everything else, dark or light."""


def note(comparison: Comparison) -> str:
    """The verdict and the summary; the plots are one call away."""
    found = verdict(comparison.runs)
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in found.reasons)
    parts = [f'<div style="{BOX}"><b>{escape(found.headline)}</b><ul>{reasons}</ul></div>']
    if len(grouped(comparison.runs)) > 1:
        parts.append(choices(comparison.runs, sorts=False))
    parts.append(policies(comparison.runs, found.choice, sorts=False))
    return "\n".join(parts)
