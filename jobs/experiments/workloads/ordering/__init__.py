"""Workloads about orders: filters that depend on each other, traps for policies, and a star of lookups."""
