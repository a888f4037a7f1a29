"""``repro report figures``"""

import click

from repro.cli.options import selecting_everything


@click.command(
    "figures",
    epilog="""\b
Examples:
  repro report figures PAPER --table figure-4 --scale tiny""",
)
@selecting_everything
def command(selection):
    """Draw the selected figures and views from what was measured, below RESULTS/figures/SCALE.

    Run them first: `repro run PAPER --table figure-N`. Beside each drawing lie its numbers as CSV.
    """
    from repro.api.comparisons import compare_selection
    from repro.cli.printing import say
    from repro.store import translated_errors
    from repro.verdicts.training_costs import training_hours
    from repro.writers.drawing import draw_curves, draw_exhibits

    cells, store = compare_selection(selection, new_tests=False), selection.workspace.store
    folder = selection.workspace.results.root / "figures" / selection.scale
    with translated_errors(selection.workspace.results.root, "results folder", "--results or REPRO_RESULTS"):
        folder.mkdir(parents=True, exist_ok=True)
        hours = training_hours(cells.plan, store)
        curves = draw_curves(cells, folder, hours=hours)
        paths = [*curves, *draw_exhibits(cells.plan, store, folder)]
    for path in paths:
        print(path)
    if not paths:
        say("nothing to draw: what is selected has no figure that was measured; `repro run` measures it")
