"""Filters alone: a step of Spark without state and without a shuffle."""
