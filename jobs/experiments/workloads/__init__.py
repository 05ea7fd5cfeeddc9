"""Workloads that experiments alone need."""
