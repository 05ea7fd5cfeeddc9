"""Where caches are placed in the routes of streams: which there can be, what they are worth, and which are used."""
