"""Workloads of experiments and demos, made from parameters and a seed."""
