"""Tests of kernels: both kinds, on the same random inputs and on edges."""
