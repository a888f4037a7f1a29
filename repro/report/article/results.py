"""Everything that an article may show: a paper's cells at one scale, its figures at any, costs and seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from repro.errors import UsageError, unknown
from repro.graph import Node, walk
from repro.judging.compared import ComparedCell, Comparison
from repro.judging.comparison import judged_cells
from repro.judging.studies import Study, study_of
from repro.judging.training_costs import Cost
from repro.manifest.cells import cells_of, figure_tables, is_measured
from repro.manifest.papers import Paper
from repro.manifest.schema import Table
from repro.running.measurement import Measurement
from repro.running.plan import Plan, plan
from repro.running.scale import scale
from repro.running.workspace import Workspace


@dataclass(frozen=True)
class StudyResults:
    """The results of a paper's studies.

    Attributes:
        scale: of the tables; a figure may be asked for at another.
        seeds: those of the study.
    """

    source: Paper
    scale: str
    seeds: tuple[int, ...]
    workspace: Workspace
    _figures: dict[str, list[ComparedCell]] = field(default_factory=dict)
    _studies: dict[str, Study] = field(default_factory=dict)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the studies' tables at the scale."""
        tables = tuple(t for t in self.source.manifest.tables if t.kind == "study")
        if not tables:
            raise UsageError(f"{self.source.name} has no study, a table of the suite's own, to write about")
        return self._planned(tables, self.scale)

    @cached_property
    def comparison(self) -> Comparison:
        """The cells of these tables as measured so far."""
        return judged_cells(self.plan, self.workspace.results, self.workspace.store)

    @cached_property
    def cells(self) -> Mapping[str, ComparedCell]:
        """``table/row/column`` -> the cell; records of an earlier graph or manifest count for nothing."""
        return {c.cell.id.partition("/")[2]: _current_cell(c) for c in self.comparison.cells}

    @cached_property
    def outdated(self) -> int:
        """How many cells have only records of an earlier graph or manifest."""
        return sum(bool(c.outdated) for c in self.comparison.cells)

    @cached_property
    def explained(self) -> str:
        """The first table with comparisons, under which stands how all are to be read; empty without one."""
        tables = (t.id for t in self.source.manifest.tables if t.kind == "study")
        return next((table for table in tables if self.study(table).contrasts), "")

    def table(self, identifier: str) -> Table:
        """The study of that id. Raises UsageError naming what there is."""
        studies = {t.id: t for t in self.source.manifest.tables if t.kind == "study"}
        if identifier not in studies:
            raise unknown(f"study of {self.source.name}", identifier, studies)
        return studies[identifier]

    def cell(self, name: str) -> ComparedCell:
        """The cell ``table/row/column``. Raises UsageError for another name."""
        if name not in self.cells:
            raise unknown(f"cell of a study of {self.source.name}", name, self.cells)
        return self.cells[name]

    def point(self, name: str, scale: str) -> ComparedCell:
        """The point ``figure-N/row/column`` at a scale. Raises UsageError for another name."""
        points = {c.cell.id.partition("/")[2]: c for c in self.figures(scale)}
        if name not in points:
            raise unknown(f"point of a figure of {self.source.name}", name, points)
        return points[name]

    def study(self, identifier: str) -> Study:
        """A study as it was measured, with its comparisons. Raises UsageError for an unknown one."""
        if identifier not in self._studies:
            arguments = {
                "source": self.source,
                "table": self.table(identifier),
                "cells": self.comparison.cells,
                "results": self.workspace.results,
            }
            self._studies[identifier] = study_of(self.plan, self.workspace.store, **arguments)
        return self._studies[identifier]

    def costs(self, table: str) -> Mapping[str, Cost]:
        """Row -> the cost of its own pre-training."""
        return self.study(table).costs

    def figures(self, scale: str) -> list[ComparedCell]:
        """The points of the paper's figures at a scale."""
        if scale not in self._figures:
            figure_plan = self._planned(figure_tables(self.source), scale)
            comparison = judged_cells(figure_plan, self.workspace.results, self.workspace.store)
            self._figures[scale] = [_current_cell(c) for c in comparison.cells]
        return self._figures[scale]

    def stages(self, row: str) -> list[Node]:
        """The planned nodes of ``table/row`` in its first column and for its first seed, inputs first."""
        return walk(self._first(row).parts)

    def _first(self, row: str) -> Measurement:
        rows: dict[str, Measurement] = {}
        for m in self.plan.measurements:
            rows.setdefault(f"{m.cell.table.id}/{m.cell.row.id}", m)
        if row not in rows:
            raise unknown(f"row of a study of {self.source.name}", row, rows)
        return rows[row]

    def _planned(self, tables: tuple[Table, ...], name: str) -> Plan:
        cells = [c for c in cells_of(self.source, tables) if is_measured(c)]
        return plan(cells, scale=scale(name), machine=self.workspace.machine, seeds=self.seeds)


def _current_cell(c: ComparedCell) -> ComparedCell:
    return replace(c, records=()) if c.outdated else c
