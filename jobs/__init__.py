"""Programs that people start: `eddy run`, `eddy compare` etc."""
