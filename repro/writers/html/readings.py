"""A paper's readings as a section of its part: what is open, with the choices and what is known of each."""

from collections.abc import Sequence

from repro.manifest.papers import Paper
from repro.manifest.places import Citation
from repro.manifest.reading_schema import Reading
from repro.verdicts.beside import Answers
from repro.writers.html.elements import Markup, el, identifier, section


def readings(source: Paper, concerned: Sequence[Reading], answers: Answers) -> Markup | None:
    """Return silences, misprints and conflicts with their choices; the default is bold."""
    if not concerned:
        return None
    condition = "where the paper is silent or contradicts itself or its code"
    lead = el("p", f"{len(concerned)} places {condition}; ours is bold.")
    items = el("ul", [_reading(source, r, answers) for r in concerned], class_="statements")
    details = el("details", el("summary", "all of them"), items)
    return section("Unspecified choices", lead, details, place=identifier(source.name, "readings"))


def _reading(source: Paper, r: Reading, answers: Answers) -> Markup:
    choices = [
        (" · " if number else "", el("b" if choice == r.default else "span", choice))
        for number, choice in enumerate(r.choices)
    ]
    head = el("p", el("code", r.id), f" {r.kind}, {r.where}")
    evidence = el("p", r.evidence, class_="fine") if r.evidence else None
    place = identifier(source.name, "reading", r.id)
    citations = [_place(citation) for citation in r.citations]
    return el(
        "li",
        head,
        el("p", r.paper),
        el("p", choices),
        evidence,
        citations,
        study_lines(r.study, answers),
        id=place,
    )


def _place(citation: Citation) -> Markup:
    link = el("a", citation.place, href=citation.address)
    return el("p", f"{citation.who}: {citation.says} (", link, ")", class_="fine")


def study_lines(pointers: Sequence[str], answers: Answers) -> list[Markup]:
    """Return a line for every comparison of a study: its difference at its own size, which judges nothing."""
    return [
        el("p", "on equal terms, ", el("code", text), ": ", answers.words(text), class_="fine")
        for text in pointers
    ]
