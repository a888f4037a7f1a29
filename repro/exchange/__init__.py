"""Imports runs by others, and exports runs and encoders."""
