"""The article as one HTML page that needs nothing but itself."""

import re
from base64 import b64encode
from importlib import resources
from pathlib import Path

from repro.report.html.elements import Markup, el

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SHEETS = (("repro.report.html", "report.css"), ("repro.report.article", "article.css"))
DRAWING = re.compile(r'(src|srcset)="([\w.-]+\.svg)"')


def page(markdown: str, folder: Path, *, above: str, foot: str) -> str:
    """The whole page; equal texts and drawings give equal pages.

    Args:
        markdown: with a title, and sections of the second order.
        folder: that holds the drawings which it shows.
        above: a line above the title.
        foot: the last line.
    """
    title, lead, sections = _parts(markdown)
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("title", title),
        el("style", [_sheet(*sheet) for sheet in SHEETS]),
    )
    links = [el("a", name, href=f"#{_place(name)}") for name, _ in sections]
    header = el(
        "header",
        el("p", above, class_="eyebrow"),
        el("h2", title),
        el("div", _html(lead, folder), class_="lead"),
    )
    parts = [el("section", el("h3", name), _html(text, folder), id=_place(name)) for name, text in sections]
    body = el(
        "body",
        el("a", "to the content", href="#content", class_="skip"),
        el("header", el("h1", "repro"), el("nav", links, aria_label="parts"), class_="top"),
        el("main", el("article", header, parts, class_="overview", id="overview"), id="content", tabindex=-1),
        el("footer", el("p", foot)),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _parts(markdown: str) -> tuple[str, str, list[tuple[str, str]]]:
    """Title, what comes before the first section, and the sections by name."""
    opening, *rest = re.split(r"^## ", markdown, flags=re.MULTILINE)
    title, _, lead = opening.strip().removeprefix("# ").partition("\n")
    sections = [part.partition("\n") for part in rest]
    return title, lead, [(name.strip(), text) for name, _, text in sections]


def _place(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _html(markdown: str, folder: Path) -> Markup:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = parser.render(markdown).replace(' markdown="1"', "")
    text = re.sub(r"<(/?)h3>", r"<\1h4>", text)  # below the section's own
    text = text.replace("<table>", '<div class="scroll" tabindex="0"><table class="plain">')
    text = text.replace("</table>", "</table></div>")
    return Markup(DRAWING.sub(lambda found: f'{found[1]}="{_embedded(folder / found[2])}"', text))


def _embedded(drawing: Path) -> str:
    return f"data:image/svg+xml;base64,{b64encode(drawing.read_bytes()).decode()}"


def _sheet(package: str, name: str) -> Markup:
    return Markup(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
