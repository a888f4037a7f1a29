"""Files of tables with published and measured numbers, e.g. ``PAPER-table1.tex``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from repro.hooks import call
from repro.manifest.schema import Table
from repro.running.plan import Plan
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.comparison import Comparison
from repro.writers.latex import latex
from repro.writers.latex_text import document


def writer_of(table: Table) -> Any:
    """Return the plugin's ``StudyTables`` for a study's table, or None."""
    return call("study tables") if table.kind == "study" else None


@dataclass(frozen=True)
class TableFile:
    name: str
    title: str
    text: str


def table_texts(
    comparison: Comparison,
    plan: Plan,
    store: Store,
    *,
    seeds: tuple[int, ...] = (),
    two_column: bool = False,
    others: bool = False,
    results: Results | None = None,
    form: str | None = None,
) -> Iterator[TableFile]:
    """Yield the files of all tables, without writing them.

    Args:
        seeds: named in the command in a study's files.
        others: whether values reported elsewhere have their own column.
        results: source of a study's scores that the store lacks.
        form: ``latex`` or ``markdown``. Default: LaTeX, and both for studies.
    """
    for (paper, identifier), cells in comparison.by_table().items():
        table, title = cells[0].cell.table, cells[0].cell.paper.manifest.title
        if table.kind == "figure":
            continue
        command = f"repro tables {paper} --table {identifier} --scale {plan.scale.name}"
        command += " --two-column" * two_column + " --others" * others
        name = f"{paper}-table{identifier}"
        if writer := writer_of(table):
            command += f" --seeds {','.join(map(str, seeds))}" if seeds else ""
            how = {"title": title, "command": command, "form": form, "two_column": two_column}
            for ending, text in writer.texts(cells, plan, store, results, **how):
                yield TableFile(f"{name}.{ending}", title, text)
        elif form == "markdown":
            from repro.writers.table_pages import standalone_table

            yield TableFile(f"{name}.md", title, standalone_table(comparison, cells))
        else:
            table_cells = cells if others else [replace(c, notes=()) if c.notes else c for c in cells]
            text = latex(comparison, table_cells, command=command, two_column=two_column)
            yield TableFile(f"{name}.tex", title, text)


def write_tables(files: Sequence[TableFile], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return [folder / file.name for file in files]


def tables_document(files: Sequence[TableFile], *, scale: str, two_column: bool) -> str:
    tables = [file for file in files if file.name.endswith(".tex")]
    sections = {title: [f.text for f in group] for title, group in groupby(tables, lambda file: file.title)}
    return document(sections, scale=scale, two_column=two_column)
