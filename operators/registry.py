"""Every operator there is."""

from __future__ import annotations

from operators.filter import Filter

OPERATORS = {
    "filter": Filter,
}
