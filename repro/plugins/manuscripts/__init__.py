"""The source of any paper: its tables read, drafted as a manifest, and audited before a referee does it."""

from repro.hooks import Command, answer


@answer
def commands():
    """Offer the audit of a source."""
    line = "the tables and sentences of a paper's source: LaTeX, Markdown, CSV, HTML"
    return {"audit file": Command(line, "repro.plugins.manuscripts.verb:file_command")}
