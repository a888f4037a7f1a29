"""A paper's part of the page."""

from collections.abc import Iterator, Sequence

from repro.manifest.schema import Figure, Table
from repro.report.html.elements import Content, Markup, by_scale, copyable, el, identifier, section
from repro.report.html.listing import to_list
from repro.report.html.released_code import released_code
from repro.report.html.scatter import Scatter, drawing
from repro.report.html.sections import Part, View
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
        audit(part),
        readings(part.paper, part.readings, part.answers),
        settings(part),
        released_code(part),
        datasets(part.paper, list(part.views)),
        citation(part.paper),
        id=identifier(name),
        class_="paper",
    )


def place(part: Part, owner: str) -> str:
    """The id of a table's or figure's section; ``owner`` is ``4`` or ``figure-4``."""
    return identifier(part.paper.name, owner)


def _contents(part: Part) -> Markup:
    name = part.paper.name
    links = [(place(part, t.id), f"Table {t.id}") for t in part.paper.manifest.tables]
    links += [(place(part, f"figure-{f.id}"), f"Figure {f.id}") for f in part.paper.manifest.figures]
    links += (
        [(identifier(name, "claims"), "Claims")]
        if any(view.statements for view in part.views.values())
        else []
    )
    links += [(identifier(name, "audit"), "Audit")] if part.findings else []
    links += [(identifier(name, "readings"), "Unspecified choices")] if part.readings else []
    links += [(identifier(name, "settings"), "Settings")] if part.settings else []
    links += [(identifier(name, "released-code"), "Released code")] if any(part.certified.values()) else []
    links += [(identifier(name, "data"), "Data and licences"), (identifier(name, "citation"), "Citation")]
    anchors = [el("a", text, href=f"#{target}") for target, text in links]
    return el("nav", anchors, class_="inside", aria_label=f"parts of {name}")


def _table(part: Part, printed: Table) -> Markup:
    title = f"Table {printed.id}"
    if any(printed.id in view.studies for view in part.views.values()):
        body: Content = by_scale({name: _study(part, printed, view) for name, view in part.views.items()})
    elif printed.rows:
        cells_table = table(part.paper, printed, part.cells(printed.id))
        gains = {name: against_paper(printed, view.of(printed.id)) for name, view in part.views.items()}
        body = cells_table, notes(printed), by_scale(gains)
    else:
        body = examples(printed), notes(printed)
    drawings = _drawings(part, printed.id, printed.about)
    by_query = by_scale(
        {name: list(_scatters(view.scatters.get(printed.id, ()))) for name, view in part.views.items()}
    )
    verdicts = bars(part, label=f"verdicts of table {printed.id}", owner=printed.id)
    return section(
        title, verdicts, body, drawings, by_query, _copies(part, printed.id), place=place(part, printed.id)
    )


def _study(part: Part, printed: Table, view: View) -> Content:
    result = view.studies.get(printed.id)
    title = f"Table {printed.id} of {part.paper.name}"
    return study(title, printed, result) if result else el("p", printed.about, class_="caption")


def _copies(part: Part, owner: str) -> Markup | None:
    """The table as LaTeX and, from the list of all cells, as CSV; nothing of a table without cells."""
    if not part.cells(owner):
        return None
    texts = {name: view.latex.get(owner) for name, view in part.views.items()}
    latex_by_scale = {
        name: el("details", el("summary", "LaTeX"), copyable(text, "pre")) if text else None
        for name, text in texts.items()
    }
    list_link = to_list("as a list", {"paper": part.paper.name, "table": owner})
    start = f"{part.paper.name}/{owner}/"
    csv = el("button", "copy as CSV", type="button", class_="csv", data_cells=start, hidden=True)
    return el("div", list_link, csv, by_scale(latex_by_scale), class_="to-copy")


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
    views = part.views.items()
    return by_scale(
        {name: [drawing_view(path, about) for path in view.drawings.get(owner, ())] for name, view in views}
    )


def _scatters(scatters: Sequence[Scatter]) -> Iterator[Markup]:
    if scatters:
        first = scatters[0]
        summary = f"Query by query: {first.measure}, upwards, against {first.reference}, to the right"
        yield el("details", el("summary", summary), el("div", map(drawing, scatters), class_="multiples"))
