"""``repro tables``"""

from __future__ import annotations

import click

from repro.cli.options import selecting


@click.command(
    "tables",
    epilog="""\b
Examples:
  repro tables PAPER --table 1 --scale tiny
  repro tables --all --out DIR --document report.tex""",
)
@selecting
@click.option("--out", metavar="DIR", help="Where to write them instead of RESULTS/tables/SCALE.")
@click.option("--document", metavar="FILE", help="Also write a whole LaTeX document around the tables.")
def command(selection, out, document):
    """Write LaTeX of the selected tables, published and ours, below RESULTS/tables/SCALE.

    A file is a table environment that needs booktabs, siunitx and graphicx (a study's booktabs and amssymb).
    """
    from pathlib import Path

    from repro.judging.comparison import judged_cells
    from repro.report import latex
    from repro.store import translated

    plan, store = selection.plan(), selection.workspace.store
    comparison = judged_cells(plan, selection.workspace.results, store)
    results = selection.workspace.results.root
    folder = Path(out) if out else results / "tables" / selection.scale
    texts = []
    with translated(*((folder, "folder", "--out") if out else (results, "results folder", "--results"))):
        folder.mkdir(parents=True, exist_ok=True)
        for (name, identifier), cells in _by_table(comparison).items():
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


def _by_table(comparison) -> dict[tuple[str, str], list]:
    """The compared cells of every table; figures are no tables."""
    groups: dict[tuple[str, str], list] = {}
    for c in comparison.cells:
        if c.cell.table.kind != "figure":
            groups.setdefault((c.cell.paper.name, c.cell.table.id), []).append(c)
    return groups


def _study(plan, store, cell, path, command: str) -> str:
    """A table that is printed nowhere: LaTeX and, beside it, Markdown. Returns the LaTeX."""
    from repro.judging.studies import costs, entries
    from repro.report import study

    title = f"{cell.paper.manifest.title} (scale {plan.scale.name})"
    table, own = cell.table, plan.of_table(cell.paper.name, cell.table.id)
    spent, measured = costs(own, store), entries(own, store, reference=table.delta_from)
    for suffix, written in ((".md", study.markdown), (".tex", study.latex)):
        text = written(title, table, measured, spent, command=command)
        path.with_suffix(suffix).write_text(text, encoding="utf-8")
        print(path.with_suffix(suffix))
    return text


def _seeds(seeds: tuple[int, ...]) -> str:
    return f" --seeds {','.join(map(str, seeds))}" if seeds else ""
