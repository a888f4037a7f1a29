"""A paper's tables as it prints them, with ours beneath each number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from repro.judging.comparison import Compared, Comparison
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.schema import Column, Mark, Row, Table
from repro.report.html.details import about, card
from repro.report.html.elements import Content, Markup, el, identifier
from repro.report.html.verdicts import sign, tone
from repro.report.numbers import shown

Places = Mapping[tuple[str, str], Compared]


def table(source: Paper, printed: Table, compared: Sequence[Compared], comparison: Comparison) -> Markup:
    """One table and the cards of its cells."""
    places = {(c.cell.row.id, c.cell.column.id): c for c in compared}
    cells = {(c.row.id, c.column.id): c for c in cells_of(source, (printed,))}
    body = _across(printed, cells, places) if printed.transposed else _down(printed, cells, places)
    caption = identifier("caption", source.name, printed.id)
    return el(
        "div",
        el("p", f"{printed.about} ({printed.unit})", class_="caption", id=caption),
        scrolling(
            el("table", body, class_="printed", aria_labelledby=caption),
            f"table {printed.id} of {source.name}",
        ),
        [card(c, comparison) for c in compared],
    )


def scrolling(content: Markup, name: str) -> Markup:
    """A box that scrolls sideways by itself, by keyboard too."""
    return el("div", content, class_="scroll", role="region", tabindex=0, aria_label=name)


def _down(printed: Table, cells: Mapping, places: Places) -> Iterator[Markup]:
    yield el("thead", head(printed.columns))
    groups = {g.id: g.label for g in printed.groups}
    for group, rows in groupby(printed.rows, key=lambda row: row.group):
        lines = [
            el(
                "tr",
                _name(row),
                [_cell(cells[row.id, c.id], places.get((row.id, c.id))) for c in printed.columns],
            )
            for row in rows
        ]
        label = (
            el("th", groups[group], scope="rowgroup", colspan=len(printed.columns) + 1)
            if groups.get(group)
            else None
        )
        yield el("tbody", el("tr", label) if label else None, lines)


def _across(printed: Table, cells: Mapping, places: Places) -> Iterator[Markup]:
    """Systems across, as print has them."""
    labels = [el("th", row.label, _marks(row.marks), scope="col") for row in printed.rows]
    yield el("thead", el("tr", el("td"), labels))
    lines = [
        el(
            "tr",
            el("th", " ".join(c.head) or c.id, scope="row"),
            [_cell(cells[row.id, c.id], places.get((row.id, c.id))) for row in printed.rows],
        )
        for c in printed.columns
    ]
    yield el("tbody", lines)


def head(columns: Sequence[Column], more: Sequence[str] = ()) -> list[Markup]:
    """The lines of the head: what several columns share above what each is."""
    above = [(" ".join(c.head[:-1]), c) for c in columns]
    lines = []
    if any(shared for shared, _ in above):
        spans = [(shared, len(list(group))) for shared, group in groupby(above, key=lambda pair: pair[0])]
        shared = [
            el("th", name, scope="colgroup", colspan=n) if name else el("td", colspan=n) for name, n in spans
        ]
        lines.append(el("tr", el("td"), shared, el("td", colspan=len(more)) if more else None))
    own = [el("th", c.head[-1] if c.head else c.id, scope="col") for c in columns]
    lines.append(el("tr", el("td"), own, [el("th", name, scope="col") for name in more]))
    return lines


def _name(row: Row) -> Markup:
    return el("th", row.label, _marks(row.marks), scope="row", class_="own" if row.role == "ours" else None)


def _marks(marks: str) -> Content:
    return el("sup", marks) if marks else None


def _cell(cell: Cell, compared: Compared | None) -> Markup:
    """A number that could be measured is a button, which opens its card."""
    as_printed = _as_printed(cell)
    if compared is None:
        return el("td", as_printed)
    button = el(
        "button",
        as_printed,
        _ours(compared),
        type="button",
        popovertarget=about(cell.id),
        class_=tone(compared.verdict.name),
    )
    return el("td", button, id=identifier(*cell.id.split("/")))


def _as_printed(cell: Cell) -> Content:
    if cell.table.kind == "figure":
        return None
    printed = cell.printed
    if printed.value is None:
        return el("span", printed.plain, class_="words")
    delta = f" ({printed.delta:+})" if printed.delta is not None else None
    return el(
        "span",
        el("b" if printed.bold else "span", printed.plain),
        _marks(printed.marks),
        delta,
        class_="print",
    )


def _ours(c: Compared) -> Markup:
    hidden = el("span", f", {c.verdict.name} ", class_="unseen")
    value = shown(c.measured, c.cell) if c.measured is not None else None
    return el("span", hidden, sign(c.verdict.name), " " if value else None, value, class_="ours")


def notes(printed: Table) -> Markup:
    """What marks mean and what the caption says of tests, in the manifest's words."""
    items = [el("li", el("b", mark), " ", _meaning(meaning)) for mark, meaning in printed.marks.items()]
    if printed.test:
        sides = {1: "one-sided ", 2: "two-sided "}.get(printed.test.sides, "")
        level = f" at {printed.test.level}" if printed.test.level else ""
        items.append(el("li", f"The caption names a {sides}{printed.test.kind}-test{level}."))
    if printed.note:
        items.append(el("li", printed.note))
    return el("ul", items, class_="notes") if items else Markup()


def _meaning(mark: Mark) -> str:
    if mark.means == "significant":
        return f"better than {', '.join(mark.over)} by the test of the caption"
    return " ".join(part for part in (mark.source or mark.property, mark.note) if part)


def examples(printed: Table) -> Markup:
    """A table of examples: the queries, and what print says of each system's answer."""
    words = {True: "relevant", False: "not relevant", None: ""}
    lines = []
    for entry in printed.entries:
        told = [
            (s.system, f"rank {s.rank}" if s.rank is not None else "", words[s.relevant]) for s in entry.shown
        ]
        answers = [el("div", ", ".join(filter(None, facts))) for facts in told if any(facts[1:])]
        lines.append(el("li", el("b", entry.query or entry.note), answers))
    return el("div", el("p", printed.about), el("ul", lines, class_="notes"))
