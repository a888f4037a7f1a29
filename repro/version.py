"""The version of the suite, e.g. 0.4.0, and the mark of changed code. It imports nothing."""

__version__ = "0.4.0"
DIRTY = "-dirty"  # behind a commit from which the checkout differed
