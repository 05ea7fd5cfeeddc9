"""Which indexes a STeM keeps: what is asked for is counted, and what serves it best is chosen while the query runs."""
