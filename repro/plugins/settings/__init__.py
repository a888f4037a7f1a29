"""Compare the planned parameters with settings.yaml, i.e. published and released settings."""
