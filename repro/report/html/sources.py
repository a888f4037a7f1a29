"""Whose work a paper's part rests on: the paper itself, and the collections with their licences."""

from __future__ import annotations

from repro.datasets.catalog import catalog
from repro.manifest.papers import Paper
from repro.report.html.elements import Content, Markup, el, identifier
from repro.report.html.tables import scrolling


def cited(source: Paper) -> Markup:
    """Authors, venue, and where to find paper and code."""
    m = source.manifest
    links = [
        ("DOI", f"https://doi.org/{m.doi}" if m.doi else None),
        ("arXiv", f"https://arxiv.org/abs/{m.arxiv}" if m.arxiv else None),
        ("code", m.code),
    ]
    found: list[Content] = [(" · ", el("a", name, href=target)) for name, target in links if _is_web(target)]
    return el("p", ". ".join(filter(None, [", ".join(m.authors), m.venue])), found, class_="cited")


def _is_web(target: str | None) -> bool:
    return bool(target) and target.startswith(("https://", "http://"))


def datasets(source: Paper, scale: str) -> Markup:
    """The collections that cells are measured on, their licences, and what stands in at this scale."""
    used = dict.fromkeys(
        c.dataset for t in source.manifest.tables for c in t.columns if c.dataset and c.dataset in catalog()
    )
    rows = []
    for name in used:
        entry = catalog()[name]
        stand_in = entry.at.get(scale, "")
        rows.append(
            el(
                "tr",
                el("th", el("code", entry.id), scope="row"),
                el("td", entry.title),
                el("td", entry.licence),
                el("td", el("code", stand_in) if stand_in else "–"),
            )
        )
    names = ("collection", "title", "licence", f"stand-in at {scale}")
    head = el("thead", el("tr", [el("th", name, scope="col") for name in names]))
    body = scrolling(el("table", head, el("tbody", rows), class_="plain"), f"data of {source.name}")
    return el("section", el("h3", "Data and licences"), body, id=identifier(source.name, "data"))


def citation(source: Paper) -> Markup:
    """How to cite the paper whose numbers these are."""
    m = source.manifest
    facts = [
        ("title", m.title),
        ("author", " and ".join(m.authors)),
        ("note", m.venue),
        ("doi", m.doi),
        ("eprint", m.arxiv),
        ("url", m.code),
    ]
    lines = [f"  {key} = {{{value}}}," for key, value in facts if value]
    text = "\n".join([f"@misc{{{source.name},", *lines, "}"])
    return el("section", el("h3", "Citation"), el("pre", text), id=identifier(source.name, "citation"))
