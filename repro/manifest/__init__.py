"""Papers as data files, and the checks of these files."""
