"""``repro audit FILE``."""

from collections import Counter
from pathlib import Path

import click

from repro.cli.options import format_option
from repro.plugins.manuscripts.findings import SEVERITIES


@click.command(
    "file",
    epilog="""\b
Examples:
  repro audit paper.tex
  repro audit arxiv-source/ --strict
  repro audit paper.tex --format github
  repro audit results.csv --format sarif > findings.sarif""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit with status 1 when there are errors or doubts.")
@format_option("json", "sarif", "github")
def file_command(file, strict, form):
    """List what does not fit in the tables of a paper's source, and in sentences that quote them.

    FILE is LaTeX, Markdown, CSV or HTML, or the folder or archive of a paper's source. An error is what
    arithmetic cannot have otherwise, a doubt breaks a habit of its table, a note is worth a look. A check
    that cannot tell what a table means says nothing. `% repro: ignore[CHECK] reason` on a line, or on one of
    its own above, sets a finding aside (`<!-- ... -->` in Markdown and HTML, `#` in CSV). Nothing is run.
    """
    from repro.cli.printing import say
    from repro.plugins.manuscripts.audit import audit
    from repro.plugins.manuscripts.finding_formats import WRITERS
    from repro.plugins.manuscripts.reading import read

    manuscript = read(file)
    findings = audit(manuscript)
    WRITERS[form](findings)
    for note in manuscript.notes:
        say(note)
    numbers = Counter(finding.severity for finding in findings)
    told = [f"{numbers[name]} {name}{'s' * (numbers[name] != 1)}" for name in SEVERITIES]
    number = len(manuscript.tables)
    say(f"{number} table{'s' * (number != 1)}: {', '.join(told)}")
    return int(strict and numbers.total() > numbers["note"])
