"""The command ``repro audit FILE``, e.g. ``repro audit paper.tex --format sarif``."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from repro.cli.options import format_option
from repro.cli.printing import emit_json, put, say
from repro.errors import visible
from repro.plugins.manuscripts.auditing import Audited, audited
from repro.plugins.manuscripts.checks import CHECKS, SEVERITIES, Finding
from repro.plugins.manuscripts.source_tables import CHOICE
from repro.version import __version__

SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "doubt": "warning", "note": "note"}


def print_lines(findings: Sequence[Finding]) -> None:
    for f in findings:
        put(f"{f.place}: {f.severity} [{f.check}] {f.text}")


def sarif(findings: Sequence[Finding]) -> dict:
    """Return a SARIF 2.1.0 log. A doubt is a warning, and paths are relative."""
    from urllib.parse import quote

    rules = [{"id": check, "shortDescription": {"text": what}} for check, what in CHECKS.items()]
    driver = {"name": "repro audit", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": f.check,
            "ruleIndex": list(CHECKS).index(f.check),
            "level": LEVELS[f.severity],
            "message": {"text": visible(f.text)},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
        }
        for f in findings
        for uri, region in [(quote(os.fsencode(f.place.file)), {"startLine": f.place.line})]
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF, "version": "2.1.0", "runs": [run]}


def print_commands(findings: Sequence[Finding]) -> None:
    """Print commands for GitHub, e.g. ``::error file=a%0Ab.tex,line=7::``."""
    for f in findings:
        file, title = (_escaped(text, ":,") for text in (str(f.place.file), f"repro audit: {f.check}"))
        place = f"file={file},line={f.place.line},title={title}"
        print(f"::{LEVELS[f.severity].replace('note', 'notice')} {place}::{_escaped(f.text)}")


def _escaped(text: str, more: str = "") -> str:
    signs = (f"%{ord(sign):02X}" if sign in f"%\r\n{more}" else sign for sign in text)
    return visible("".join(signs))


WRITERS: dict[str, Callable[[Sequence[Finding]], None]] = {
    "terminal": print_lines,
    "json": lambda found: emit_json([finding.as_json() for finding in found]),
    "sarif": lambda found: emit_json(sarif(found)),
    "github": print_commands,
}


@click.command(
    "file",
    epilog="""\b
Examples:
  repro audit paper.tex
  repro audit arxiv-source/ --strict
  repro audit chapters/*.tex
  repro audit paper.tex --format github
  repro audit results.csv --format sarif > findings.sarif""",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit with status 1 if there are errors or doubts.")
@click.option("--no-known", is_flag=True, help="Compare no values with published ones, e.g. of BM25.")
@format_option("json", "sarif", "github")
def file_command(files, strict, no_known, form):
    """List inconsistencies in the tables of a paper's source and in sentences on their numbers.

    A summary counts the tables and numbers read, the cells that were not read, and the checked parts.

    Each FILE is LaTeX, Markdown, CSV or HTML, or the folder or archive of a paper's source. An error is
    arithmetically impossible, a doubt breaks a rule that its table follows, and a note is worth a look.
    `% repro: ignore[CHECK] reason` on the line or above it hides a finding (`<!-- ... -->` in Markdown and
    HTML, `#` in CSV).
    """
    made, notes = _audited(files, is_known_compared=not no_known)
    found = list(dict.fromkeys(finding for each in made for finding in each.findings))
    for line in summary(made, found):
        (put if form == "terminal" else say)(line)
    WRITERS[form](found)
    for note in dict.fromkeys(notes):
        say(note)
    return int(strict and any(finding.severity != "note" for finding in found))


def _audited(files: Sequence[Path], *, is_known_compared: bool) -> tuple[list[Audited], list[str]]:
    from repro.plugins.manuscripts.reading import NoTableError

    made, notes = list[Audited](), list[str]()
    for file in files:
        try:
            made.append(audited(file, is_known_compared=is_known_compared))
        except NoTableError as error:
            if len(files) == 1:
                raise
            notes.append(str(error))
    return made, notes + [note for each in made for note in each.manuscript.notes if CHOICE not in note]


def summary(made: Sequence[Audited], found: Sequence[Finding]) -> list[str]:
    numbers = Counter(finding.severity for finding in found)
    counts = [(0, 0, 0), *((len(each.manuscript.tables), each.cells, each.unread) for each in made)]
    pairs = zip(map(sum, zip(*counts, strict=True)), ("table", "number", "cell"), strict=True)
    lines = ["Read {} with {}. Not read: {}.".format(*(_counted(*pair) for pair in pairs))]
    lines += [note for each in made for note in each.manuscript.notes if CHOICE in note]
    looked_at = sum((Counter(each.looked_at) for each in made), Counter())
    if looked_at:
        lines.append(f"Checked {', '.join(f'{number:,} {name}' for name, number in looked_at.items())}.")
    return [*lines, ", ".join(_counted(numbers[name], name) for name in SEVERITIES)]


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' * (number != 1)}"
