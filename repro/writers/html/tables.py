"""A paper's tables in HTML, e.g. at ``#PAPER/1``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.schema import Table
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.store import Store, seal
from repro.verdicts.compared import ComparedCell
from repro.verdicts.effects import Effect, effects, orders
from repro.writers.grid import (
    STATED,
    Grid,
    Head,
    label_in_full,
    meaning,
    shown_measurement,
    shown_note,
    shown_run,
    spans,
)
from repro.writers.html.elements import Content, Markup, el, identifier, sign, tone

MOST_ROWS = 12
MOST_QUERIES = 400
SIDE, PAD = 150, 8


def table(source: Paper, printed: Table, compared: Sequence[ComparedCell]) -> Markup:
    """Return a table with our number below each published one."""
    by_id = {c.cell.id: c for c in compared}
    cells = cells_of(source, (printed,))
    grid = Grid.of(printed, {(c.row.id, c.column.id): _cell(c, by_id.get(c.id)) for c in cells})
    caption = identifier("caption", source.name, printed.id)
    marks = max((len(c.printed.marks) for c in cells), default=0)
    look = {"class_": "printed", "style": f"--marks:{marks}", "aria_labelledby": caption}
    body = el("table", el("thead", head(grid.across)), _body(grid), **look)
    return el(
        "div",
        el("p", f"{printed.about} ({printed.unit})", class_="caption", id=caption),
        scrolling(body, f"table {printed.id} of {source.name}"),
    )


def scrolling(content: Markup, name: str) -> Markup:
    """Return a box that scrolls, also by keyboard."""
    return el("div", content, class_="scroll", role="region", tabindex=0, aria_label=name)


def head(heads: Sequence[Head], more: Sequence[str] = ()) -> list[Markup]:
    """Return the table's head: headings, if any, then columns followed by ``more``."""
    lines = []
    if headings := spans(heads):
        cells = [
            el("th", name, scope="colgroup", colspan=n) if name else el("td", colspan=n)
            for name, n in headings
        ]
        lines.append(el("tr", el("td"), cells, el("td", colspan=len(more)) if more else None))
    columns = [el("th", h.last, _marks(h.row.marks) if h.row else None, scope="col") for h in heads]
    lines.append(el("tr", el("td"), columns, [el("th", name, scope="col") for name in more]))
    return lines


def _body(grid: Grid[Markup]) -> Iterator[Markup]:
    for heading, heads in grid.blocks:
        label = el("th", heading, scope="rowgroup", colspan=len(grid.columns) + 1) if heading else None
        lines = [el("tr", _name(line_head), grid.line(line_head)) for line_head in heads]
        yield el("tbody", el("tr", label) if label else None, lines)


def _name(line_head: Head) -> Markup:
    if line_head.row is None:
        return el("th", line_head.label, scope="row")
    look = "own" if line_head.row.role == "ours" else None
    return el("th", line_head.label, _marks(line_head.row.marks), scope="row", class_=look)


def _marks(marks: str) -> Content:
    return el("sup", marks) if marks else None


def _cell(cell: Cell, c: ComparedCell | None) -> Markup:
    number = _printed_number(cell)
    if c is None:
        return el("td", number)
    lines = number, _measured_number(c), _imported_number(c), _stated_number(c)
    return el("td", el("button", *lines, class_=tone(c.verdict.name)), id=identifier(*cell.id.split("/")))


def _printed_number(cell: Cell) -> Content:
    if cell.table.kind == "figure":
        return None
    printed = cell.printed
    if printed.value is None:
        return el("span", printed.plain, class_="words")
    delta = f" ({printed.delta:+})" if printed.delta is not None else None
    number = el("b" if printed.bold else "span", printed.plain)
    return el("span", number, _marks(printed.marks), delta, class_="print")


def _measured_number(c: ComparedCell) -> Markup:
    prefix = f", {c.verdict.name}{', in doubt' if c.doubts else ''} "
    value = f" {shown_measurement(c)}" if c.records else None
    content = el("span", prefix, class_="unseen"), sign(c.verdict.name), value
    return el("span", content, class_="ours", title="; ".join(map(str, c.doubts)) or None)


def _imported_number(c: ComparedCell) -> Markup | None:
    if not c.imported:
        return None
    run = c.imported[-1]
    prefix = el("span", f", by others, {run.verdict.name} ", class_="unseen")
    value = f" {shown_run(run, c.cell)}"
    title = f"by {run.maker}, not the suite's: {run.verdict.name}"
    return el("span", prefix, "[", sign(run.verdict.name), value, "]", class_="ours others", title=title)


def _stated_number(c: ComparedCell) -> Markup | None:
    if not c.notes_at_full:
        return None
    first, number = c.notes[0], len(c.notes)
    prefix = el("span", f", {STATED} ", class_="unseen")
    count = f" ×{number}" if number > 1 else None
    value = f"“{shown_note(first, c.cell)}”"
    return el("span", prefix, value, count, class_="ours others", title=str(first))


def notes(printed: Table) -> Markup:
    items = [el("li", el("b", character), " ", meaning(mark)) for character, mark in printed.marks.items()]
    if printed.test:
        sides = {1: "one-sided ", 2: "two-sided "}.get(printed.test.sides or 0, "")
        level = f" at {printed.test.level}" if printed.test.level else ""
        items.append(el("li", f"The caption names a {sides}{printed.test.kind}-test{level}."))
    if printed.note:
        items.append(el("li", printed.note))
    return el("ul", items, class_="notes") if items else Markup()


def examples(printed: Table) -> Markup:
    """Return queries with ranks and relevance of answers."""
    words = {True: "relevant", False: "not relevant", None: ""}
    lines = []
    for entry in printed.entries:
        answers = []
        for s in entry.shown:
            facts = [f"rank {s.rank}" if s.rank is not None else "", words[s.relevant]]
            answers += [el("div", ", ".join(filter(None, [s.system, *facts])))] if any(facts) else []
        lines.append(el("li", el("b", entry.query or entry.note), answers))
    return el("div", el("p", printed.about), el("ul", lines, class_="notes"))


def against_paper(printed: Table, compared: Sequence[ComparedCell]) -> Markup | None:
    """Return the agreement with the paper on the order of rows and on gains."""
    heads = {c.id: c.label for c in printed.columns}
    labels = {row.id: label_in_full(printed, row) for row in printed.rows}
    lines = [
        f"{heads[column]}: order of {rows} rows, Kendall's tau-b {tau:.2f}"
        for column, (tau, rows) in orders(compared).items()
    ]
    for e in effects(compared):
        lines.append(f"{heads[e.column]}: {labels[e.row]} over {labels[e.over]}, {_gain(e)}")
    if not lines:
        return None
    lead = "Against the published numbers (an effect ratio of 1 and a ΔRI of 0 are the published gain):"
    return el("div", el("p", lead), el("ul", [el("li", line) for line in lines]), class_="notes")


def _gain(effect: Effect) -> str:
    ratio = "–" if effect.effect_ratio is None else f"{effect.effect_ratio:.2f}"
    relative = "" if effect.delta_ri is None else f", ΔRI {effect.delta_ri:+.3f}"
    return f"effect ratio {ratio}{relative}"


@dataclass(frozen=True)
class Scatter:
    """A row's scores against the reference row's, one point (reference, row) per query."""

    row: str
    reference: str
    measure: str
    points: tuple[tuple[float, float], ...]
    queries: int

    @property
    def outcomes(self) -> str:
        """The numbers of queries above, equal to and below the reference."""
        signs = Counter((y > x) - (y < x) for x, y in self.points)
        return f"{signs[1]} above, {signs[0]} equal, {signs[-1]} below"


def scatters(plan: Plan, store: Store, paper: str) -> dict[str, list[Scatter]]:
    """Return table id -> scatter plots of its rows, in the first column with scores of two rows."""
    measurements: dict[str, dict[str, dict[str, Measurement]]] = {}
    tables: dict[str, Table] = {}
    for m in plan.measurements:
        is_stored = len(m.parts) == 1 and plan.states[m.parts[0].fingerprint] == "stored"
        if m.cell.paper.name == paper and is_stored and m.cell.table.kind == "results":
            tables[m.cell.table.id] = m.cell.table
            columns = measurements.setdefault(m.cell.table.id, {})
            columns.setdefault(m.cell.column.id, {}).setdefault(m.cell.row.id, m)
    by_table = {n: list(_table_scatters(tables[n], columns, store)) for n, columns in measurements.items()}
    return {name: rows for name, rows in by_table.items() if rows}


def _table_scatters(table: Table, columns: Mapping, store: Store) -> Iterator[Scatter]:
    rows = next((columns[c.id] for c in table.columns if len(columns.get(c.id, ())) > 1), None)
    if rows is None:
        return
    measured_rows = [row for row in table.rows if row.id in rows]
    reference, *others = sorted(measured_rows, key=lambda row: row.id != table.delta_from)
    base_scores = _scores(rows[reference.id], store)
    for row in others[:MOST_ROWS]:
        scores = _scores(rows[row.id], store)
        queries = sorted(scores.keys() & base_scores.keys())
        step = max(1, -(-len(queries) // MOST_QUERIES))
        points = tuple((base_scores[q], scores[q]) for q in queries[::step])
        names = label_in_full(table, row), label_in_full(table, reference)
        yield Scatter(*names, rows[row.id].measure, points, len(queries))


def _scores(m: Measurement, store: Store) -> dict[str, float]:
    scores = seal.read_json(store.path(m.parts[0]) / "scores.json")
    return dict(zip(scores["queries"], scores["measures"][m.measure], strict=True))


def drawing(scatter: Scatter) -> Markup:
    maximum = max([1e-9, *(v for point in scatter.points for v in point)])
    title = f"{scatter.row} against {scatter.reference}, {scatter.measure} by query: {scatter.outcomes}"
    edge = SIDE - PAD
    frame = [
        el("rect", x=PAD, y=PAD, width=SIDE - 2 * PAD, height=SIDE - 2 * PAD, class_="frame"),
        el("line", x1=PAD, y1=edge, x2=edge, y2=PAD, class_="diagonal"),
    ]
    look = {"viewBox": f"0 0 {SIDE} {SIDE}", "class_": "scatter", "role": "img", "aria_label": title}
    svg = el("svg", el("title", title), frame, _dots(scatter.points, maximum), **look)
    count = len(scatter.points)
    share = f"{count} of {scatter.queries} queries" if count < scatter.queries else ""
    more = (el("br"), share) if share else None
    words = el("figcaption", el("b", scatter.row), el("br"), scatter.outcomes, more)
    return el("figure", svg, words, class_="small")


def _dots(points: Sequence[tuple[float, float]], maximum: float) -> list[Markup]:
    inner = SIDE - 2 * PAD
    counts = Counter(
        (round(PAD + inner * x / maximum), round(SIDE - PAD - inner * y / maximum)) for x, y in points
    )
    return [
        el("circle", cx=x, cy=y, r=f"{min(1.6 + 0.5 * count**0.5, 7):.1f}")
        for (x, y), count in sorted(counts.items())
    ]
