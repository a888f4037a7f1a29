"""The version of the suite, e.g. 0.2.0, which imports nothing so that every module may import it."""

__version__ = "0.2.0"
