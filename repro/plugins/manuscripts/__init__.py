"""Papers' sources: their tables are read, drafted as a manifest, and audited, e.g. by ``repro audit
paper.tex``."""

from repro.hooks import Command, answer


@answer
def commands():
    """Offer ``new paper`` and ``audit file``."""
    drafted = "a folder of placeholders that runs, or a draft from the source of a paper"
    audited = "tables and sentences of a paper's source: LaTeX, Markdown, CSV, HTML"
    return {
        "new paper": Command(drafted, "repro.plugins.manuscripts.new_paper:command"),
        "audit file": Command(audited, "repro.plugins.manuscripts.manuscript_audit:file_command"),
    }
