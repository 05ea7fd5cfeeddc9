"""What a STeM is made of: columns that grow, pages of a snapshot, windows that count rows."""
