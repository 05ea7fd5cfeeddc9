"""Which rows that are stored get new indexes, each way to say so in its own file (section 8 of the AMRI paper)."""
