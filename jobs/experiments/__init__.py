"""Experiments from files, with their data and workloads; they are in the repository, and in no wheel."""
