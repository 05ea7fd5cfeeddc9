"""Which key maps a STeM gets for what it is asked, each way to choose in its own file."""
