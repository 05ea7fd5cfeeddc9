"""Public data of packages on PyPI: airports, and seasons of baseball."""
