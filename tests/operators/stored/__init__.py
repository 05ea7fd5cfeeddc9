"""Tests of what a STeM is made of."""
