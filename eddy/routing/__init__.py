"""The eddy routes tuples here: plan, step, until complete."""
