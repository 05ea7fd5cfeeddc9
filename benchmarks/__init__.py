"""Benchmarks: the engine beside code written by hand.

Figures are ratios within one run.
"""
