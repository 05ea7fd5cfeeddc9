"""Several queries over the same streams, as one step of a streaming job."""
