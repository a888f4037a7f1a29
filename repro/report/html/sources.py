"""The paper behind a part of the page, how to cite it, and its collections with their licences."""

from repro.datasets.catalog import catalog
from repro.manifest.papers import Paper
from repro.report.html.elements import Content, Markup, el, identifier, plain_table
from repro.report.html.tables import scrolling


def cited(source: Paper) -> Markup:
    """Authors, venue, and where to find paper and code."""
    m = source.manifest
    links = [
        ("DOI", f"https://doi.org/{m.doi}" if m.doi else None),
        ("arXiv", f"https://arxiv.org/abs/{m.arxiv}" if m.arxiv else None),
        ("code", m.code),
    ]
    shown: list[Content] = [(" · ", el("a", name, href=target)) for name, target in links if _is_web(target)]
    return el("p", ". ".join(filter(None, [", ".join(m.authors), m.venue])), shown, class_="cited")


def _is_web(target: str | None) -> bool:
    return bool(target) and target.startswith(("https://", "http://"))


def datasets(source: Paper, scale: str) -> Markup:
    """The collections that cells are measured on, their licences, and what stands in at this scale."""
    used = dict.fromkeys(
        c.dataset for t in source.manifest.tables for c in t.columns if c.dataset and c.dataset in catalog()
    )
    rows = []
    for entry in map(catalog().get, used):
        stand_in = entry.at.get(scale)
        rows.append(
            (el("code", entry.id), entry.title, entry.licence, el("code", stand_in) if stand_in else "–")
        )
    table = plain_table(("collection", "title", "licence", f"stand-in at {scale}"), rows)
    body = scrolling(table, f"data of {source.name}")
    return el("section", el("h3", "Data and licences"), body, id=identifier(source.name, "data"))


def citation(source: Paper) -> Markup:
    """A BibTeX entry of the paper whose numbers these are."""
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
