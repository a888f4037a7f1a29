"""Papers as data: published cells, readings, and the checks of both."""
