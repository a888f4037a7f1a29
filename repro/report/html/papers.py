"""A paper's part of the page."""

from collections.abc import Iterator, Sequence

from repro.manifest.schema import Figure, Table
from repro.report.html.elements import Content, Markup, copyable, el, identifier, section
from repro.report.html.listing import to_list
from repro.report.html.released_code import released_code
from repro.report.html.scatter import Scatter, drawing
from repro.report.html.sections import Part
from repro.report.html.settings import settings
from repro.report.html.sources import citation, datasets, paper_citation
from repro.report.html.statements import audit, claims, readings
from repro.report.html.tables import against_paper, examples, notes, study, table
from repro.report.html.verdicts import bars
from repro.report.html.views import drawing_view


def paper(part: Part) -> Markup:
    """Tables, figures, statements, readings and sources of a paper."""
    name, manifest = part.paper.name, part.paper.manifest
    heads = el("p", name, class_="eyebrow"), el("h2", manifest.title), paper_citation(part.paper)
    return el(
        "article",
        el("header", heads, bars(part, label=f"verdicts of {name}"), _contents(part)),
        [_table(part, printed) for printed in manifest.tables],
        [_figure(part, figure) for figure in manifest.figures],
        claims(part),
        [] if part.home else _of_no_scale(part),
        datasets(part.paper, part.scale),
        citation(part.paper),
        id=identifier(name),
        class_="paper",
    )


def _of_no_scale(part: Part) -> Content:
    return [
        audit(part),
        readings(part.paper, part.readings, part.answers),
        settings(part),
        released_code(part),
    ]


def place(part: Part, owner: str) -> str:
    """The id of a table's or figure's section; ``owner`` is ``4`` or ``figure-4``."""
    return identifier(part.paper.name, owner)


def _contents(part: Part) -> Markup:
    name, manifest = part.paper.name, part.paper.manifest
    links = {f"Table {t.id}": ("", t.id) for t in manifest.tables}
    links |= {f"Figure {f.id}": ("", f"figure-{f.id}") for f in manifest.figures}
    sections = {
        "Claims": ("", "claims", part.view.statements),
        "Audit": (part.home, "audit", part.findings),
        "Unspecified choices": (part.home, "readings", part.readings),
        "Settings": (part.home, "settings", part.settings),
        "Released code": (part.home, "released-code", list(filter(None, part.certified.values()))),
    }
    links |= {words: where for words, (*where, content) in sections.items() if content}
    links |= {"Data and licences": ("", "data"), "Citation": ("", "citation")}
    anchors = [
        el("a", words, href=f"{page}#{identifier(name, target)}") for words, (page, target) in links.items()
    ]
    return el("nav", anchors, class_="inside", aria_label=f"parts of {name}")


def _table(part: Part, printed: Table) -> Markup:
    title, view = f"Table {printed.id}", part.view
    if printed.id in view.studies:
        name = f"{title} of {part.paper.name}"
        body: Content = study(name, printed, view.studies[printed.id])
    elif printed.rows:
        cells_table = table(part.paper, printed, part.cells(printed.id))
        body = cells_table, notes(printed), against_paper(printed, part.cells(printed.id))
    else:
        body = examples(printed), notes(printed)
    drawings = _drawings(part, printed.id, printed.about)
    by_query = list(_scatters(view.scatters.get(printed.id, ())))
    verdicts = bars(part, label=f"verdicts of table {printed.id}", owner=printed.id)
    return section(
        title, verdicts, body, drawings, by_query, _copies(part, printed.id), place=place(part, printed.id)
    )


def _copies(part: Part, owner: str) -> Markup | None:
    """The table as LaTeX and, from the list of all cells, as CSV; nothing of a table without cells."""
    if not part.cells(owner):
        return None
    text = part.view.latex.get(owner)
    latex = el("details", el("summary", "LaTeX"), copyable(text, "pre")) if text else None
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
        summary = el("summary", f"{len(cells)} points as numbers")
        points = el("details", summary, table(part.paper, figure.as_table, cells))
    description = el("p", figure.about), el("p", "; ".join(axes), class_="fine") if axes else None
    drawings = _drawings(part, owner, figure.about)
    return section(f"Figure {figure.id}", description, drawings, points, place=place(part, owner))


def _drawings(part: Part, owner: str, about: str) -> Content:
    return [drawing_view(path, about) for path in part.view.drawings.get(owner, ())]


def _scatters(scatters: Sequence[Scatter]) -> Iterator[Markup]:
    if scatters:
        first = scatters[0]
        summary = f"Query by query: {first.measure}, upwards, against {first.reference}, to the right"
        yield el("details", el("summary", summary), el("div", map(drawing, scatters), class_="multiples"))
