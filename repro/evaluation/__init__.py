"""Runs, per-query scores, tests between systems, and verdicts against print."""
