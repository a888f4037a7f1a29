"""Compare the planned parameters with settings.yaml (``schema``): published and released settings."""
