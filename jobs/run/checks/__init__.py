"""Parts of what is checked of a job: of several queries as a whole, and what is allowed and seldom meant."""
