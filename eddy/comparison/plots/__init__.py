"""What a comparison can draw, with matplotlib: readable in grey, and by those who see no red and green."""
