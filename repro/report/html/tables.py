"""A paper's tables as it prints them, with ours beneath each number."""

from collections.abc import Iterator, Sequence

from repro.judging.compared import Compared, Comparison
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.schema import Table
from repro.report.grid import Grid, Head, meaning, ours, spans
from repro.report.html.details import about, card
from repro.report.html.elements import Content, Markup, el, identifier
from repro.report.html.verdicts import sign, tone


def table(source: Paper, printed: Table, compared: Sequence[Compared], comparison: Comparison) -> Markup:
    """One table and the cards of its cells."""
    by_id = {c.cell.id: c for c in compared}
    cells = cells_of(source, (printed,))
    grid = Grid.of(printed, {(c.row.id, c.column.id): _cell(c, by_id.get(c.id)) for c in cells})
    caption = identifier("caption", source.name, printed.id)
    body = el("table", el("thead", head(grid.across)), _body(grid), class_="printed", aria_labelledby=caption)
    return el(
        "div",
        el("p", f"{printed.about} ({printed.unit})", class_="caption", id=caption),
        scrolling(body, f"table {printed.id} of {source.name}"),
        [card(c, comparison) for c in compared],
    )


def scrolling(content: Markup, name: str) -> Markup:
    """A box that scrolls sideways by itself, by keyboard too."""
    return el("div", content, class_="scroll", role="region", tabindex=0, aria_label=name)


def head(heads: Sequence[Head], more: Sequence[str] = ()) -> list[Markup]:
    """The lines above a table: the headings that several columns share, then each column's own head."""
    lines = []
    if above := spans(heads):
        shared = [
            el("th", name, scope="colgroup", colspan=n) if name else el("td", colspan=n) for name, n in above
        ]
        lines.append(el("tr", el("td"), shared, el("td", colspan=len(more)) if more else None))
    columns = [el("th", h.last, _marks(h.row.marks) if h.row else None, scope="col") for h in heads]
    lines.append(el("tr", el("td"), columns, [el("th", name, scope="col") for name in more]))
    return lines


def _body(grid: Grid[Markup]) -> Iterator[Markup]:
    for heading, heads in grid.blocks:
        label = el("th", heading, scope="rowgroup", colspan=len(grid.columns) + 1) if heading else None
        lines = [el("tr", _name(left), grid.line(left)) for left in heads]
        yield el("tbody", el("tr", label) if label else None, lines)


def _name(left: Head) -> Markup:
    if left.row is None:
        return el("th", left.label, scope="row")
    own = "own" if left.row.role == "ours" else None
    return el("th", left.label, _marks(left.row.marks), scope="row", class_=own)


def _marks(marks: str) -> Content:
    return el("sup", marks) if marks else None


def _cell(cell: Cell, compared: Compared | None) -> Markup:
    """A number that could be measured is a button, which opens its card."""
    as_printed = _as_printed(cell)
    if compared is None:
        return el("td", as_printed)
    opens = {"type": "button", "popovertarget": about(cell.id)}
    button = el("button", as_printed, _ours(compared), **opens, class_=tone(compared.verdict.name))
    return el("td", button, id=identifier(*cell.id.split("/")))


def _as_printed(cell: Cell) -> Content:
    if cell.table.kind == "figure":
        return None
    printed = cell.printed
    if printed.value is None:
        return el("span", printed.plain, class_="words")
    delta = f" ({printed.delta:+})" if printed.delta is not None else None
    number = el("b" if printed.bold else "span", printed.plain)
    return el("span", number, _marks(printed.marks), delta, class_="print")


def _ours(c: Compared) -> Markup:
    hidden = el("span", f", {c.verdict.name} ", class_="unseen")
    value = ours(c)
    return el("span", hidden, sign(c.verdict.name), " " if value else None, value, class_="ours")


def notes(printed: Table) -> Markup:
    """The meaning of marks, and the test that the caption names, in the manifest's words."""
    items = [el("li", el("b", character), " ", meaning(mark)) for character, mark in printed.marks.items()]
    if printed.test:
        sides = {1: "one-sided ", 2: "two-sided "}.get(printed.test.sides, "")
        level = f" at {printed.test.level}" if printed.test.level else ""
        items.append(el("li", f"The caption names a {sides}{printed.test.kind}-test{level}."))
    if printed.note:
        items.append(el("li", printed.note))
    return el("ul", items, class_="notes") if items else Markup()


def examples(printed: Table) -> Markup:
    """A table of examples: each query with the rank and relevance of the systems' answers."""
    words = {True: "relevant", False: "not relevant", None: ""}
    lines = []
    for entry in printed.entries:
        facts = [
            (s.system, f"rank {s.rank}" if s.rank is not None else "", words[s.relevant]) for s in entry.shown
        ]
        answers = [el("div", ", ".join(filter(None, system))) for system in facts if any(system[1:])]
        lines.append(el("li", el("b", entry.query or entry.note), answers))
    return el("div", el("p", printed.about), el("ul", lines, class_="notes"))
