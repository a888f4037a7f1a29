"""Judgements on a measured number: verdicts, tests between rows, effects, claims, audit, coverage."""
