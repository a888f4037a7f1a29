"""A document as one HTML page that needs nothing but itself."""

from importlib import resources

from repro.report.html.elements import Content, Markup, el, identifier, plain_table
from repro.report.reproduction.blocks import (
    Block,
    Document,
    Fold,
    Grid,
    Inline,
    Link,
    Picture,
    Section,
    Words,
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SHEETS = (("repro.report.html", "report.css"), ("repro.report.reproduction", "reproduction.css"))


def page(document: Document, foot: str) -> str:
    """The whole page; equal documents give equal text."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("title", document.title),
        el("style", [_sheet(*sheet) for sheet in SHEETS]),
    )
    links = [
        el("a", section.place.replace("-", " ").capitalize(), href=f"#{section.place}")
        for section in document.sections
    ]
    header = el(
        "header", el("p", document.above, class_="eyebrow"), el("h2", document.title), _all(document.lead)
    )
    article = el("article", header, map(_section, document.sections), class_="overview", id="overview")
    body = el(
        "body",
        el("a", "to the content", href="#content", class_="skip"),
        el("header", el("h1", "repro"), el("nav", links, aria_label="parts"), class_="top"),
        el("main", article, id="content", tabindex=-1),
        el("footer", el("p", foot)),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _sheet(package: str, name: str) -> Markup:
    return Markup(resources.files(package).joinpath(name).read_text(encoding="utf-8"))


def _section(section: Section) -> Markup:
    return el("section", el("h3", section.title), _all(section.blocks), id=section.place)


def _all(blocks) -> list[Content]:
    return [_block(block) for block in blocks]


def _block(block: Block) -> Content:
    if isinstance(block, Words):
        return el("p", _inline(block.inline), class_=block.look or None)
    if isinstance(block, Grid):
        return _grid(block)
    if isinstance(block, Fold):
        return el("details", el("summary", block.summary), _all(block.blocks))
    return el("div", map(_picture, block.pictures), class_="gallery" if len(block.pictures) > 1 else "single")


def _grid(grid: Grid) -> Markup:
    look = "plain numbers" if grid.numbers <= 1 else "plain"
    rows = [[_inline(cell) for cell in row] for row in grid.rows]
    return el("div", plain_table(grid.head, rows, class_=look), class_="scroll", tabindex=0)


def _picture(picture: Picture) -> Markup:
    numbers = el("a", "the numbers as CSV", href=f"{picture.name}.csv")
    drawing = el("a", "the picture", href=f"{picture.name}.svg")
    told = el("figcaption", picture.words, " " if picture.words else None, numbers, ", ", drawing)
    head = el("h4", picture.title)
    return el("figure", head, picture.inline, told, _all(picture.below), id=identifier(f"{picture.name}.svg"))


def _inline(inline: Inline) -> Content:
    if isinstance(inline, Link):
        return el("a", inline.words, href=inline.address) if inline.address else inline.words
    return inline if isinstance(inline, str) else [_inline(part) for part in inline]
