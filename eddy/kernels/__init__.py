"""The inner loops of joins: in numpy, and compiled; those along chains compiled only."""
