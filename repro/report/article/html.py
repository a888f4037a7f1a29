"""The article as one HTML page that needs nothing but itself."""

import re
from base64 import b64encode
from pathlib import Path

from repro.report.html.elements import Markup, el, section
from repro.report.html.standalone import standalone

SHEET = ("repro.report.article", "article.css")
DRAWING = re.compile(r'(src|srcset)="([\w.-]+\.svg)"')


def page(markdown: str, folder: Path, *, above: str, foot: str) -> str:
    """The whole page; equal texts and drawings give equal pages.

    Args:
        markdown: with a title, and sections of the second order.
        folder: that holds the drawings which it shows.
        above: a line above the title.
        foot: the last line.
    """
    title, lead, parts = _parts(markdown)
    sections = [section(name, _html(text, folder), place=_place(name)) for name, text in parts]
    return standalone(
        title,
        sections,
        above=above,
        lead=el("div", _html(lead, folder), class_="lead"),
        links={_place(name): name for name, _ in parts},
        sheet=SHEET,
        foot=foot,
    )


def _parts(markdown: str) -> tuple[str, str, list[tuple[str, str]]]:
    """Title, what comes before the first section, and the sections by name."""
    opening, *parts = re.split(r"^## ", markdown, flags=re.MULTILINE)
    title, _, lead = opening.strip().removeprefix("# ").partition("\n")
    sections = [part.partition("\n") for part in parts]
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
    return Markup(DRAWING.sub(lambda match: f'{match[1]}="{_embed(folder / match[2])}"', text))


def _embed(drawing: Path) -> str:
    return f"data:image/svg+xml;base64,{b64encode(drawing.read_bytes()).decode()}"
