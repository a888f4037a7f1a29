"""A paper's part of the page."""

from collections import Counter
from collections.abc import Iterator, Sequence

from repro.judging.compared import Comparison
from repro.manifest.schema import Figure, Table
from repro.report.html.elements import Content, Markup, el, identifier, section
from repro.report.html.scatter import drawing
from repro.report.html.sections import Part
from repro.report.html.sources import citation, cited, datasets
from repro.report.html.statements import audit, claims, readings
from repro.report.html.tables import against_paper, examples, notes, study, table
from repro.report.html.verdicts import bar
from repro.report.html.views import view


def paper(part: Part, comparison: Comparison, scale: str) -> Markup:
    """Tables, figures, statements, readings and sources of a paper."""
    name, manifest = part.paper.name, part.paper.manifest
    heads = el("p", name, class_="eyebrow"), el("h2", manifest.title), cited(part.paper)
    return el(
        "article",
        el("header", heads, bar(part.counts, label=f"verdicts of {name}"), _contents(part)),
        [_table(part, printed, comparison) for printed in manifest.tables],
        [_figure(part, figure, comparison) for figure in manifest.figures],
        claims(part, scale),
        audit(part),
        readings(part.paper, part.readings),
        datasets(part.paper, scale),
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
    links += [(identifier(name, "claims"), "Claims")] if part.statements else []
    links += [(identifier(name, "audit"), "Audit")] if part.findings else []
    links += [(identifier(name, "readings"), "Readings")] if part.readings else []
    links += [(identifier(name, "data"), "Data and licences"), (identifier(name, "citation"), "Citation")]
    anchors = [el("a", text, href=f"#{target}") for target, text in links]
    return el("nav", anchors, class_="inside", aria_label=f"parts of {name}")


def _table(part: Part, printed: Table, comparison: Comparison) -> Markup:
    compared = [c for c in part.compared if c.cell.table.id == printed.id]
    title = f"Table {printed.id}"
    if printed.id in part.studies:
        body: Content = study(f"{title} of {part.paper.name}", printed, part.studies[printed.id])
    elif printed.rows:
        shown = table(part.paper, printed, compared, comparison)
        body = shown, notes(printed), against_paper(printed, compared)
    else:
        body = examples(printed), notes(printed)
    counts = Counter(c.verdict.name for c in compared)
    verdicts = bar(counts, label=f"verdicts of table {printed.id}") if compared else None
    drawn = _drawings(part, printed.id, printed.about), _scatters(part, printed.id)
    return section(title, verdicts, body, drawn, place=place(part, printed.id))


def _figure(part: Part, figure: Figure, comparison: Comparison) -> Markup:
    owner = f"figure-{figure.id}"
    compared = [c for c in part.compared if c.cell.table.id == owner]
    axes = [f"{name}: {text}" for name, text in (("x", figure.x), ("y", figure.y)) if text]
    points = None
    if compared:
        summary = el("summary", f"{len(compared)} points as numbers")
        points = el("details", summary, table(part.paper, figure.as_table(), compared, comparison))
    about = el("p", figure.about), el("p", "; ".join(axes), class_="fine") if axes else None
    drawn = _drawings(part, owner, figure.about)
    return section(f"Figure {figure.id}", about, drawn, points, place=place(part, owner))


def _drawings(part: Part, owner: str, about: str) -> list[Content]:
    return [view(path, about) for path in part.drawings.get(owner, ())]


def _scatters(part: Part, table_id: str) -> Iterator[Markup]:
    scatters: Sequence = part.scatters.get(table_id, ())
    if scatters:
        first = scatters[0]
        about = f"Query by query: {first.measure}, upwards, against {first.reference}, to the right"
        yield el("details", el("summary", about), el("div", map(drawing, scatters), class_="multiples"))
