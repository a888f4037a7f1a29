"""Directives that stand for a picture; its files are drawn where the article lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from repro.errors import unknown
from repro.judging.compared import Compared
from repro.judging.contrasts import Contrast
from repro.judging.studies import Study
from repro.manifest.schema import Column, Row, Table
from repro.report.article.curves import curves, growth
from repro.report.article.losses import losses
from repro.report.article.picture import SPREAD, Put, head_of, picture, place_of, round_numbers
from repro.report.article.results import StudyResults
from repro.report.figures.difference_panels import Differences, difference_panels
from repro.report.figures.line_panels import Lines, Place, line_panels
from repro.report.figures.seed_panels import SeedScores, seed_panels
from repro.report.study_words import begun

TERA = 1e12
DIFFERENCES = "Points, with 95 % intervals over queries and seeds; shaded: smaller than what matters."


def pictures(results: StudyResults, folder: Path) -> dict[str, Callable[..., str]]:
    """The directives by name; what they draw goes into the folder."""
    put = partial(picture, results.source.name, folder)
    return {
        "scores": lambda table, *levels: _scores(results, put, table, levels),
        "differences": lambda table, *references: _differences(results, put, table, references),
        "work": lambda column, *tables: _work(results, put, column, tables),
        "shares": lambda column, *tables: _shares(results, put, column, tables),
        "curves": lambda scale, *figures: curves(results, put, scale, figures),
        "growth": lambda scale, figure: growth(results, put, scale, figure),
        "losses": lambda row: losses(results, put, row),
    }


def _scores(results: StudyResults, put: Put, table: str, levels: Sequence[str]) -> str:
    """Every row of a table with each seed a dot; the rows of ``levels`` are lines."""
    study = results.table(table)
    lines = [_among(study.rows, row, f"row of table {table}").label for row in levels]
    panels, rows = [], []
    for column in study.columns:
        cells = {row.label: c for row, c in _measured(results, study, column)}
        dots = {n: [r.measured for r in c.records] for n, c in cells.items() if n not in lines}
        panels.append(SeedScores(head_of(column), dots, {n: cells[n].measured for n in lines if n in cells}))
        rows += [(head_of(column), n, r.seed, r.measured) for n, c in cells.items() for r in c.records]
    systems = [row.label for row in study.rows if row.label not in lines]
    return put(
        partial(seed_panels, panels, systems),
        name=f"scores-{table}",
        title=f"Table {table}: every system, every seed",
        small=f"A dot is a seed, a bar the mean of a system; {study.unit}. Scale {results.scale}.",
        head=("column", "system", "seed", "score"),
        rows=rows,
    )


def _differences(results: StudyResults, put: Put, table: str, references: Sequence[str]) -> str:
    """The difference of every compared row to each of the references, with intervals."""
    study, compared = results.table(table), results.study(table)
    names = {row: _among(study.rows, row, f"row of table {table}").label for row in references}
    panels, rows = [], []
    for column in study.columns:
        to: dict[str, dict[str, tuple]] = {name: {} for name in names.values()}
        for label, c in _contrasts_to(compared, references, column):
            estimate = tuple(100 * x for x in (c.difference.mean, *c.difference.interval()))
            to[names[c.against]][label] = estimate
            rows.append((head_of(column), label, names[c.against], *estimate, c.holm, c.verdict))
        panels.append(Differences(head_of(column), to, compared.analysis.matters.get(column.id)))
    shown = [row.label for row in study.rows if any(row.label in of for p in panels for of in p.to.values())]
    against = " and to ".join(names.values())
    return put(
        partial(difference_panels, panels, shown),
        name=f"differences-{table}",
        title=f"Table {table}: difference to {against}",
        small=" ".join([*begun(compared), f"{DIFFERENCES} Scale {results.scale}."]),
        head=("column", "system", "against", "difference", "low", "high", "p (Holm)", "verdict"),
        rows=rows,
    )


def _contrasts_to(
    compared: Study, references: Sequence[str], column: Column
) -> Iterator[tuple[str, Contrast]]:
    """The label of every row that is compared with one of the references, and what came of it."""
    for row, base in product(compared.table.rows, references):
        c = compared.contrast(row.id, base, column.id)
        if c is not None and c.difference is not None and c.row == row.id:
            yield row.label, c


def _work(results: StudyResults, put: Put, column: str, tables: Sequence[str]) -> str:
    """Score over FLOPs of pre-training; points of a row in several tables are joined."""

    def flops(table: str, row: Row) -> float | None:
        cost = results.costs(table).get(row.id)
        return None if cost is None or cost.flops is None else cost.flops / TERA

    title, panel, rows = _joined(results, column, tables, "FLOPs of the pre-training itself, in 10^12", flops)
    panel = replace(panel, ticks=round_numbers(place.x for _, line in panel.of for place in line))
    others = f"; hollow: table {', '.join(tables[1:])}" if tables[1:] else ""
    return put(
        partial(line_panels, [panel], across=1),
        name="work",
        title=f"{title} over the work of pre-training",
        small=f"Filled: table {''.join(tables[:1])}{others}. {SPREAD} Scale {results.scale}.",
        head=("table", "system", "10^12 FLOPs", "mean", "lowest", "highest"),
        rows=rows,
    )


def _shares(results: StudyResults, put: Put, column: str, tables: Sequence[str]) -> str:
    """Score over the share of training queries that rows of each table are fine-tuned on; a row a line."""

    def percent(table: str, row: Row) -> float | None:
        stages = results.stages(f"{table}/{row.id}")
        drawn = [node.params["share"] for node in stages if "share" in node.params]
        return 100 * min(drawn, default=1) if any(node.stage == "finetune" for node in stages) else None

    title, panel, rows = _joined(results, column, tables, "percent of the training queries", percent)
    return put(
        partial(line_panels, [panel], across=1),
        name="shares",
        title=f"{title} by training queries",
        small=f"Tables {', '.join(tables)}. {SPREAD} Scale {results.scale}.",
        head=("table", "system", "percent of queries", "mean", "lowest", "highest"),
        rows=rows,
    )


def _joined(
    results: StudyResults,
    column: str,
    tables: Sequence[str],
    below: str,
    x: Callable[[str, Row], float | None],
) -> tuple[str, Lines, list[tuple]]:
    """The head of a column, the rows of tables as lines over ``x``, and their numbers.

    Args:
        x: of a table and its row; None where the row is on no line.
    """
    lines: dict[str, list[Place]] = {}
    rows, head = [], ""
    for number, identifier in enumerate(tables):
        study = results.table(identifier)
        chosen = _among(study.columns, column, f"column of table {identifier}")
        head = head or head_of(chosen)
        for row, compared in _measured(results, study, chosen):
            at = x(identifier, row)
            if at is not None:
                place = place_of(at, compared, hollow=number > 0)
                lines.setdefault(row.label, []).append(place)
                rows.append((identifier, row.label, place.x, place.y, place.low, place.high))
    ordered = [(name, sorted(places, key=lambda p: p.x)) for name, places in lines.items()]
    return head, Lines("", below, ordered), rows


def _measured(results: StudyResults, study: Table, column: Column) -> Iterator[tuple[Row, Compared]]:
    """Every row that is measured in a column, and its cell."""
    for row in study.rows:
        compared = results.cells.get(f"{study.id}/{row.id}/{column.id}")
        if compared and compared.records:
            yield row, compared


def _among(items: Sequence, identifier: str, kind: str):
    """The item of that id. Raises UsageError naming what there is."""
    known = {item.id: item for item in items}
    if identifier not in known:
        raise unknown(kind, identifier, known)
    return known[identifier]
