"""The data and the workloads of experiments."""
