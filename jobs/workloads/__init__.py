"""Workloads made from parameters and a seed."""
