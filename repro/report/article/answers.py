"""Directives on what papers say, in sentences and in the orders of tables, beside what was measured of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from repro.judging.study_answers import Answer, of_means, primary_column, tested_answer
from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.papers import Paper, papers
from repro.manifest.schema import Column
from repro.manifest.study_pointers import StudyPointer, study_pointer
from repro.report.article.prose import NOT_MEASURED
from repro.report.article.results import StudyResults
from repro.report.markdown import code, escaped, sentence
from repro.report.markdown import table as markdown_table
from repro.report.study_words import capitalised, label

HEADS = ("what the paper says", "two rows of this study", "measured here")
HOW = (
    "A difference is that of the first row less the second, in points of {columns}, with its 95 % interval "
    "over queries and seeds, each by itself; the verdict is that of the table's comparisons, which are "
    "corrected for their number, so that an interval without 0 may stand beside *not told apart*."
)
AS_STATED = {True: ", as in the paper", False: ", contrary to the paper", None: ""}


def answers(results: StudyResults) -> dict[str, Callable[..., str]]:
    """The directives by name."""
    return {"answers": lambda: _answers(results), "orders": lambda table: _orders(results, table)}


def _answers(results: StudyResults) -> str:
    """A line for every comparison of the study that a claim or reading of a paper points at."""
    pointers = list(_pointers(results.source))
    if not pointers:
        return "No claim or reading of a paper points at a comparison of this study."
    rows, previous, columns = [], "", {}
    for words, pointer in pointers:
        column = primary_column(results.source, results.table(pointer.table))
        columns[column.label] = None
        comparison = f"Table {pointer.table}: {_comparison_words(results, pointer)}"
        rows.append(["the same" if words == previous else words, comparison, _measurement(results, pointer)])
        previous = words
    tables = dict.fromkeys(pointer.table for _, pointer in pointers)
    notes = [(table, results.study(table).preliminary) for table in tables]
    warnings = [f"Table {table} is {note}." for table, note in notes if note]
    text = " ".join([HOW.format(columns=" or ".join(columns)), *warnings])
    return "\n".join([text, "", *markdown_table(HEADS, rows)]).strip()


def _pointers(source: Paper) -> Iterator[tuple[str, StudyPointer]]:
    """Yield the words of every claim and reading that points at the study, with the rows."""
    for paper in papers().values():
        claims = [(claim.says, claim) for claim in paper.claims.values()]
        readings = [(reading.paper, reading) for reading in paper.readings.values()]
        for words, statement in claims + readings:
            for pointer in map(study_pointer, statement.study):
                if pointer.study == source.name:
                    place = f"{sentence(statement.where)}; {code(f'{paper.name}/{statement.id}')}"
                    yield f"{sentence(capitalised(words))} ({place})", pointer


def _comparison_words(results: StudyResults, pointer: StudyPointer) -> str:
    """The rows in words, with the order that the paper gives them."""
    study = results.study(pointer.table)
    labels = (escaped(label(study, row)) for row in (pointer.row, pointer.other))
    return f" *{pointer.stated}* ".join(labels)


def _measurement(results: StudyResults, pointer: StudyPointer) -> str:
    """The difference with its interval, and the verdict beside the order that the paper states."""
    table = results.table(pointer.table)
    column = primary_column(results.source, table)
    answer = tested_answer(results.study(pointer.table), pointer, column, scale=results.scale)
    if answer is not None:
        return f"{_format_points(answer)}: {answer.verdict}{AS_STATED[answer.as_stated]}"
    cells = (results.cell(f"{pointer.table}/{row}/{column.id}") for row in (pointer.row, pointer.other))
    scores = ({record.seed: record.measured for record in c.records} for c in cells)
    means = of_means(*scores, column, unit=table.unit, scale=results.scale)
    if means is None:
        return NOT_MEASURED
    return f"{round(means.difference, 1) + 0:+.1f}, {means.counted}: {means.untested}"


def _format_points(answer: Answer) -> str:
    difference, low, high = (f"{round(x, 1) + 0:+.1f}" for x in (answer.difference, answer.low, answer.high))
    return f"{difference} ({low} to {high})"


def _orders(results: StudyResults, table: str) -> str:
    """Set the numbers that papers' tables have for two rows, by their labels, beside what the study measured.

    Of the pairs in which every row is compared with every other, in the column that decides.
    """
    study = results.study(table)
    column = primary_column(results.source, study.table)
    families = [f for f in study.analysis.families if f.rows and f.against is None]
    lines, missing_pairs = [], []
    for row, other in (pair for family in families for pair in family.pairs):
        published_pairs = list(_published_pairs(column, label(study, row), label(study, other)))
        pointer = StudyPointer(results.source.name, table, row, _published_order(published_pairs), other)
        if published_pairs:
            measurement = f"Measured here, Table {table}: {_measurement(results, pointer)}"
            lines.append(
                f"* {_comparison_words(results, pointer)}: {_format_pairs(published_pairs)}. {measurement}."
            )
        else:
            missing_pairs.append(escaped(f"{label(study, row)} and {label(study, other)}"))
    remark = f"Side by side in no table of these papers: {'; '.join(missing_pairs)}."
    return "\n".join([*lines, *(["", remark] if missing_pairs else ())]).strip()


def _published_pairs(column: Column, first_label: str, second_label: str) -> Iterator[tuple[Cell, Cell]]:
    """The numbers of two labels in one group of a paper's table, measured as the column is."""
    for source in papers().values():
        groups: dict[tuple, dict[str, Cell]] = {}
        for c in numeric_cells(source):
            if (c.column.dataset, c.column.measure) == (column.dataset, column.measure):
                groups.setdefault((c.table.id, c.row.group), {})[c.row.label.casefold()] = c
        pairs = (
            (by_label.get(first_label.casefold()), by_label.get(second_label.casefold()))
            for by_label in groups.values()
        )
        yield from ((a, b) for a, b in pairs if a and b)


def _published_order(published_pairs: Iterable[tuple[Cell, Cell]]) -> str:
    """The order of the first row in all tables; against where they differ."""
    signs = {
        (a.printed.value > b.printed.value) - (a.printed.value < b.printed.value) for a, b in published_pairs
    }
    return {(1,): "above", (-1,): "below"}.get(tuple(signs), "against")


def _format_pairs(published_pairs: Iterable[tuple[Cell, Cell]]) -> str:
    numbers = ((a.printed.plain, b.printed.plain, a.table.id, a.paper.name) for a, b in published_pairs)
    phrases = (f"{first} and {second} in Table {table} of {name}" for first, second, table, name in numbers)
    return ", ".join(phrases)
