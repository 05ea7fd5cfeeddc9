"""Tests of the workloads about orders."""
