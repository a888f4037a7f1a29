"""Directives that stand for a part of the page: tables, provenance, bibliography."""

from __future__ import annotations

import re
from collections.abc import Callable

from repro.judging.doubts import doubts_in_brief
from repro.manifest.schema import Table
from repro.report.article.bibliography import bibtex
from repro.report.article.prose import NOT_MEASURED
from repro.report.article.results import StudyResults
from repro.report.article.words import value
from repro.report.markdown import code, escaped, sentence
from repro.report.markdown import table as markdown_table
from repro.report.study_words import capitalised, shortened_note
from repro.report.table_files import table_texts
from repro.store.results import Record

SHORT = 10  # digits of a commit, as a page shows it
MEANS_ONLY = (
    "Means over seeds, from the records. Intervals and tests need the scores of single queries, which "
    "neither the store nor a file of scores in the results folder has."
)


def blocks(results: StudyResults) -> dict[str, Callable[..., str]]:
    """The directives by name."""
    return {
        "table": lambda identifier: _table(results, identifier),
        "records": lambda scale="": _records(results, scale),
        "bibtex": lambda: bibtex(results.source),
    }


def _table(results: StudyResults, identifier: str) -> str:
    """The table as ``repro tables`` writes it; its differences are folded, and notes stand once."""
    table = results.table(identifier)
    if all(c.measured is None for c in _cells(results, identifier)):
        return f"**Table {identifier}.** {sentence(capitalised(table.about))}. This table is {NOT_MEASURED}."
    if not results.study(identifier).entries:
        return _means(results, table)
    files = table_texts(
        results.comparison,
        results.plan,
        results.workspace.store,
        seeds=results.seeds,
        results=results.workspace.results,
    )
    text = next(f.text for f in files if f.name == f"{results.source.name}-table{identifier}.md")
    text = text.partition("\n")[2].strip()  # its title is the article's
    if results.explained not in ("", identifier):
        text = shortened_note(text, results.study(identifier), explained=results.explained)
    scores, _, tail = text.partition("\n## ")
    body = re.sub("^##", "####", f"## {tail}", flags=re.MULTILINE)  # below the sections of the page
    details = _fold(f"Table {identifier}: every comparison, variances and power", body) if tail else ""
    return f"**Table {identifier}.** {capitalised(scores.strip())}\n\n{details}".strip()


def _means(results: StudyResults, table: Table) -> str:
    """The means that records hold, where the scores of single queries are not at hand."""
    head = ["", *(escaped(column.label) for column in table.columns)]
    rule = ["---", *("---:" for _ in table.columns)]
    rows = [
        [
            escaped(row.label),
            *(value(results, f"{table.id}/{row.id}/{column.id}") for column in table.columns),
        ]
        for row in table.rows
    ]
    lines = [f"| {' | '.join(line)} |" for line in (head, rule, *rows)]
    title = f"**Table {table.id}.** {sentence(capitalised(table.about))}. Unit: {table.unit}."
    doubts = doubts_in_brief(_cells(results, table.id), lead=" Doubtful of these numbers")
    return "\n".join([title, "", *lines, "", f"{MEANS_ONLY}{doubts and f'{doubts}.'}"])


def _cells(results: StudyResults, table: str):
    return [c for c in results.cells.values() if c.cell.table.id == table]


def _fold(summary: str, text: str) -> str:
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{text.strip()}\n\n</details>'


def _records(results: StudyResults, scale: str) -> str:
    """A line for every commit and machine that made records: of the tables, or of figures at a scale."""
    by_maker: dict[tuple, list[Record]] = {}
    cells = results.figures(scale) if scale else results.cells.values()
    for c in cells:
        for record in c.records:
            by_maker.setdefault(_maker(record), []).append(record)
    if not by_maker:
        return f"Records: {NOT_MEASURED}."
    head = ["commit", "machine", "records", "seeds", "first", "last"]
    rows = []
    for (commit, machine), records in by_maker.items():
        days = sorted(record.recorded[:10] for record in records)
        seeds = sorted({record.seed for record in records if record.seed is not None})
        rows.append([commit, machine, str(len(records)), ", ".join(map(str, seeds)), days[0], days[-1]])
    doubts = doubts_in_brief(cells, lead="Doubtful of these numbers")
    return "\n".join([*markdown_table(head, rows), doubts and f"{doubts}."]).strip()


def _maker(record: Record) -> tuple[str, str]:
    """The commit and the machine of the process that made a record."""
    commit = record.environment.get("commit") or ""
    digits, dirty, _ = commit.partition("-")
    words = code(f"{digits[:SHORT]}{dirty and '-dirty'}") if commit else "not known"
    return words, escaped(record.machine)
