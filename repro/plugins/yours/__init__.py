"""Runs and encoders of one's own: scored as the suite scores its own, as rows of a paper's table."""
