"""Runs and encoders of others are imported, those of the suite are exported."""
