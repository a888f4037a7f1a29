"""Compare planned parameters with published and released settings, which settings.yaml contains."""
