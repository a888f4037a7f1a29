"""``repro new value``"""

import sys
from pathlib import Path

import click

from repro.errors import DataError
from repro.machine.bounded_reading import whole_file

LARGEST = 2**20  # bytes of a form, which are some thousands


@click.command(
    "value",
    epilog="""\b
Examples:
  repro new value form.md
  repro new value form.md --issue OWNER/NAME#12 --date 2026-11-22
  gh issue view 12 --json body -q .body | repro new value - --issue OWNER/NAME#12 --date 2026-11-22""",
)
@click.argument("file", metavar="FILE|-")
@click.option("--issue", metavar="OWNER/NAME#N", help="The issue: the place of a value without another.")
@click.option("--date", "day", metavar="DAY", help="When the issue was opened, as 2026-11-22.")
def command(file, issue, day):
    """Make an entry of others.yaml from the filled form "I measured a cell" of an issue.

    FILE is the Markdown that GitHub makes of the form, or - for standard input. The entry is checked as
    all of that file are, and printed with its place; nothing is written. Whatever is wrong is told in one
    sentence, with exit status 2.
    """
    from repro.plugins.reports.among_others import among_others
    from repro.plugins.reports.report_entry import entry_of
    from repro.plugins.reports.reports import CellReport

    entry = entry_of(_text(file), issue=issue or "", day=day or "", where="the form" if file == "-" else file)
    print(entry.yaml)
    for cell in entry.cells:
        report = CellReport(cell, entry.report, entry.source)
        place = among_others(cell, report.value, decimals=report.decimals)
        sentence = place or f"published {cell.printed.plain}; nobody else is known to state a value"
        print(f"# {cell.id}: {sentence}")


def _text(file: str) -> str:
    """The content of a file or of standard input. Raises DataError where it is no text."""
    try:
        raw = sys.stdin.buffer.read(LARGEST) if file == "-" else whole_file(Path(file), LARGEST)
        return raw.decode("utf-8")
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{file}: not UTF-8 text") from None
