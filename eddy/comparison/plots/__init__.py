"""The plots of a comparison, drawn with matplotlib.

They can be read in grey, and by those who see no red and green.
"""
