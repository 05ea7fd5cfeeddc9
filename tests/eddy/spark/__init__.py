"""Tests of SQL expressions: by example, by property, and against Spark."""
