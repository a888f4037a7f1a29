"""The paper behind a part of the page, how to cite it, and its collections with their licences."""

from repro.datasets.catalog import catalog
from repro.manifest.papers import Paper
from repro.report.html.elements import Content, Markup, copyable, el, identifier, plain_table, section
from repro.report.html.tables import scrolling


def paper_citation(source: Paper) -> Markup:
    """Authors, venue, and where to find paper and code."""
    m = source.manifest
    links = [
        ("DOI", f"https://doi.org/{m.doi}" if m.doi else None),
        ("arXiv", f"https://arxiv.org/abs/{m.arxiv}" if m.arxiv else None),
        ("code", m.code),
    ]
    anchors: list[Content] = [
        (" · ", el("a", name, href=target)) for name, target in links if _is_web(target)
    ]
    return el("p", ". ".join(filter(None, [", ".join(m.authors), m.venue])), anchors, class_="cited")


def _is_web(target: str | None) -> bool:
    return bool(target) and target.startswith(("https://", "http://"))


def datasets(source: Paper, scale: str) -> Markup:
    """The collections that cells are measured on, their licences, and what stands in at the scale."""
    names = dict.fromkeys(c.dataset for t in source.manifest.tables for c in t.columns)
    smaller = [scale] if scale != "full" else []
    rows = []
    for entry in (catalog()[name] for name in names if name in catalog()):
        stand_ins = [_code(entry.at.get(name)) for name in smaller]
        rows.append((_code(entry.id), entry.title, entry.licence, *stand_ins))
    heads = ("collection", "title", "licence", *(f"stand-in at {name}" for name in smaller))
    table = plain_table(heads, rows)
    body = scrolling(table, f"data of {source.name}")
    return section("Data and licences", body, place=identifier(source.name, "data"))


def _code(name: str | None) -> Content:
    return el("code", name) if name else "–"


def citation(source: Paper) -> Markup:
    """A BibTeX entry of the paper whose numbers these are."""
    m = source.manifest
    facts = {"title": m.title, "author": " and ".join(m.authors), "note": m.venue}
    facts |= {"doi": m.doi, "eprint": m.arxiv, "url": m.code}
    lines = [f"  {key} = {{{value}}}," for key, value in facts.items() if value]
    text = "\n".join([f"@misc{{{source.name},", *lines, "}"])
    return section("Citation", copyable(text, "pre"), place=identifier(source.name, "citation"))
