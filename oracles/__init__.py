"""Objectives of the suite held against the code that was released for them; README.md says how to run it."""
