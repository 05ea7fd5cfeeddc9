"""The inner loops of joins, each of them twice: in numpy, and compiled."""
