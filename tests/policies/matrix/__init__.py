"""A-Greedy and its variants: figures and examples of the thesis, and what they do in the engine."""
