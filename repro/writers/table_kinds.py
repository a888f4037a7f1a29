"""What a plugin answers that judges and writes tables of a kind of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from repro.manifest.papers import Paper
    from repro.manifest.schema import Table
    from repro.running.plan import Plan
    from repro.store import Store
    from repro.store.results import Results
    from repro.verdicts.compared import ComparedCell
    from repro.writers.html.elements import Markup


@dataclass(frozen=True)
class TableText:
    """What is asked of the text of a table.

    Attributes:
        title: of the paper; ``command``: what writes the file, without the scale's seeds.
        form: ``latex`` or ``markdown`` alone; None is all that the kind has.
        two_column: whether the LaTeX is for a paper of two columns.
    """

    title: str
    command: str
    form: str | None = None
    two_column: bool = False


class TableKind(Protocol):
    """How tables of one kind are judged and written."""

    def texts(
        self,
        cells: Sequence[ComparedCell],
        plan: Plan,
        store: Store,
        results: Results | None,
        text: TableText,
    ) -> Iterator[tuple[str, str]]:
        """Yield the ending of a file's name and its text."""
        ...

    def html(
        self,
        source: Paper,
        table: Table,
        cells: Sequence[ComparedCell],
        plan: Plan,
        store: Store,
        results: Results,
    ) -> Markup | None:
        """Return the table as a report shows it; None where nothing of it is known."""
        ...

    def facts(
        self, source: Paper, table: Table, plan: Plan, store: Store, results: Results | None
    ) -> dict[str, dict]:
        """Return cell -> what its JSON object has more."""
        ...

    def keep(self, plan: Plan, store: Store, results: Results, *, paper: str, table: str) -> Path | None:
        """Keep with the results what the table was made from; None where there is nothing."""
        ...
