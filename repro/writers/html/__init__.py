"""The report as HTML."""
