"""The LaTeX of compared tables as files; of a study, Markdown beside it."""

from collections.abc import Iterator
from pathlib import Path

from repro.judging.comparison import Comparison
from repro.judging.studies import costs, entries
from repro.report import study
from repro.report.latex import latex
from repro.running.plan import Plan
from repro.store import Store


def table_texts(
    comparison: Comparison, plan: Plan, store: Store, *, seeds: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    """Name and text of each file; figures are no tables.

    Args:
        seeds: those that were asked for, which the command in a study's files repeats.
    """
    for (paper, identifier), cells in comparison.by_table().items():
        table = cells[0].cell.table
        if table.kind == "figure":
            continue
        command = f"repro tables {paper} --table {identifier} --scale {plan.scale.name}"
        name = f"{paper}-table{identifier}"
        if table.kind == "study":
            command += f" --seeds {','.join(map(str, seeds))}" if seeds else ""
            title = f"{cells[0].cell.paper.manifest.title} (scale {plan.scale.name})"
            own = plan.of_table(paper, identifier)
            spent, measured = costs(own, store), entries(own, store, reference=table.delta_from)
            yield f"{name}.md", study.markdown(title, table, measured, spent, command=command)
            yield f"{name}.tex", study.latex(title, table, measured, spent, command=command)
        else:
            yield f"{name}.tex", latex(comparison, cells, command=command)


def write_tables(texts: Iterator[tuple[str, str]], folder: Path) -> dict[Path, str]:
    """Write the files, and return what stands in each."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / name: text for name, text in texts}
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return files
