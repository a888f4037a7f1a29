"""The source of any paper: its tables read, drafted as a manifest, and audited before a referee does it."""

from repro.hooks import Command, answer


@answer
def commands():
    """Let a new paper begin with its tables, and offer the audit of a source."""
    drafted = "a folder of placeholders that runs, or cells drafted from the tables of a source"
    audited = "the tables and sentences of a paper's source: LaTeX, Markdown, CSV, HTML"
    return {
        "new paper": Command(drafted, "repro.plugins.manuscripts.new_paper:command"),
        "audit file": Command(audited, "repro.plugins.manuscripts.manuscript_audit:file_command"),
    }
