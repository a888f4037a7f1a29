"""Compare published and measured numbers, e.g. ``compare("PAPER/1")``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from repro.api import Listing, Selection, select
from repro.running.plan import Plan
from repro.running.records import Recurrence
from repro.running.workspace import Workspace
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.comparison import compare as compared
from repro.verdicts.plain_values import cell_as_row
from repro.verdicts.summary import Summary, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from repro.progress import Progress
    from repro.running.runner import Outcome


class ComparedCells(Listing[ComparedCell]):
    """Cells with published and measured numbers, verdicts, and tests between rows.

    Attributes:
        comparison: cells and tests, e.g. ``comparison.betters(cell)``: ids of rows that the cell's row beats.
        plan: None if runs were scored without a paper.
        outcome: the stages that a run made, failed or blocked, or None without a run.
        recurrences: pairs of a new record and the earlier record of the same measurement.

    Example:
        >>> repro.compare("PAPER/1").summary.passing
    """

    def __init__(
        self,
        comparison: Comparison,
        plan: Plan | None = None,
        outcome: Outcome | None = None,
        recurrences: Sequence[Recurrence] = (),
    ):
        super().__init__(comparison.cells, line=cell_as_row, index="cell")
        self.comparison, self.plan, self.outcome, self.recurrences = comparison, plan, outcome, recurrences

    @property
    def summary(self) -> Summary:
        """Counts of the papers' cells and verdicts, without the user's rows."""
        return summarise(self.comparison.of_papers)

    def to_latex(self, *, two_column: bool = False) -> str:
        """Return the cells as LaTeX tables, which need booktabs and graphicx."""
        from repro.writers.latex import latex

        return "\n".join(
            latex(
                self.comparison,
                [replace(c, notes=()) for c in cells],
                command="repro.compare(...).to_latex()",
                two_column=two_column,
            )
            for cells in self.comparison.by_table().values()
        )

    def _repr_html_(self) -> str:
        from repro.writers.html.elements import rendered
        from repro.writers.table_pages import standalone_table

        tables = self.comparison.by_table().values()
        return rendered("\n".join(standalone_table(self.comparison, cells) for cells in tables))

    def plot(self) -> list[Axes]:
        """Plot a table, and return a panel per column. Raises UsageError unless there is one table."""
        from repro.writers.drawing import panels

        return panels(self.comparison.cells)


def compare(
    *names: str,
    rows: Sequence[str] = (),
    scale: str = "full",
    seeds: Sequence[int] = (),
    readings: Mapping[str, str] = MappingProxyType({}),
    workspace: Workspace | None = None,
    progress: Progress | None = None,
) -> ComparedCells:
    """Judge cells by the stored measurements, without training, searching or downloading.

    Tests between rows need stored runs and a writable store. The arguments are those of ``select``.

    Raises:
        UsageError: an unknown name or scale.
        DataError: a malformed record.

    Example:
        >>> repro.compare("PAPER/1", scale="tiny").to_frame()
    """
    selection = select(*names, rows=rows, scale=scale, seeds=seeds, readings=readings, workspace=workspace)
    return compare_selection(selection, progress=progress)


def compare_selection(
    selection: Selection,
    *,
    plan: Plan | None = None,
    outcome: Outcome | None = None,
    recurrences: Sequence[Recurrence] = (),
    progress: Progress | None = None,
) -> ComparedCells:
    """Judge a selection and test its rows, with ``outcome`` and ``recurrences`` of a preceding run."""
    store, results = selection.workspace.store, selection.workspace.results
    plan = plan or selection.plan()
    from repro.verdicts.row_tests import add_tests

    if not outcome:
        plan.look(store)
    comparison = compared(plan, results, store=store, outcome=outcome)
    add_tests(comparison, plan, store, progress)
    return ComparedCells(comparison, plan, outcome, recurrences)
