"""What is said of a measured number: verdicts, tests between rows, effects, claims, audit, coverage."""
