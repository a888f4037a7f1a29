"""Runs and encoders of others, brought in and scored; runs and encoders of the suite, handed out."""
