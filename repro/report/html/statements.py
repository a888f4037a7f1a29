"""What a paper states, what is wrong with it, and what it leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from repro.judging.audit.findings import Finding
from repro.manifest.papers import Paper
from repro.manifest.schema import Reading
from repro.report.html.elements import Markup, el, identifier
from repro.report.html.sections import Part, Told

STATES = {"fails": ("fail", "✕"), "holds": ("pass", "✓"), "untested": ("none", "·")}
SEVERITIES = {"error": ("fail", "✕"), "doubt": ("open", "?"), "note": ("none", "·")}


def claims(part: Part, scale: str) -> Markup | None:
    """Every statement, those that fail first; the many that only marks and bold numbers make are folded.

    What fails below full scale refutes nothing: it neither comes first nor looks like a failure.
    """
    if not part.statements:
        return None
    where = ("print", "ours") if scale == "full" else ("print",)
    ordered = sorted(part.statements, key=lambda s: all(getattr(s, name) != "fails" for name in where))
    texts, others = ([s for s in ordered if ("/claim/" in s.id) is of_text] for of_text in (True, False))
    count = {name: sum(getattr(s, name) == "holds" for s in ordered) for name in ("print", "ours")}
    held = f"{count['print']} hold in the paper's own numbers, {count['ours']} in ours"
    told = f"Of {len(ordered)} statements {held}"
    note = "." if scale == "full" else f" (scale {scale}: that says nothing of the paper)."
    folded = el(
        "details",
        el("summary", f"{len(others)} statements made by marks and bold numbers"),
        _list(others, scale),
    )
    return el(
        "section",
        el("h3", "Claims"),
        el("p", told, note),
        _list(texts, scale),
        folded if others else None,
        id=identifier(part.paper.name, "claims"),
    )


def _list(found: Sequence[Told], scale: str) -> Markup:
    return el("ul", [_statement(told, scale) for told in found], class_="statements")


def _statement(told: Told, scale: str) -> Markup:
    kind = "" if scale == "full" or told.ours == "untested" else "scaled"
    states = [_state("paper", told.print), _state("ours", told.ours, kind=kind)]
    whys = [
        f"{name}: {_cut(why)}" for name, why in (("paper", told.print_why), ("ours", told.ours_why)) if why
    ]
    return el(
        "li",
        el("p", told.says, " ", el("span", told.where, class_="fine")),
        el("p", states),
        [el("p", why, class_="fine") for why in whys],
        id=identifier("statement", *told.id.split("/")),
    )


def _cut(why: str, most: int = 3) -> str:
    """The first grounds; `repro claims` tells all."""
    grounds = why.split("; ")
    return "; ".join(grounds[:most]) + (f"; and {len(grounds) - most} more" if len(grounds) > most else "")


def _state(where: str, state: str, *, kind: str = "") -> Markup:
    usual, mark = STATES[state]
    shown = el("span", mark, class_="sign", aria_hidden="true")
    return el("span", shown, f" {where}: {state}", class_=f"badge v-{kind or usual}")


def audit(part: Part) -> Markup | None:
    """The findings on the paper's own numbers and sentences, errors first."""
    if not part.findings:
        return None
    ordered = sorted(part.findings, key=lambda found: list(SEVERITIES).index(found.severity))
    return el(
        "section",
        el("h3", "Audit of the paper"),
        el("ul", map(_finding, ordered), class_="statements"),
        id=identifier(part.paper.name, "audit"),
    )


def _finding(found: Finding) -> Markup:
    kind, sign = SEVERITIES[found.severity]
    mark = el("span", sign, class_="sign", aria_hidden="true")
    badge = el("span", mark, f" {found.severity}", class_=f"badge v-{kind}")
    pairs = zip(found.places, found.values, strict=True)
    values = [f"{place}: {value}" if value else place for place, value in pairs]
    explained = el("p", found.explanation, class_="fine") if found.explanation else None
    return el("li", el("p", badge, " ", found.says), el("p", "; ".join(values), class_="fine"), explained)


def readings(source: Paper, concerned: Sequence[Reading]) -> Markup | None:
    """Silences, misprints and conflicts with their choices; the default is bold."""
    if not concerned:
        return None
    items = []
    for r in concerned:
        choices = [
            (" · " if number else "", el("b" if choice == r.default else "span", choice))
            for number, choice in enumerate(r.choices)
        ]
        evidence = el("p", r.evidence, class_="fine") if r.evidence else None
        items.append(
            el(
                "li",
                el("p", el("code", r.id), f" {r.kind}, {r.where}"),
                el("p", r.paper),
                el("p", choices),
                evidence,
                id=identifier(source.name, "reading", r.id),
            )
        )
    return el(
        "section",
        el("h3", "Readings"),
        el(
            "p",
            f"{len(items)} places where the paper is silent or contradicts itself or its code; ours is bold.",
        ),
        el("details", el("summary", "all of them"), el("ul", items, class_="statements")),
        id=identifier(source.name, "readings"),
    )
