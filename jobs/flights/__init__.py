"""Real data: every flight that left New York City in 2013, the weather, and what people would ask of them."""
