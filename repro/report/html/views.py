"""Drawings and views of ``repro report figures``, so placed that nothing in them can touch the page."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from repro.report.html.elements import Content, Markup, el
from repro.report.html.tables import scrolling

SAFE = (
    " /:;,=()@!*'$+?-._~|[]{}^`<>"  # of the signs of a drawing, what an attribute and an address leave alone
)
LARGEST = 1_000_000  # bytes of a drawing: a larger one is named and not shown


def drawing_view(path: Path, about: str) -> Markup:
    """A drawing as an image, a page in a frame without rights, lists of passages as tables."""
    if path.stat().st_size > LARGEST:
        return el("p", f"{path.name} is too large to be shown here.")
    if path.suffix == ".svg":
        data = quote(" ".join(path.read_text(encoding="utf-8").split()), safe=SAFE)
        # with its size a browser leaves room for it, so that nothing moves when it has been drawn
        box = re.search(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"', path.read_bytes())
        size = {"width": round(float(box[1])), "height": round(float(box[2]))} if box else {}
        image = el("img", src=f"data:image/svg+xml,{data}", alt=f"ours: {about}", **size)
        return el("figure", image, el("figcaption", "as we measured it"), class_="drawing")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        content: Content = el("iframe", srcdoc=text, sandbox="", title=f"ours: {about}")
    else:
        content = list(_passages(text, path.stem))
    return el("details", el("summary", "what ours shows"), content)


def _passages(text: str, name: str) -> Iterator[Markup]:
    """The Markdown of ``repro.report.figures.passages``: headings, paragraphs and tables with a rule."""
    for number, block in enumerate(text.strip().split("\n\n")):
        lines = block.splitlines()
        if block.startswith("## "):
            yield el("h4", _words(block[3:]))
        elif len(lines) > 1 and lines[0].startswith("| "):
            head, _, *rows = ([_cell(part) for part in _split(line)] for line in lines)
            heads = el("thead", el("tr", [el("th", cell, scope="col") for cell in head]))
            body = el("tbody", [el("tr", [el("td", cell) for cell in row]) for row in rows])
            yield scrolling(el("table", heads, body, class_="plain"), f"{name}, block {number + 1}")
        else:
            yield el("p", _words(block.strip("*")), class_="fine")


def _split(line: str) -> list[str]:
    return re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))


def _cell(text: str) -> Content:
    """A bold title if there is one, the text, and below it what is known of it."""
    passage, _, facts = text.partition("<br>")
    title = re.match(r"\*\*(.*?)(?<!\\)\*\* ", passage)
    details = el("div", _words(facts.strip("*")), class_="fine") if facts else None
    if title is None:
        return _words(passage), details
    return el("b", _words(title[1]), " "), _words(passage[title.end() :]), details


def _words(text: str) -> str:
    """The text that was made harmless for Markdown, as it was."""
    return html.unescape(re.sub(r"\\(.)", r"\1", text))
