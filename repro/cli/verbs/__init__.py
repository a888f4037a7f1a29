"""One module for each verb of the command line; it holds a click ``command``."""
