"""``repro tables``"""

from __future__ import annotations

import click

from repro.cli.selection import selecting


@click.command(
    "tables",
    epilog="""\b
Examples:
  repro tables PAPER --table 1 --scale tiny
  repro tables --all --document report.tex""",
)
@selecting
@click.option("--document", metavar="FILE", help="Also write a whole LaTeX document around the tables.")
def command(selection, document):
    """Write LaTeX of the selected tables, print and ours, below RESULTS/tables/SCALE."""
    from pathlib import Path

    from repro.comparison import compare
    from repro.report import latex
    from repro.results import Results
    from repro.store import translated

    plan, store = selection.plan(), selection.store()
    plan.look(store)
    comparison = compare(plan, Results(selection.settings.results))
    groups = {}
    for c in comparison.cells:
        if c.cell.table.kind == "figure":
            continue
        groups.setdefault((c.cell.paper.name, c.cell.table.id), []).append(c)
    folder = selection.settings.results / "tables" / selection.scale
    texts = []
    with translated(selection.settings.results, "results folder", "--results"):
        folder.mkdir(parents=True, exist_ok=True)
        for (name, identifier), cells in groups.items():
            command = f"repro tables {name} --table {identifier} --scale {selection.scale}"
            path = folder / f"{name}-table{identifier}.tex"
            if cells[0].cell.table.kind == "study":
                texts.append(_study(plan, store, cells[0].cell, path, f"{command}{_seeds(selection.seeds)}"))
                continue
            texts.append(latex.latex(comparison, cells, command=command))
            path.write_text(texts[-1], encoding="utf-8")
            print(path)
        if document:
            Path(document).write_text(latex.document(texts), encoding="utf-8")
            print(document)


def _study(plan, store, cell, path, command: str) -> str:
    """A table that is printed nowhere: LaTeX and, beside it, Markdown. Returns the LaTeX."""
    from repro.evaluation.study import costs, entries
    from repro.report import study

    title = f"{cell.paper.manifest.title} (scale {plan.scale.name})"
    table, spent = cell.table, costs(plan, store)
    measured = entries(plan, store, reference=table.delta_from)
    for suffix, written in ((".md", study.markdown), (".tex", study.latex)):
        text = written(title, table, measured, spent, command=command)
        path.with_suffix(suffix).write_text(text, encoding="utf-8")
        print(path.with_suffix(suffix))
    return text


def _seeds(seeds: tuple[int, ...]) -> str:
    return f" --seeds {','.join(map(str, seeds))}" if seeds else ""
