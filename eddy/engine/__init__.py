"""One cell: admit, build, route, emit, evict, save."""

from eddy.engine.engine import Engine

__all__ = ["Engine"]
