"""A study's table: what the suite measures for itself, with intervals and costs."""

from __future__ import annotations

from repro.judging.studies import LEVEL, Cost, Entry
from repro.manifest.schema import Table
from repro.report.grid import column_heads
from repro.report.html.elements import Content, Markup, el
from repro.report.html.sections import Study
from repro.report.html.tables import head, scrolling


def study(title: str, table: Table, found: Study) -> Markup:
    """Means in percent with their interval over seeds, against the row of reference, and what each cost."""
    base = next((row.label for row in table.rows if row.id == table.delta_from), "the first row")
    rows = [
        el(
            "tr",
            el("th", row.label, scope="row"),
            [el("td", _entry(found.entries.get((row.id, c.id)))) for c in table.columns],
            [el("td", text) for text in _cost(found.costs.get(row.id))],
        )
        for row in table.rows
    ]
    caption = el("p", f"{table.about} (percent; ± half of the 95 % interval over seeds)", class_="caption")
    heads = el("thead", head(column_heads(table.columns), ("FLOPs", "seconds")))
    body = el("table", heads, el("tbody", rows), class_="printed")
    note = f"▲ above, ▼ below {base}: paired t-test over queries, Holm-corrected p at most {LEVEL}."
    return el("div", caption, scrolling(body, title), el("p", note, class_="fine"))


def _entry(entry: Entry | None) -> Content:
    if entry is None:
        return "–"
    told = ""
    if entry.against:
        low, high = (f"{100 * x:+.1f}" for x in entry.against.interval)
        told = f"{100 * entry.against.difference:+.1f} ({low} to {high}), p {entry.against.holm:.3g}"
    significant = entry.against and entry.against.holm <= LEVEL
    sign = (" ▲" if entry.against.difference > 0 else " ▼") if significant else ""
    width = f" ± {100 * entry.half_width:.1f}" if entry.half_width is not None else ""
    return (
        el("span", el("b", f"{100 * entry.mean:.1f}"), width, sign),
        el("br"),
        el("span", told, class_="fine"),
    )


def _cost(cost: Cost | None) -> tuple[str, str]:
    if cost is None:
        return "–", "–"
    flops = "–" if cost.flops is None else f"{cost.flops:.2e}"
    return flops, "–" if cost.seconds is None else f"{cost.seconds:.0f}"
