"""Directives that stand for a picture; its files are drawn where the article lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from repro.errors import unknown
from repro.judging.compared import ComparedCell
from repro.judging.contrasts import Contrast
from repro.judging.doubts import doubt_kinds
from repro.judging.studies import Study
from repro.manifest.schema import Column, Row, Table
from repro.report.article.curves import curves, growth
from repro.report.article.losses import losses
from repro.report.article.picture import Put, picture, place_of, round_numbers, seed_count, seeds_of
from repro.report.article.results import StudyResults
from repro.report.figures.difference_panels import Differences, difference_panels
from repro.report.figures.line_panels import Lines, Place, line_panels
from repro.report.figures.seed_panels import SeedScores, seed_panels
from repro.report.study_words import preliminary_note

TERA = 1e12


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
    lines = [_find_item(study.rows, row, f"row of table {table}").label for row in levels]
    panels, rows, dotted_cells = [], [], []
    for column in study.columns:
        cells = {row.label: c for row, c in _measured_rows(results, study, column)}
        dots = {n: [r.measured for r in c.records] for n, c in cells.items() if n not in lines}
        panels.append(SeedScores(column.label, dots, {n: cells[n].measured for n in lines if n in cells}))
        rows += [
            (column.label, n, r.seed, r.measured, doubt_kinds([c]))
            for n, c in cells.items()
            for r in c.records
        ]
        dotted_cells += [cells[name] for name in dots]
    systems = [row.label for row in study.rows if row.label not in lines]
    return put(
        partial(seed_panels, panels, systems),
        name=f"scores-{table}",
        title=f"Table {table}: every system, every seed",
        small=f"A dot is a seed, a bar the mean of a system over {seed_count(dotted_cells)}; {study.unit}. "
        f"Scale {results.scale}.",
        head=("column", "system", "seed", "score", "doubts"),
        rows=rows,
    )


def _differences(results: StudyResults, put: Put, table: str, references: Sequence[str]) -> str:
    """The difference of every compared row to each of the references, with intervals."""
    study, outcome = results.table(table), results.study(table)
    names = {row: _find_item(study.rows, row, f"row of table {table}").label for row in references}
    panels, rows, seeds = [], [], set()
    for column in study.columns:
        by_reference: dict[str, dict[str, tuple]] = {name: {} for name in names.values()}
        for label, c in _contrasts_to(outcome, references, column):
            estimate = tuple(100 * x for x in (c.difference.mean, *c.difference.interval()))
            by_reference[names[c.against]][label] = estimate
            seeds.add(c.difference.seeds)
            doubts = doubt_kinds(results.cell(f"{table}/{row}/{column.id}") for row in (c.row, c.against))
            rows.append((column.label, label, names[c.against], *estimate, c.holm, c.verdict, doubts))
        panels.append(Differences(column.label, by_reference, outcome.analysis.matters.get(column.id)))
    systems = [
        row.label
        for row in study.rows
        if any(row.label in estimates for p in panels for estimates in p.to.values())
    ]
    reference_names = " and to ".join(names.values())
    return put(
        partial(difference_panels, panels, systems),
        name=f"differences-{table}",
        title=f"Table {table}: difference to {reference_names}",
        small=" ".join(
            [*preliminary_note(outcome), _intervals(seeds), *_floor_note(rows), f"Scale {results.scale}."]
        ),
        head=("column", "system", "against", "difference", "low", "high", "p (Holm)", "verdict", "doubts"),
        rows=rows,
    )


def _intervals(seeds: Iterable[int]) -> str:
    counts = sorted(seeds)
    span = " to ".join(map(str, dict.fromkeys(counts[:1] + counts[-1:])))
    text = f"Points, with 95 % intervals over queries and {span} seeds, not corrected for their number"
    return f"{text}; shaded: smaller than what matters."


def _floor_note(rows: Iterable[tuple]) -> list[str]:
    """A sentence on the columns of which nothing is concluded, from the lines of the picture's numbers."""
    verdicts: dict[str, set[str]] = {}
    for column, *_, verdict, _doubts in rows:
        verdicts.setdefault(column, set()).add(verdict)
    columns = [column for column, names in verdicts.items() if names == {"at the floor"}]
    return [f"At the floor, so that nothing is concluded: {', '.join(columns)}."] if columns else []


def _contrasts_to(study: Study, references: Sequence[str], column: Column) -> Iterator[tuple[str, Contrast]]:
    """The label of every row that is compared with one of the references, and what came of it."""
    for row, base in product(study.table.rows, references):
        c = study.contrast(row.id, base, column.id)
        if c is not None and c.difference is not None and c.row == row.id:
            yield row.label, c


def _work(results: StudyResults, put: Put, column: str, tables: Sequence[str]) -> str:
    """Score over FLOPs of pre-training; points of a row in several tables are joined."""

    def flops(table: str, row: Row) -> float | None:
        cost = results.costs(table).get(row.id)
        return None if cost is None or cost.flops is None else cost.flops / TERA

    points = list(_row_points(results, column, tables, flops))
    lines = _by_label(points, hollow=tables[1:])
    ticks = round_numbers(point.x for point in points)
    panel = Lines("", "FLOPs of the pre-training itself, in 10^12", lines, ticks=ticks)
    hollow_note = f"; hollow: {_tables(tables[1:])}" if tables[1:] else ""
    return put(
        partial(line_panels, [panel], across=1),
        name="work",
        title=f"{_head(results, column, tables)} over the work of pre-training",
        small=f"{_measure(results, column, tables)} Filled: {_tables(tables[:1])}{hollow_note}. "
        f"{_evidence(points, tables)} Scale {results.scale}.",
        head=("table", "system", "10^12 FLOPs", "mean", "lowest", "highest", "doubts"),
        rows=_numbers(points),
    )


def _shares(results: StudyResults, put: Put, column: str, tables: Sequence[str]) -> str:
    """Score over the share of training queries that rows of all tables are fine-tuned on; a row a line."""
    label_sets = [{row.label for row in results.table(table).rows} for table in tables]
    shared_labels, counts = set.intersection(*label_sets), _pretrainings(results, tables[0])

    def percent(table: str, row: Row) -> float | None:
        stages = results.stages(f"{table}/{row.id}")
        shares = [node.params["share"] for node in stages if "share" in node.params]
        is_finetuned = row.label in shared_labels and any(node.stage == "finetune" for node in stages)
        return 100 * min(shares, default=1) if is_finetuned else None

    points = list(_row_points(results, column, tables, percent))
    lines = sorted(_by_label(points), key=lambda line: -counts[line[0]])  # in the colours of the others
    panel = Lines("", "percent of the training queries", lines)
    return put(
        partial(line_panels, [panel], across=1),
        name="shares",
        title=f"{_head(results, column, tables)} by training queries",
        small=f"{_measure(results, column, tables)} {_evidence(points, tables)} Scale {results.scale}.",
        head=("table", "system", "percent of queries", "mean", "lowest", "highest", "doubts"),
        rows=_numbers(points),
    )


def _pretrainings(results: StudyResults, table: str) -> dict[str, int]:
    """The label of every row -> how many pre-trainings are behind it."""
    stages = {row.label: results.stages(f"{table}/{row.id}") for row in results.table(table).rows}
    return {label: sum(node.stage == "pretrain" for node in nodes) for label, nodes in stages.items()}


@dataclass(frozen=True)
class _Point:
    """A measured row of a table, and its place on the x-axis."""

    table: str
    label: str
    x: float
    cell: ComparedCell


def _row_points(
    results: StudyResults, column: str, tables: Sequence[str], x: Callable[[str, Row], float | None]
) -> Iterator[_Point]:
    """The measured rows of tables in a column.

    Args:
        x: of a table and its row; None where the row is on no line.
    """
    for identifier in tables:
        study = results.table(identifier)
        item = _find_item(study.columns, column, f"column of table {identifier}")
        for row, c in _measured_rows(results, study, item):
            place = x(identifier, row)
            if place is not None:
                yield _Point(identifier, row.label, place, c)


def _by_label(points: Sequence[_Point], hollow: Sequence[str] = ()) -> list[tuple[str, list[Place]]]:
    """The points of each label as a line, those of the tables ``hollow`` with such marks."""
    lines: dict[str, list[Place]] = {}
    for point in points:
        place = place_of(point.x, point.cell, hollow=point.table in hollow)
        lines.setdefault(point.label, []).append(place)
    return [(label, sorted(places, key=lambda p: p.x)) for label, places in lines.items()]


def _numbers(points: Sequence[_Point]) -> list[tuple]:
    places = [(point, place_of(point.x, point.cell)) for point in points]
    return [
        (point.table, point.label, place.x, place.y, place.low, place.high, place.doubts)
        for point, place in places
    ]


def _head(results: StudyResults, column: str, tables: Sequence[str]) -> str:
    first = results.table(tables[0])
    return _find_item(first.columns, column, f"column of table {first.id}").label


def _measure(results: StudyResults, column: str, tables: Sequence[str]) -> str:
    """Say which columns are shown of tables that have more."""
    unit = results.table(tables[0]).unit
    return f"{_head(results, column, tables)} alone, {unit}; for the other measures see {_tables(tables)}."


def _evidence(points: Sequence[_Point], tables: Sequence[str]) -> str:
    """The seeds behind points, and the tables of which there is none."""
    empty = [table for table in tables if all(point.table != table for point in points)]
    seeds = seeds_of([point.cell for point in points])
    return f"{seeds} Not measured yet: {_tables(empty)}." if empty else seeds


def _tables(tables: Sequence[str]) -> str:
    *names, last = sorted(tables)
    return f"Tables {', '.join(names)} and {last}" if names else f"Table {last}"


def _measured_rows(results: StudyResults, study: Table, column: Column) -> Iterator[tuple[Row, ComparedCell]]:
    """Every row that is measured in a column, and its cell."""
    for row in study.rows:
        c = results.cells.get(f"{study.id}/{row.id}/{column.id}")
        if c and c.records:
            yield row, c


def _find_item(items: Sequence, identifier: str, kind: str):
    """The item of that id. Raises UsageError naming what there is."""
    by_id = {item.id: item for item in items}
    if identifier not in by_id:
        raise unknown(kind, identifier, by_id)
    return by_id[identifier]
