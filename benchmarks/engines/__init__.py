"""A program for each streaming engine.

It joins the streams of a task, and prints how long that took.
"""
