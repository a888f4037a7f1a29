"""The card of a cell with e.g. its verdict, and the list of all cells."""

import json
import re
from collections.abc import Iterator, Mapping
from shlex import quote
from urllib.parse import urlencode

from repro.manifest.cells import Cell
from repro.store.results import Record
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.summary import why_cut
from repro.writers import grid
from repro.writers.html import elements, tables
from repro.writers.html.elements import Content, Markup, badge, el, folded, identifier
from repro.writers.html.sections import Part, Report

CELL = "{cell}"  # the page's script inserts the cell's id
GRADES = {
    "A": "the authors' run file is public",
    "B": "the authors' checkpoint is public",
    "P": "a public run or checkpoint by others",
    "C": "only the published mean",
}


def card(c: ComparedCell, part: Part) -> list[Markup]:
    facts = [*_publication(c), *_measurement(c), *_imported_runs(c), *_stated_values(c)]
    facts += _tests(c, part.view.comparison)
    facts += [_fact("reproduce", elements.copyable(_command(c))), *_obstacles(c), *_choices(c)]
    facts += [*_definition(c), *_readings(c.cell, part)]
    facts += [_fact(name, content) for more in part.of_plugins for name, content in more.card(c, part)]
    facts += _origins(c)
    return [el("p", badge(c.verdict.name), " ", "" if c.obstacles else c.verdict.why), *facts]


def _command(c: ComparedCell) -> str:
    first = c.records[0] if c.records else None
    seeds = ",".join(str(r.seed) for r in c.records if r.seed is not None)
    choices = first.readings.items() if first else ()
    words = [f"repro run {CELL} --scale {c.scale}", f"--seeds {seeds}" if seeds else ""]
    return " ".join(filter(None, [*words, *(f"--reading {reading}={choice}" for reading, choice in choices)]))


def _fact(name: str, *content: Content) -> Markup:
    return el("div", el("dt", name), el("dd", *content))


def _publication(c: ComparedCell) -> Iterator[Markup]:
    cell = c.cell
    if cell.is_unpublished:
        return
    yield _fact("published", el("b", cell.printed.plain), cell.printed.marks)
    yield _fact("role", f"{grid.ROLES[cell.role]}; {GRADES[cell.grade]}")


def _measurement(c: ComparedCell) -> Iterator[Markup]:
    if c.measured is not None:
        first = c.records[0]
        missing = f", {first.missing} of them without an answer" if first.missing else ""
        yield _fact("ours", el("b", f"{c.measured:.6g}"), f" over {first.queries} queries{missing}")
    if len(c.records) > 1:
        values = ", ".join(f"{'own' if r.seed is None else r.seed}: {r.measured:.6g}" for r in c.records)
        yield _fact("seeds", values)
    yield from _difference(c)
    if c.stand_ins:
        yield _fact("measured on", el("code", " ".join(c.stand_ins)), ", a substitute for the paper's data")
    if c.cut_at:
        yield _fact("cut", f"only the first {c.cut_at} documents count: {why_cut(c)}")
    if c.data_without_digest:
        yield _fact("data", f"not compared with a known digest: {', '.join(c.data_without_digest)}")
    for doubt in c.doubts:
        yield _fact("in doubt", str(doubt))


def _difference(c: ComparedCell) -> Iterator[Markup]:
    if c.verdict.difference is not None:
        width = f", interval ± {c.verdict.half_width:.4g}" if c.verdict.half_width is not None else ""
        yield _fact("difference", f"{c.verdict.difference:+.4g}{width}")
    if c.interval:
        positions = {True: "inside", False: "outside", None: ""}
        bounds = f"{c.interval.low:.4g} to {c.interval.high:.4g} in 95 %"
        position = positions[c.published_inside]
        yield _fact("over queries", bounds, f"; the published mean is {position}" if position else None)


def _imported_runs(c: ComparedCell) -> Iterator[Markup]:
    for run in c.imported:
        content = el("b", f"{run.measured:.6g}"), " ", badge(run.verdict.name, plain=True), run.verdict.why
        yield _fact("run by others", content, elements.copyable(f"repro import run {quote(run.file)} {CELL}"))


def _stated_values(c: ComparedCell) -> Iterator[Markup]:
    if c.notes:
        values = []
        for note in c.notes:
            place = el("a", f"{note.label}, {note.who}", href=note.address or None, title=note.place)
            values.append((el("b", grid.shown_note(note, c.cell)), f" {note.how} (", place, ")"))
        first, *others = values
        items = el("ul", [el("li", other) for other in others], class_="notes")
        summary = f"{len(c.notes)} values from {grid.span(c.notes, c.cell)}"
        yield _fact(grid.STATED, first, folded(summary, items) if others else None)


def _obstacles(c: ComparedCell) -> Iterator[Markup]:
    lines = [el("li", f"{o.cause}.", el("br"), f"{grid.capitalised(o.remedy)}.") for o in c.obstacles]
    if lines:
        summary = f"missing on the machine of this report: {len(lines)}"
        yield _fact("requirements", folded(summary, el("ul", lines, class_="notes")))


def _definition(c: ComparedCell) -> Iterator[Markup]:
    column = c.cell.column
    if column.mean_of:
        yield _fact("definition", f"mean of {', '.join(column.mean_of)}; {c.cell.unit}")
    elif column.dataset or column.measure:
        dataset = el("code", column.dataset or "–")
        yield _fact("definition", f"{column.measure} on ", dataset, f"; {c.cell.unit}")
    if note := c.cell.row.note or column.note:
        yield _fact("note", note)


def _readings(cell: Cell, part: Part) -> Iterator[Markup]:
    if names := part.rests_on.get(cell.id, ()):
        target = f"{part.home}#{identifier(part.paper.name, 'reading')}"
        listing = el("code", " ".join(names), data_readings=target)
        yield _fact("unspecified choices", folded(f"{len(names)} that affect this cell", listing))


def _choices(c: ComparedCell) -> Iterator[Markup]:
    for first in c.records[:1]:
        for reading, choice in first.readings.items():
            yield _fact("chosen", f"{reading} = {choice}")
        for reading, why in first.substitutes.items():
            yield _fact("substitute", f"{reading}: {why}")


def _tests(c: ComparedCell, comparison: Comparison) -> Iterator[Markup]:
    by_id = {row.id: row for row in c.cell.table.rows}
    between_rows = [
        (grid.label_in_full(c.cell.table, by_id[p["over"]]), p["difference"], p["p"], p["holm_student_p"])
        for p in comparison.pairs(c)
    ]
    paired = [(t.maker, t.difference, t.p, t.holm_p) for t in comparison.paired.get(c.cell.id, ())]
    for name, head, tests in (("tests", "against", between_rows), ("same system", "run by", paired)):
        rows = [(label, _points(c, gain), *map(grid.probability, ps)) for label, gain, *ps in tests]
        if rows:
            heads = head, "difference", "p", "p (Holm)"
            yield _fact(name, elements.plain_table(heads, rows, class_=None))


def _points(c: ComparedCell, difference: float) -> str:
    return f"{difference * 100:+.2f}" if c.cell.unit == "percent" else f"{difference:+.4f}"


def _origins(c: ComparedCell) -> Iterator[Markup]:
    records = [*c.records, *(run.record for run in c.imported)]
    if records:
        facts = [fact for r in records for fact in _provenance(r)]
        yield _fact("origin", folded(f"records: {len(records)}", el("dl", facts)))


def _provenance(record: Record) -> Iterator[Markup]:
    if record.origin:
        origins = [f"{key}: {value}" for key, value in sorted(record.origin.items()) if value]
        yield _fact("imported", "; ".join(origins))
    software = record.environment.get("software", {})
    names = filter(software.get, ("torch", "transformers", "pyserini"))
    versions = ", ".join(f"{name} {software[name]}" for name in names)
    facts = [("fingerprint", record.fingerprint), ("commit", record.environment.get("commit"))]
    yield from (_fact(name, el("code", value)) for name, value in facts if value)
    yield _fact("recorded", "; ".join(filter(None, [record.recorded[:10], record.machine, versions])))


# head -> the name of its control, if any
COLUMNS = {
    "system": "system",
    "paper": "paper",
    "table": "table",
    "column": None,
    "dataset": "dataset",
    "published": None,
    "measured": None,
    "difference": None,
    "verdict": "verdict",
    "run by others": None,
    "stated by others": None,
}
ONLY = {"measured": "only measured", "fails": "only what fails", "run": "only run by others"}
ONLY |= {"stated": f"only {grid.STATED}"}
PIECES = re.compile(r"(?:<[^>]+>)+|[^<]+")
ABOUT = "The cells of all papers. Press a system to see how its number is defined, judged and made again."


def cells(report: Report) -> Markup:
    """Return the list of all cells, which a script fills."""
    heads = [el("th", name, scope="col") for name in COLUMNS]
    body = el("table", el("thead", el("tr", heads)), el("tbody"), class_="plain list")
    header = el("header", el("h2", "All cells"), el("p", ABOUT, class_="lead"))
    note = el("noscript", el("p", "The list, and the card behind each number, need the page's script."))
    signs = folded("How to read a cell", elements.legend())
    return el("article", header, note, signs, _controls(), tables.scrolling(body, "all cells"), id="cells")


def data(report: Report) -> Markup:
    """Return the list and all cards as JSON, with shared texts stored once.

    ``texts`` are HTML, as indices into ``pieces``. A cell is a list: id, fields of its line and parts of its
    card (both are indices into ``texts``), and 1 if it is published.
    """
    texts: dict[str, int] = {}

    def number(text: Content) -> int:
        return texts.setdefault(elements.join(text), len(texts))

    lines = [
        [
            identifier(*c.cell.id.split("/")),
            [number(field) for field in _fields(c)],
            [number(piece) for piece in card(c, part)],
            int(c.cell.counted_as == "published"),
        ]
        for part in report.parts
        for c in part.cells()
    ]
    pieces: dict[str, int] = {}
    numbers = [[pieces.setdefault(p, len(pieces)) for p in PIECES.findall(text)] for text in texts]
    content = {"scale": report.scale, "pieces": list(pieces), "texts": numbers, "cells": lines}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # must not end the script or begin a comment
    safe = text.replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return el("script", Markup(safe), type="application/json", id="data")


def to_list(text: str, chosen: Mapping[str, str] | None) -> Content:
    """Return a link to the list of cells filtered by ``chosen``, or the text alone if that is None."""
    return text if chosen is None else el("a", text, href="#cells", data_filter=urlencode(chosen))


def _controls() -> Markup:
    search = el("input", type="search", name="search", autocomplete="off", placeholder="any words")
    selects = [
        el("label", name, el("select", el("option", "any", value=""), name=name, autocomplete="off"))
        for name in filter(None, COLUMNS.values())
    ]
    boxes = [
        el("label", el("input", type="checkbox", name="only", value=name, autocomplete="off"), text)
        for name, text in ONLY.items()
    ]
    count = el("output", aria_live="polite")
    buttons = [
        el("button", "start over", type="reset"),
        el("button", "copy as CSV", type="button", class_="csv"),
    ]
    return el("form", el("label", "search", search), selects, boxes, count, buttons, id="chosen", hidden=True)


def _fields(c: ComparedCell) -> Iterator[Content]:
    cell = c.cell
    yield from (grid.label_in_full(cell.table, cell.row), cell.column.label, cell.column.dataset)
    yield "" if cell.is_unpublished else cell.printed.plain
    yield grid.shown_measurement(c) or ""
    yield "" if c.verdict.difference is None else f"{c.verdict.difference:+.4g}"
    yield badge(c.verdict.name)
    run = c.imported[-1] if c.imported else None
    yield (f"{grid.shown_run(run, cell)} ", badge(run.verdict.name, plain=True)) if run else ""
    yield grid.shown_note(c.notes[0], cell) if c.notes else ""
