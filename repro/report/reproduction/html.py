"""A document as one HTML page that needs nothing but itself."""

from repro.report.html.elements import Content, Markup, el, identifier, plain_table, section
from repro.report.html.standalone import standalone
from repro.report.reproduction.blocks import Block, Document, Fold, Grid, Inline, Link, Picture, Words

SHEET = ("repro.report.reproduction", "reproduction.css")


def page(document: Document, foot: str) -> str:
    """The whole page; equal documents give equal text."""
    sections = [section(part.title, _blocks(part.blocks), place=part.place) for part in document.sections]
    links = {part.place: part.place.replace("-", " ").capitalize() for part in document.sections}
    arguments = {"above": document.above, "lead": _blocks(document.lead), "links": links}
    return standalone(document.title, sections, **arguments, sheet=SHEET, foot=foot)


def _blocks(blocks) -> list[Content]:
    return [_block(block) for block in blocks]


def _block(block: Block) -> Content:
    if isinstance(block, Words):
        return el("p", _inline(block.inline), class_=block.look or None)
    if isinstance(block, Grid):
        return _grid(block)
    if isinstance(block, Fold):
        return el("details", el("summary", block.summary), _blocks(block.blocks))
    return el("div", map(_picture, block.pictures), class_="gallery" if len(block.pictures) > 1 else "single")


def _grid(grid: Grid) -> Markup:
    look = "plain numbers" if grid.numbers <= 1 else "plain"
    rows = [[_inline(cell) for cell in row] for row in grid.rows]
    return el("div", plain_table(grid.head, rows, class_=look), class_="scroll", tabindex=0)


def _picture(picture: Picture) -> Markup:
    numbers = el("a", "the numbers as CSV", href=f"{picture.name}.csv")
    drawing = el("a", "the picture", href=f"{picture.name}.svg")
    caption = el("figcaption", picture.words, " " if picture.words else None, numbers, ", ", drawing)
    head = el("h4", picture.title)
    return el(
        "figure", head, picture.inline, caption, _blocks(picture.below), id=identifier(f"{picture.name}.svg")
    )


def _inline(inline: Inline) -> Content:
    if isinstance(inline, Link):
        return el("a", inline.words, href=inline.address) if inline.address else inline.words
    return inline if isinstance(inline, str) else [_inline(part) for part in inline]
