"""How a STeM finds the rows that a probe may match."""
