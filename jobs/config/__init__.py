"""A TOML file becomes a job."""
