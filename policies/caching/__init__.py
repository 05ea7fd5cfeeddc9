"""Where caches are placed in the routes of streams, and which trees of joins they are compared with."""
