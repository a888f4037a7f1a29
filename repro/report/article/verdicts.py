"""Directives on what was compared: the plan of analysis, verdicts in words, single differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from repro.errors import unknown
from repro.judging.contrasts import Contrast
from repro.machine.history import contains, last_change
from repro.manifest.analysis_schema import FILE, Analysis, TableAnalysis
from repro.report.article.prose import NOT_MEASURED, NOT_TESTED
from repro.report.article.results import StudyResults
from repro.report.study_words import (
    capitalised,
    order,
    order_of_primary,
    preliminary_note,
    shortened_note,
    verdicts_note,
)


def verdicts(results: StudyResults) -> dict[str, Callable[..., str]]:
    """The directives by name."""
    return {
        "analysis": lambda: _analysis(results),
        "before": lambda: _precedence(results),
        "verdicts": lambda table: _verdicts(results, table),
        "primary": lambda table: _primary_order(results, table),
        "difference": lambda table, row, against, column: _difference(results, table, row, against, column),
        "smallest": lambda table, row, against, column: _sensitivity(results, table, row, against, column),
        "hours": lambda table: _hours(results, table),
    }


def _analysis(results: StudyResults) -> str:
    """Tell the plan of analysis, tables of equal plans together."""
    analysis = results.source.analysis
    if not analysis.tables:
        return "There is no plan of analysis yet."
    plans: dict[str, list[str]] = {}
    for plan in analysis.tables:
        plans.setdefault("\n".join(_plan(results, plan)), []).append(plan.table)
    parts = [_common_plan(analysis), *_confirmatory_claim(results)]
    for lines, tables in plans.items():
        parts.append(f"* **Table{'s' if tables[1:] else ''} {', '.join(tables)}.**\n{lines}")
    return "\n".join(parts)


def _common_plan(analysis: Analysis) -> str:
    seeds = ", ".join(map(str, analysis.seeds))
    return (
        f"* **All.** Seeds {seeds}. Test: {analysis.test}, two-sided at {analysis.level:g}; correction: "
        f"{analysis.correction.capitalize()}, within a group of comparisons and a column. Equivalence: two "
        "one-sided tests at the same level, not corrected."
    )


def _confirmatory_claim(results: StudyResults) -> Iterator[str]:
    claim = results.source.analysis.confirmatory
    if claim:
        table = results.table(claim.table)
        families = results.source.analysis.of(table).families
        label = next(family.label for family in families if family.id == claim.family)
        column = next(c.label for c in table.columns if c.id == claim.column)
        yield f"* **Confirmatory.** Table {claim.table}, {label}, {column}. Everything else is exploratory."


def _plan(results: StudyResults, plan: TableAnalysis) -> Iterator[str]:
    """The lines of one table's plan, indented as parts of an item."""
    table = results.table(plan.table)
    labels = {row.id: row.label for row in table.rows}
    heads = {c.id: c.label for c in table.columns}
    if plan.primary:
        yield f"    * Primary: {heads[plan.primary]}; what the others show is secondary."
    if plan.matters:
        differences = "; ".join(f"{heads[column]}: {points:g}" for column, points in plan.matters.items())
        yield f"    * The smallest difference that matters, in points: {differences}."
    if plan.floor:
        row = labels[plan.floor]
        yield f"    * Nothing is concluded of two rows where the better one is not above the row *{row}*."
    for family in plan.families:
        rows = f": {', '.join(labels[row] for row in family.rows)}" if family.rows[1:] else ""
        yield f"    * {capitalised(family.label)}{rows}."
    if not plan.families:
        yield "    * Every row against its own row of reference."


def _precedence(results: StudyResults) -> str:
    """Whether every record is of a commit that contains the plan of analysis as it is."""
    path = results.source.folder / FILE
    change = last_change(path) if path.exists() else None
    if change is None:
        return "The plan of analysis is not committed yet."
    commit, day = change
    commits = _commits(results)
    has_plan = {digits: bool(digits) and contains(path.parent, digits, commit) for digits, _ in set(commits)}
    count = sum(has_plan[digits] is True for digits, _ in commits)
    text = f"The plan was last changed in commit `{commit[:10]}` of {day}"
    if not commits:
        return f"{text}; nothing is measured yet."
    number = sum(is_changed for _, is_changed in commits)
    note = f" {number} of them were made with changes that were not committed." if number else ""
    if count == len(commits):
        return f"{text}, and every record is of a commit that contains it.{note}"
    return f"{text}; {count} of {len(commits)} records are of a commit that contains it.{note}"


def _commits(results: StudyResults) -> list[tuple[str, bool]]:
    """The commit of every record, empty where it is not known, and whether its tree was changed."""
    records = [record for c in results.cells.values() for record in c.records]
    parts = ((r.environment.get("commit") or "").partition("-") for r in records)
    return [(digits, bool(changed)) for digits, _, changed in parts]


def _verdicts(results: StudyResults, table: str) -> str:
    """A sentence for each column, and how to read it."""
    study = results.study(table)
    if not study.contrasts:
        return f"What can be told apart in Table {table}: {NOT_MEASURED}."
    preamble = "".join(f"{sentence} " for sentence in preliminary_note(study))
    lines = [f"* {order(study, column)}" for column in study.table.columns]
    note = verdicts_note(study).removeprefix(preamble)
    if table != results.explained:
        note = shortened_note(note, study, explained=results.explained)
    return "\n".join([*preliminary_note(study), "", *lines, "", note]).strip()


def _primary_order(results: StudyResults, table: str) -> str:
    """The rows that can be told apart in the column of a table that decides."""
    study = results.study(table)
    return order_of_primary(study) if study.contrasts else f"{capitalised(NOT_MEASURED)}."


def _difference(results: StudyResults, table: str, row: str, against: str, column: str) -> str:
    """The difference of two rows in points, with its interval."""
    contrast = _contrast(results, table, row, against, column)
    if contrast is None or contrast.difference is None:
        return NOT_MEASURED if contrast is None else NOT_TESTED
    sign = 1 if contrast.row == row else -1
    low, high = sorted(100 * sign * bound for bound in contrast.difference.interval())
    return f"{100 * sign * contrast.difference.mean:+.1f} (95 % interval {low:+.1f} to {high:+.1f})"


def _sensitivity(results: StudyResults, table: str, row: str, against: str, column: str) -> str:
    """The smallest true difference, in points, that the design sees between two rows."""
    contrast = _contrast(results, table, row, against, column)
    if contrast is None or contrast.smallest_seen is None:
        return NOT_MEASURED if contrast is None else NOT_TESTED
    return f"{100 * contrast.smallest_seen:.1f}"


def _contrast(results: StudyResults, table: str, row: str, against: str, column: str) -> Contrast | None:
    """The comparison of two rows; None where it is not measured. Raises UsageError where none is planned."""
    study = results.study(table)
    for name in (row, against):
        results.cell(f"{table}/{name}/{column}")
    pairs = [pair for family in study.analysis.families for pair in family.pairs]
    if (row, against) not in pairs and (against, row) not in pairs:
        raise unknown(f"comparison of table {table}", f"{row} {against}", [" ".join(pair) for pair in pairs])
    return study.contrast(row, against, column)


def _hours(results: StudyResults, table: str) -> str:
    study = results.study(table)
    hours = study.total_hours if study.entries else None
    return NOT_MEASURED if hours is None else f"{hours:.1f}"
