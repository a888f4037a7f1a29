"""A page of one article that needs nothing but itself: no script, and nothing loaded from anywhere."""

from collections.abc import Mapping, Sequence
from importlib import resources

from repro.writers.html.elements import Content, Markup, el

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
REPORT = ("repro.writers.html", "report.css")


def standalone(
    title: str,
    sections: Sequence[Markup],
    *,
    above: str,
    lead: Content,
    links: Mapping[str, str],
    sheet: tuple[str, str],
    foot: str,
) -> str:
    """The whole page in the look of the report.

    Args:
        above: a line above the title.
        lead: what stands between title and sections.
        links: place of a section -> the words of the link to it.
        sheet: package and name of a style sheet that adds to the report's.
        foot: the last line.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("title", title),
        el("style", _style(*REPORT), _style(*sheet)),
    )
    header = el("header", el("p", above, class_="eyebrow"), el("h2", title), lead)
    article = el("article", header, *sections, class_="overview", id="overview")
    nav = [el("a", words, href=f"#{place}") for place, words in links.items()]
    body = el(
        "body",
        el("a", "to the content", href="#content", class_="skip"),
        el("header", el("h1", "repro"), el("nav", nav, aria_label="parts"), class_="top"),
        el("main", article, id="content", tabindex=-1),
        el("footer", el("p", foot)),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _style(package: str, name: str) -> Markup:
    return Markup(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
