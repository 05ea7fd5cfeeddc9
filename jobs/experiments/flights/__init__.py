"""Real data: all flights from New York City in 2013.

With the weather, the planes, and queries that people would ask.
"""
