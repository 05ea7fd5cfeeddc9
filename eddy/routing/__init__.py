"""Tuples are routed here: plan, step, until they are complete."""
