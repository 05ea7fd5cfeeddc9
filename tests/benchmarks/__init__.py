"""Tests of how benchmarks measure, and that contenders agree; none of what is fast."""
