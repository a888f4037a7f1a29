"""The table of a study, which the suite measures for itself, with intervals and costs."""

from repro.judging.studies import LEVEL, Entry
from repro.manifest.schema import Table
from repro.report.grid import column_heads
from repro.report.html.elements import Content, Markup, el
from repro.report.html.sections import Study
from repro.report.html.tables import head, scrolling
from repro.report.study import half_width, sign, spent


def study(title: str, table: Table, measured: Study) -> Markup:
    """Means in percent with their interval over seeds, against the row of reference, and what each cost."""
    base = next((row.label for row in table.rows if row.id == table.delta_from), "the first row")
    rows = [
        el(
            "tr",
            el("th", row.label, scope="row"),
            [el("td", _entry(measured.entries.get((row.id, c.id)))) for c in table.columns],
            [el("td", text) for text in spent(measured.costs.get(row.id))],
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
    test = ""
    if entry.against:
        low, high = (f"{100 * x:+.1f}" for x in entry.against.interval)
        test = f"{100 * entry.against.difference:+.1f} ({low} to {high}), p {entry.against.holm:.3g}"
    mean = el("b", f"{100 * entry.mean:.1f}")
    return el("span", mean, half_width(entry), sign(entry)), el("br"), el("span", test, class_="fine")
