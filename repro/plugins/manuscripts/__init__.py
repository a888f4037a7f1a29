"""The source of any paper: its tables read, drafted as a manifest, and audited before a referee does it."""
