"""Workloads of streams that are drawn to be joined."""
