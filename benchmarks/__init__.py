"""What the engine costs beside code that someone would write by hand, as ratios in one run."""
