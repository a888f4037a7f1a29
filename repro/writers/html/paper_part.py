"""The part of one paper on the report's page, e.g. at ``#PAPER``."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

from repro.hooks import Answers
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading
from repro.manifest.schema import Figure, Table
from repro.retrieval.datasets.catalog import catalog
from repro.writers.html import elements, tables
from repro.writers.html.cells import to_list
from repro.writers.html.elements import Content, Markup, el, folded, identifier, section
from repro.writers.html.sections import Part


def paper(part: Part) -> Markup:
    name, manifest = part.paper.name, part.paper.manifest
    heads = el("p", name, class_="eyebrow"), el("h2", manifest.title), paper_citation(part.paper)
    sections = [s for s in part.more_sections if not (s.of_no_scale and part.home)]
    ranked: list[tuple[int, Content]] = [(s.rank, s.content) for s in sections]
    ranked += [] if part.home else [(3, readings(part.paper, part.readings, part.answers))]
    return el(
        "article",
        el("header", heads, elements.bars(part.cells(), label=f"verdicts of {name}"), _contents(part)),
        folded("How to read a cell", elements.legend()),
        [_table(part, printed) for printed in manifest.tables],
        [_figure(part, figure) for figure in manifest.figures],
        [content for _, content in sorted(ranked, key=lambda item: item[0])],
        datasets(part.paper, part.scale),
        id=identifier(name),
        class_="paper",
    )


def place(part: Part, owner: str) -> str:
    """Return the id of the section of a table or figure, e.g. ``figure-4``."""
    return identifier(part.paper.name, owner)


def _contents(part: Part) -> Markup:
    name, manifest = part.paper.name, part.paper.manifest
    links = {f"Table {t.id}": ("", t.id) for t in manifest.tables}
    links |= {f"Figure {f.id}": ("", f"figure-{f.id}") for f in manifest.figures}
    sections = [(s.rank, s.title, (part.home * s.of_no_scale, s.anchor)) for s in part.more_sections]
    sections += [(3, "Unspecified choices", (part.home, "readings"))] if part.readings else []
    links |= {title: where for _, title, where in sorted(sections)}
    links["Data and licences"] = ("", "data")
    anchors = [el("a", words, href=f"{page}#{identifier(name, id)}") for words, (page, id) in links.items()]
    return el("nav", anchors, class_="inside", aria_label=f"parts of {name}")


def _table(part: Part, printed: Table) -> Markup:
    title, view = f"Table {printed.id}", part.view
    if printed.id in view.own_tables:
        body: Content = view.own_tables[printed.id]
    elif printed.rows:
        body = tables.table(part.paper, printed, part.cells(printed.id)), tables.notes(printed)
    else:
        body = tables.examples(printed), tables.notes(printed)
    drawings = [drawing_view(path, printed.about) for path in view.drawings.get(printed.id, ())]
    verdicts = elements.bars(part.cells(printed.id), label=f"verdicts of table {printed.id}")
    return section(title, verdicts, body, drawings, _copies(part, printed.id), place=place(part, printed.id))


def _copies(part: Part, owner: str) -> Markup | None:
    if not part.cells(owner):
        return None
    text = part.view.latex.get(owner)
    latex = folded("LaTeX", elements.copyable(text, "pre")) if text else None
    list_link = to_list("as a list", {"paper": part.paper.name, "table": owner})
    start = f"{part.paper.name}/{owner}/"
    csv = el("button", "copy as CSV", type="button", class_="csv", data_cells=start, hidden=True)
    return el("div", list_link, csv, latex, class_="to-copy")


def _figure(part: Part, figure: Figure) -> Markup:
    owner = f"figure-{figure.id}"
    cells = part.cells(owner)
    axes = [f"{name}: {text}" for name, text in (("x", figure.x), ("y", figure.y)) if text]
    points = None
    if cells:
        points = folded(f"{len(cells)} points as numbers", tables.table(part.paper, figure.as_table, cells))
    description = el("p", figure.about), el("p", "; ".join(axes), class_="fine") if axes else None
    drawings = [drawing_view(path, figure.about) for path in part.view.drawings.get(owner, ())]
    return section(f"Figure {figure.id}", description, drawings, points, place=place(part, owner))


def paper_citation(source: Paper) -> Markup:
    m = source.manifest
    links = {"DOI": f"https://doi.org/{m.doi}"} if m.doi else {}
    links |= {"arXiv": f"https://arxiv.org/abs/{m.arxiv}"} if m.arxiv else {}
    links |= {"code": m.code} if m.code and m.code.startswith(("https://", "http://")) else {}
    anchors: list[Content] = [(" · ", el("a", name, href=target)) for name, target in links.items()]
    return el("p", ". ".join(filter(None, [", ".join(m.authors), m.venue])), anchors, class_="cited")


def datasets(source: Paper, scale: str) -> Markup:
    """Return the datasets with licences, and the data that replace them at the scale."""
    names = dict.fromkeys(c.dataset for t in source.manifest.tables for c in t.columns)
    heads = ["collection", "title", "licence", *([f"stand-in at {scale}"] if scale != "full" else [])]
    rows: list[Sequence[Content]] = []
    for entry in (catalog()[name] for name in names if name in catalog()):
        stand_in = el("code", entry.at[scale]) if entry.at.get(scale) else "–"
        rows.append([el("code", entry.id), entry.title, entry.licence, stand_in][: len(heads)])
    body = tables.scrolling(elements.plain_table(heads, rows), f"data of {source.name}")
    return section("Data and licences", body, place=identifier(source.name, "data"))


UNSAFE = re.compile(r"[^\w /:;,=()@!*'$+?.~|[\]{}^`<>-]+", re.ASCII)  # in an attribute and an address
LARGEST = 1_000_000
_quoted = cache(quote)


def drawing_view(path: Path, about: str) -> Markup:
    """Return a drawing: SVG as an image, HTML in a sandbox, Markdown as tables."""
    if path.stat().st_size > LARGEST:
        return el("p", f"{path.name} is too large to be shown here.")
    if path.suffix == ".svg":
        data = UNSAFE.sub(lambda match: _quoted(match[0]), " ".join(path.read_text(encoding="utf-8").split()))
        box = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', path.read_bytes())
        size = {"width": round(float(box[1])), "height": round(float(box[2]))} if box else {}
        image = el("img", src=f"data:image/svg+xml,{data}", alt=f"ours: {about}", **size)
        return el("figure", image, el("figcaption", "as we measured it"), class_="drawing")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        content: Content = el("iframe", srcdoc=text, sandbox="", title=f"ours: {about}")
    else:
        content = Markup(elements.rendered(text).replace("&lt;br&gt;", "<br>"))
    return folded("our view", content)


def readings(source: Paper, concerned: Sequence[Reading], answers: Answers) -> Markup | None:
    """Return the section of unspecified choices with bold defaults, or None without any."""
    if not concerned:
        return None
    condition = "where the paper is silent or contradicts itself or its code"
    lead = el("p", f"{len(concerned)} places {condition}. Our choice is bold.")
    items = el("ul", [_reading(source, r, answers) for r in concerned], class_="statements")
    place = identifier(source.name, "readings")
    return section("Unspecified choices", lead, folded("all of them", items), place=place)


def _reading(source: Paper, r: Reading, answers: Answers) -> Markup:
    choices = [
        (" · " if number else "", el("b" if choice == r.default else "span", choice))
        for number, choice in enumerate(r.choices)
    ]
    head = el("p", el("code", r.id), f" {r.kind}, {r.where}")
    lines = [el("p", r.evidence, class_="fine")] if r.evidence else []
    for citation in r.citations:
        link = el("a", citation.place, href=citation.address)
        lines.append(el("p", f"{citation.who}: {citation.says} (", link, ")", class_="fine"))
    lines += study_lines(r.study, answers)
    place = identifier(source.name, "reading", r.id)
    return el("li", head, el("p", r.paper), el("p", choices), lines, id=place)


def study_lines(pointers: Sequence[str], answers: Answers) -> list[Markup]:
    """Return a line for each of a reading's pointers to a study's comparison."""
    words = {text: answers[text].words if text in answers else "no study is at hand" for text in pointers}
    return [
        el("p", "on equal terms, ", el("code", text), ": ", said, class_="fine")
        for text, said in words.items()
    ]
