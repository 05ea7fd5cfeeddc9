"""When indexes are chosen anew, each way to say so in its own file (section 7 of the AMRI paper)."""
