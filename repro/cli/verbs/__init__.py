"""One module per verb, with a click ``command``, e.g. ``repro.cli.verbs.show``."""
