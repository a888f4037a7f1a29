"""Scores the rows ``yours``, ``yours-2``, … of a user in a table or without one, and tests them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import stdev
from typing import Any

from repro.errors import BlockedError, DataError, ReproError, UsageError
from repro.exchange import public_runs, run_import
from repro.manifest.cells import Cell
from repro.manifest.papers import Paper
from repro.manifest.schema import Row, Table
from repro.plugins.yours import runs
from repro.plugins.yours.places import (
    LIKENESS,
    Place,
    Rival,
    Source,
    Target,
    likeness,
    rivals,
    scorable_places,
    scores_of_source,
)
from repro.progress import Progress
from repro.retrieval.evaluation.judged_runs import OtherQueriesError
from repro.retrieval.evaluation.significance import TOO_FEW_QUERIES, compare_scores, smallest_p
from repro.retrieval.stages.compare import MAX_P, joint_queries, weighted_scores
from repro.running.cell_readings import CellReadings
from repro.running.plan import Plan
from repro.running.requirements import Machine
from repro.running.workspace import Workspace
from repro.store.results import Record
from repro.verdicts.compared import PAIRS, ComparedCell, Comparison, ImportedRun
from repro.verdicts.comparison import imported_run
from repro.verdicts.verdict import UNITS, Verdict

NAME = "yours"
DIGITS = 4  # as in trec_eval


@dataclass(frozen=True)
class OwnRow:
    """A user's row in one table.

    Attributes:
        source: the file or the encoder as the user named it.
        scored: column -> its scores per query.
        tests: column -> its tests against every row with a run.
        notes: sentences on the run file or on the encoder's settings.
        left_out: sentences on columns without a number.
    """

    row: Row
    source: str
    name: str
    cells: tuple[ComparedCell, ...]
    scored: Mapping[str, runs.Scored]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    tests: dict[str, list[dict]] = field(default_factory=dict)


@dataclass(frozen=True)
class OwnTable:
    """A table with the user's rows below the paper's.

    Attributes:
        comparison: all cells, with the tests between all rows.
        rivals: column -> row -> its run in tests.
        left_out: sentences on columns without a score, and on runs that answer no query.
        notes: sentences on columns with too few queries for a test.
        statuses: label -> exit status of an encoder without a score.
    """

    comparison: Comparison
    rows: tuple[OwnRow, ...]
    rivals: Mapping[str, Mapping[str, Rival]]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)

    def scores_by_query(self) -> Iterator[dict]:
        """Yield mappings of column, measure, row, query and score, for the user's rows and their rivals."""
        measures: dict[str, str] = {}
        for row in self.rows:
            for column, scored in row.scored.items():
                measures[column] = scored.measure
                yield from _score_lines(row.name, column, scored.parts, scored.measure)
        for column, by_row in self.rivals.items():
            for name, rival in by_row.items():
                yield from _score_lines(name, column, rival.parts, measures[column])


def _score_lines(row: str, column: str, parts: runs.Parts, measure: str) -> Iterator[dict]:
    for part in parts:
        for query, score in zip(part["queries"], part["measures"][measure], strict=True):
            yield {"column": column, "measure": measure, "row": row, "query": query, "score": score}


def own_table(
    compared: Sequence[ComparedCell],
    sources: Sequence[Source],
    plan: Plan,
    workspace: Workspace,
    *,
    dataset: str | None,
    progress: Progress,
) -> OwnTable:
    """Return the table of the ``compared`` cells with the user's rows and their tests.

    Runs are scored on all datasets of the table, or only on ``dataset``. Raises UsageError if no column can
    be scored, DataError, BlockedError, StageError.
    """
    cells = list(compared)
    places, not_scored = scorable_places(cells, plan)
    ids = [NAME, *(f"{NAME}-{number}" for number in range(2, len(sources) + 1))]
    rows = list(map(row_of, ids, labels(sources)))
    table = cells[0].cell.table
    extended = table.model_copy(update={"rows": (*table.rows, *rows)})
    target = Target(cells, places, plan, workspace, progress, dataset)
    own_rows, errors = rows_with_scores(sources, rows, partial(_own_row, table=extended, target=target))
    statuses = {row.label: e.exit_status for row, _, e in errors if not isinstance(e, OtherQueriesError)}
    reasons = [f"{row.label if row.label in statuses else 'left out'}: {error}" for row, _, error in errors]
    columns = set().union(*(row.scored for row in own_rows))
    covered = {name: places[name] for name in places if name in columns}
    of_rivals = rivals(cells, covered, plan, workspace)
    shown = [
        _with_tested_run(replace(c, cell=replace(c.cell, table=extended)), of_rivals, covered, plan.machine)
        for c in cells
    ]
    made = tested(compared_with_rows(shown, own_rows), own_rows, covered, of_rivals)
    return replace(made, left_out=(*not_scored, *reasons), statuses=statuses)


def compared_with_rows(cells: Sequence[ComparedCell], rows: Sequence[OwnRow]) -> Comparison:
    of_rows = [c for row in rows for c in row.cells]
    return Comparison([*cells, *of_rows], own_rows=tuple(row.row.id for row in rows))


def _with_tested_run(
    c: ComparedCell,
    of_rivals: Mapping[str, Mapping[str, Rival]],
    places: Mapping[str, Place],
    machine: Machine,
) -> ComparedCell:
    rival = of_rivals.get(c.cell.column.id, {}).get(c.cell.row.id)
    if rival is None or rival.public is None:
        return c
    run = rival.public
    recorded = [r for r in c.imported if r.record.origin["sha256"] == run.sha256]
    imported = recorded or [_as_imported(c.cell, rival, run, places[c.cell.column.id], machine)]
    return replace(c, imported=tuple(imported))


def _as_imported(
    cell: Cell, rival: Rival, run: public_runs.PublicRun, place: Place, machine: Machine
) -> ImportedRun:
    of_cell = CellReadings(machine)
    choices = {name: choice for name, choice in run.readings.items() if name in of_cell.of(cell)}
    origin = {"file": run.file, "sha256": run.sha256, "toolkit": run.toolkit, "settings": run.settings}
    record = Record(
        cell=cell.id,
        scale="full",
        measured=runs.mean_score(rival.parts, place.measure) * float(UNITS[place.unit]),
        seed=None,
        fingerprint=run.sha256,
        queries=len(rival.parts[0]["queries"]),
        missing=0,
        measure=place.measure,
        unit=place.unit,
        collections=[run.dataset],
        origin=origin,
        readings=run_import.departures([cell], choices, of_cell)[cell.id],
    )
    return imported_run(cell, record, ())


def row_of(id: str, label: str) -> Row:
    return Row(id=id, label=label, role="reference")


def _own_row(source: Source, row: Row, name: str, table: Table, target: Target) -> OwnRow:
    scored, notices = scores_of_source(source, target)
    paper, scale = target.cells[0].cell.paper, target.plan.scale
    numbers = own_cells(paper, table, row, target.places, scored, scale.name)
    fields = numbers, scored, source.notes, tuple(notices), differing_of(scored)
    return OwnRow(row, source.source, name, *fields)


def rows_with_scores(
    sources: Sequence[Source], rows: Sequence[Row], own_row: Callable[[Source, Row, str], OwnRow]
) -> tuple[list[OwnRow], list[tuple[Row, Source, ReproError]]]:
    """Return the rows that ``own_row`` makes, and the sources that it cannot score with their errors.

    Raises the first error if there is no row.
    """
    own_rows, errors = list[OwnRow](), list[tuple[Row, Source, ReproError]]()
    for row, source, name in zip(rows, sources, labels(sources, "name"), strict=True):
        try:
            own_rows.append(own_row(source, row, name))
        except (UsageError, DataError, BlockedError) as error:
            errors.append((row, source, error))
    if not own_rows:
        raise errors[0][2]
    return own_rows, errors


def differing_of(scored: Mapping[str, runs.Scored]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for each in scored.values() for text in each.differing))


def labels(sources: Sequence[Source], attribute: str = "label") -> list[str]:
    """Return the labels or names of sources. Equal ones get their folder or a number, e.g. ``my (x)``."""
    names = [getattr(source, attribute) for source in sources]
    places = [s.folder if isinstance(s, runs.OwnRun) else "" for s in sources]
    names = [
        f"{name} ({place})" if place and names.count(name) > 1 else name
        for place, name in zip(places, names, strict=True)
    ]
    return [
        name if names.count(name) == 1 else f"{name} ({names[:place].count(name) + 1})"
        for place, name in enumerate(names)
    ]


def own_cells(
    paper: Paper,
    table: Table,
    row: Row,
    places: Mapping[str, Place],
    scored: Mapping[str, runs.Scored],
    scale: str,
) -> tuple[ComparedCell, ...]:
    """Return the cells of a row with scores in the units of the columns.

    An average column has a cell if all of its columns have one.
    """
    verdict = Verdict("scaled" if scale != "full" else "inconclusive", "nothing is published for your row")
    made: dict[str, ComparedCell] = {}
    for column in table.columns:
        cell = Cell(paper, table, row, column, "-")
        if column.id in scored:
            record = _record(cell, places[column.id], scored[column.id], scale)
            names, cut_at = tuple(record.collections), scored[column.id].cut_at
            made[column.id] = ComparedCell(cell, scale, (record,), verdict, collections=names, cut_at=cut_at)
        elif column.mean_of and all(m in made for m in column.mean_of):
            members = [made[m] for m in column.mean_of]
            made[column.id] = replace(members[0], cell=cell, records=(_average(cell, members),))
    return tuple(made.values())


def _record(cell: Cell, place: Place, scored: runs.Scored, scale: str) -> Record:
    unit, values = float(UNITS[place.unit]), scored.values
    return Record(
        cell=cell.id,
        scale=scale,
        measured=scored.mean * unit,
        seed=None,
        fingerprint=f"{cell.row.id}: {cell.row.label}",
        queries=len(values),
        missing=scored.missing,
        measure=place.measure,
        unit=place.unit,
        collections=list(scored.collections or (place.dataset,)),
        deviation=stdev(values) * unit if len(values) > 1 and len(scored.parts) == 1 else None,
    )


def _average(cell: Cell, members: Sequence[ComparedCell]) -> Record:
    records = [m.records[0] for m in members]
    return replace(
        records[0],
        cell=cell.id,
        measured=sum(r.measured for r in records) / len(records),
        queries=sum(r.queries for r in records),
        missing=sum(r.missing for r in records),
        measure="mean",
        deviation=None,
    )


def tested(
    comparison: Comparison,
    rows: Sequence[OwnRow],
    places: Mapping[str, Place],
    of_rivals: Mapping[str, Mapping[str, Rival]],
) -> OwnTable:
    """Return the table of a comparison, with tests between all rows that have scores."""
    cell = comparison.cells[0].cell
    notes = []
    for name, place in places.items():
        by_row = {row.row.id: row.scored[name].parts for row in rows if name in row.scored}
        by_row |= {row: rival.parts for row, rival in of_rivals.get(name, {}).items()}
        if len(by_row) > 1:
            key = (cell.paper.name, cell.table.id, place.original)
            tests = comparison.tests.setdefault(key, {"max_p": MAX_P, "measures": {}})
            tests["measures"][place.measure] = _tests(by_row, place.measure)
            if (count := len(next(iter(by_row.values()))[0]["queries"])) < TOO_FEW_QUERIES:
                test = f"the permutation test on {'1 query' if count == 1 else f'{count} queries'}"
                notes.append(f"{name}: {test} has no p-value below {smallest_p(count):g}")
    table = OwnTable(comparison, tuple(rows), of_rivals, notes=tuple(notes))
    return replace(table, rows=tuple(_with_tests(row, table) for row in rows))


def _tests(by_row: Mapping[str, runs.Parts], measure: str) -> dict:
    queries = joint_queries(list(by_row.values()))
    scores = [{measure: weighted_scores(parts, measure)} for parts in by_row.values()]
    return compare_scores(scores, list(by_row), queries, [measure], max_p=MAX_P)["measures"][measure]


def _with_tests(row: OwnRow, table: OwnTable) -> OwnRow:
    scored, pairs = [c for c in row.cells if c.cell.column.id in row.scored], table.comparison.pairs
    tests = {c.cell.column.id: [_own_test(pair, row, c, table) for pair in pairs(c)] for c in scored}
    return replace(row, tests=tests)


def _own_test(pair: Mapping[str, Any], row: OwnRow, c: ComparedCell, table: OwnTable) -> dict[str, Any]:
    column, name = c.cell.column.id, pair["over"]
    scored, unit = row.scored[column], float(UNITS[c.cell.unit])
    rival = table.rivals.get(column, {}).get(name)
    if rival is None:
        rival = next(Rival(NAME, o.scored[column].parts) for o in table.rows if o.row.id == name)
    value, doubts = runs.mean_score(rival.parts, scored.measure) * unit, list(rival.doubts)
    test = {"over": name, "by": rival.by, "value": value, "doubts": doubts}
    test |= {key: pair[key] for key in PAIRS} | {"difference": pair["difference"] * unit}
    test["interval"] = pair["interval"] and [end * unit for end in pair["interval"]]
    if len({other.cell.row.id for other in table.comparison.of_papers}) == 1 and rival.by != NAME:
        test |= likeness(scored.run, scored.values, rival, scored.measure)
        test["rmse"] *= unit
    return test


def lines(table: OwnTable) -> Iterator[dict]:
    """Yield a CSV line for each number of the user's rows and each row it is tested against."""
    for row in table.rows:
        for c in row.cells:
            for test in row.tests.get(c.cell.column.id) or [{}]:
                low, high = test.get("interval") or (None, None)
                numbers = {key: test.get(key) for key in (*PAIRS, *LIKENESS) if key != "interval"}
                other = {"over": test.get("over"), "by": test.get("by"), "over_value": test.get("value")}
                other["doubts"] = "; ".join(test.get("doubts", ())) or None
                yield _facts(row, c) | other | numbers | {"low": low, "high": high}


def as_json(table: OwnTable) -> list[dict]:
    """Return an object for each number of the user's rows."""
    return [
        _facts(row, c)
        | {"interval": [c.interval.low, c.interval.high] if c.interval else None}
        | {"beats": table.comparison.betters(c), "tests": row.tests.get(c.cell.column.id, [])}
        | {"differing": list(row.differing)}
        | {"notes": list(row.notes), "left_out": list(row.left_out)}
        for row in table.rows
        for c in row.cells
    ]


def _facts(row: OwnRow, c: ComparedCell) -> dict:
    record = c.records[0]
    return {
        "id": c.cell.id,
        "row": row.row.id,
        "source": row.source,
        "column": c.cell.column.id,
        "dataset": " ".join(record.collections),
        "measure": record.measure,
        "value": c.measured,
        "unit": c.cell.unit,
        "scale": c.scale,
        "queries": record.queries,
        "missing": record.missing,
        "cut_at": c.cut_at,
    }
