"""Papers as data, and the checks of it."""
