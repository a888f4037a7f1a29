"""The order of rows, and the gains over the authors' own baselines, held against the paper's."""

from collections.abc import Sequence

from repro.judging.compared import Compared
from repro.judging.effects import Effect, effects, orders
from repro.manifest.schema import Table
from repro.report.grid import label_in_full
from repro.report.html.elements import Markup, el


def against_paper(printed: Table, compared: Sequence[Compared]) -> Markup | None:
    """A line for every column and gain that can be compared; None where none can."""
    heads = {c.id: " ".join(c.head) or c.id for c in printed.columns}
    labels = {row.id: label_in_full(printed, row) for row in printed.rows}
    lines = [
        f"{heads[column]}: order of {rows} rows, Kendall's tau-b {tau:.2f}"
        for column, (tau, rows) in orders(compared).items()
    ]
    for effect in effects(compared):
        lines.append(
            f"{heads[effect.column]}: {labels[effect.row]} over {labels[effect.over]}, {_gain(effect)}"
        )
    if not lines:
        return None
    about = "Against the published numbers (an effect ratio of 1 and a ΔRI of 0 are the published gain):"
    return el("div", el("p", about), el("ul", [el("li", line) for line in lines]), class_="notes")


def _gain(effect: Effect) -> str:
    ratio = "–" if effect.effect_ratio is None else f"{effect.effect_ratio:.2f}"
    relative = "" if effect.delta_ri is None else f", ΔRI {effect.delta_ri:+.3f}"
    return f"effect ratio {ratio}{relative}"
