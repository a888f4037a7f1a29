"""Engines, e.g. "local", run nodes with stored inputs and store their artefacts."""
