"""A paper's tables in HTML, e.g. at ``#PAPER/1``."""

from collections.abc import Iterator, Sequence

from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.schema import Table
from repro.verdicts.compared import ComparedCell
from repro.writers.grid import STATED, Grid, Head, meaning, shown_measurement, shown_note, shown_run, spans
from repro.writers.html.elements import Content, Markup, el, identifier, sign, tone


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
    columns = [el("th", h.last, _marks(h.marks), scope="col") for h in heads]
    lines.append(el("tr", el("td"), columns, [el("th", name, scope="col") for name in more]))
    return lines


def _body(grid: Grid[Markup]) -> Iterator[Markup]:
    for heading, heads in grid.blocks:
        label = el("th", heading, scope="rowgroup", colspan=len(grid.columns) + 1) if heading else None
        lines = [el("tr", _name(line_head), grid.line(line_head)) for line_head in heads]
        yield el("tbody", el("tr", label) if label else None, lines)


def _name(line_head: Head) -> Markup:
    look = "own" if line_head.row and line_head.row.role == "ours" else None
    return el("th", line_head.label, _marks(line_head.marks), scope="row", class_=look)


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
    return el("span", prefix, f"“{shown_note(first, c.cell)}”", count, class_="ours others", title=str(first))


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
