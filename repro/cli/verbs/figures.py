"""``repro figures``"""

import click

from repro.cli.options import selecting_everything


@click.command(
    "figures",
    epilog="""\b
Examples:
  repro figures PAPER --figure 4 --scale tiny
  repro figures""",
)
@selecting_everything
def command(selection):
    """Draw the selected figures and views from what was measured, below RESULTS/figures/SCALE.

    Run them first: `repro run PAPER --figure N`. Beside each drawing lie its numbers as CSV.
    """
    from repro.judging.comparison import compare
    from repro.report.drawing import draw_curves, draw_exhibits
    from repro.store import translated

    plan, store = selection.plan(), selection.workspace.store
    plan.look(store)
    compared = compare(plan, selection.workspace.results, store=store).cells
    folder = selection.workspace.results.root / "figures" / selection.scale
    with translated(selection.workspace.results.root, "results folder", "--results"):
        folder.mkdir(parents=True, exist_ok=True)
        drawn = [*draw_curves(compared, folder), *draw_exhibits(plan, store, folder)]
    for path in drawn:
        print(path)
    if not drawn:
        print("nothing to draw: what is selected has no figure that was measured; `repro run` measures it")
