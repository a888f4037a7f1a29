"""A paper's claims, the findings of its audit, and its readings, as sections of the page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from repro.manifest.papers import Paper
from repro.manifest.places import Citation
from repro.manifest.reading_schema import Reading
from repro.plugins.reports.boxes import used_reports
from repro.plugins.reports.claims_by_others import OthersJudgement
from repro.plugins.statements.findings import HELD_AGAINST, Finding
from repro.plugins.statements.judged import JudgedStatement
from repro.plugins.statements.measures import FAILS, HOLDS, UNTESTED
from repro.plugins.statements.references import paper_references
from repro.plugins.statements.statements import Judgement
from repro.plugins.studies.study_answers import Answer, answers_in_words
from repro.writers.html.elements import Content, Markup, el, identifier, section
from repro.writers.html.sections import Part

Answered = Mapping[str, Sequence[Answer]]
STATES = {"fails": ("fail", "✕"), "holds": ("pass", "✓"), "untested": ("none", "·")}
SEVERITIES = {"error": ("fail", "✕"), "doubt": ("open", "?"), "note": ("none", "·")}


def claims(part: Part) -> Markup | None:
    """Every statement, those that fail first; the many that only marks and bold numbers make are folded.

    A failure below full scale refutes nothing: it neither comes first nor looks like a failure.
    """
    if not part.view.statements:
        return None
    statements = sorted(part.view.statements, key=lambda judged: not _refuted(part.scale, judged))
    of_claims = [j for j in statements if j.statement.kind == "claim"]
    of_marks = [j for j in statements if j.statement.kind != "claim"]
    summary = el("summary", f"{len(of_marks)} statements made by marks and bold numbers")
    return section(
        "Claims",
        _count_sentence(part.scale, part.view.statements),
        _list(part.scale, of_claims, part.answers),
        el("details", summary, _list(part.scale, of_marks)) if of_marks else None,
        place=identifier(part.paper.name, "claims"),
    )


def _refuted(scale: str, j: JudgedStatement) -> bool:
    return FAILS in (j.published.state, scale == "full" and j.ours.state)


def _count_sentence(scale: str, statements: Sequence[JudgedStatement]) -> Markup:
    in_paper = sum(j.published.state == HOLDS for j in statements)
    in_ours = sum(j.ours.state == HOLDS for j in statements)
    counts = f"{in_paper} hold in the paper's own numbers, {in_ours} in ours"
    note = "." if scale == "full" else f" (scale {scale}: that says nothing of the paper)."
    return el("p", f"Of {len(statements)} statements {counts}", note, _others_sentence(statements))


def _others_sentence(statements: Sequence[JudgedStatement]) -> str:
    """A sentence on what others' values say of the statements; empty where they say nothing."""
    counts = Counter(j.others.state for j in statements if j.others.speaks)
    if not counts:
        return ""
    return f" What others state bears {counts[HOLDS]} of them out and contradicts {counts[FAILS]}."


def _list(
    scale: str, statements: Sequence[JudgedStatement], answers: Answered = MappingProxyType({})
) -> Markup:
    return el("ul", [_statement(scale, judged, answers) for judged in statements], class_="statements")


def _statement(scale: str, j: JudgedStatement, answers: Answered) -> Markup:
    return el(
        "li",
        el("p", j.statement.says, " ", el("span", j.statement.where, class_="fine")),
        el("p", f"ours in it: {j.statement.assumed}", class_="fine") if j.statement.assumed else None,
        _judgements(scale, j),
        _others_judgement(j.others),
        _study_lines(j.statement.study, answers),
        id=identifier("statement", *j.statement.id.split("/")),
    )


def _judgements(scale: str, j: JudgedStatement) -> Content:
    kind = "" if scale == "full" or j.ours.state == UNTESTED else "scaled"
    judgements = (("paper", j.published), ("ours", j.ours))
    whys = [(name, "; ".join(filter(None, _grounds(judgement)))) for name, judgement in judgements]
    whys += [("in doubt", ", ".join(j.doubts))]
    states = el("p", _state("paper", j.published.state), _state("ours", j.ours.state, kind=kind))
    return states, [el("p", f"{name}: {_cut(why)}", class_="fine") for name, why in whys if why]


def _others_judgement(judgement: OthersJudgement) -> Content:
    """The third judge, where it says something: its state, the values it rests on, and what contradicts."""
    if not judgement.speaks:
        return None
    why = "; ".join(filter(None, _grounds(judgement.judgement)))
    state = el("p", _state("others", judgement.state, kind="none"))
    return state, el("p", f"others: {_cut(why)}", class_="fine") if why else None, used_reports(judgement)


def _study_lines(pointers: Sequence[str], answers: Answered) -> list[Markup]:
    """A line for every comparison of a study: its difference at its own size, which judges nothing."""
    return [
        el(
            "p",
            "on equal terms, ",
            el("code", text),
            ": ",
            answers_in_words(answers.get(text, ())),
            class_="fine",
        )
        for text in pointers
    ]


def _grounds(judgement: Judgement) -> tuple[str, ...]:
    return judgement.differs_by_measure.replace("; ", ", "), judgement.why, judgement.test


def _cut(reasons: str, limit: int = 3) -> str:
    """The first grounds; `repro audit claims` tells all."""
    grounds = reasons.split("; ")
    return "; ".join(grounds[:limit]) + (f"; and {len(grounds) - limit} more" if len(grounds) > limit else "")


def _state(judge: str, state: str, *, kind: str = "") -> Markup:
    usual_kind, mark = STATES[state]
    sign = el("span", mark, class_="sign", aria_hidden="true")
    return el("span", sign, f" {judge}: {state}", class_=f"badge v-{kind or usual_kind}")


def audit(part: Part) -> Markup | None:
    """The findings on the paper's own numbers and sentences, errors first, and its references counted."""
    if not part.findings:
        return None
    sorted_findings = sorted(part.findings, key=lambda finding: list(SEVERITIES).index(finding.severity))
    findings = el("ul", map(_finding, sorted_findings), class_="statements")
    return section(
        "Audit of the paper", _references(part.paper), findings, place=identifier(part.paper.name, "audit")
    )


def _references(source: Paper) -> Markup | None:
    """How many things the text points at, and how many of them are what they are taken for."""
    pointers = [reference for reference in paper_references(source) if reference.at != "references"]
    if not pointers:
        return None
    count = sum(reference.verdict == "right" for reference in pointers)
    sentence = f"Of {len(pointers)} references to tables, equations, sections and works {count} are right; "
    return el("p", sentence, el("code", f"repro audit {source.name} --references"), " lists them.")


def _finding(finding: Finding) -> Markup:
    kind, sign = SEVERITIES[finding.severity]
    mark = el("span", sign, class_="sign", aria_hidden="true")
    badge = el("span", mark, f" {finding.severity}", class_=f"badge v-{kind}")
    pairs = zip(finding.places, finding.values, strict=True)
    values = [f"{place}: {value}" if value else place for place, value in pairs]
    basis = el("span", f" held against: {HELD_AGAINST[finding.against]}", class_="fine")
    explanation = el("p", finding.explanation, class_="fine") if finding.explanation else None
    statement = el("p", badge, " ", finding.says, basis)
    return el("li", statement, el("p", "; ".join(values), class_="fine"), explanation)


def readings(
    source: Paper, concerned: Sequence[Reading], answered: Answered = MappingProxyType({})
) -> Markup | None:
    """Silences, misprints and conflicts with their choices; the default is bold."""
    if not concerned:
        return None
    condition = "where the paper is silent or contradicts itself or its code"
    lead = el("p", f"{len(concerned)} places {condition}; ours is bold.")
    items = el("ul", [_reading(source, r, answered) for r in concerned], class_="statements")
    details = el("details", el("summary", "all of them"), items)
    return section("Unspecified choices", lead, details, place=identifier(source.name, "readings"))


def _reading(source: Paper, r: Reading, answers: Answered) -> Markup:
    choices = [
        (" · " if number else "", el("b" if choice == r.default else "span", choice))
        for number, choice in enumerate(r.choices)
    ]
    head = el("p", el("code", r.id), f" {r.kind}, {r.where}")
    evidence = el("p", r.evidence, class_="fine") if r.evidence else None
    place = identifier(source.name, "reading", r.id)
    citations = [_place(citation) for citation in r.citations]
    study_lines = _study_lines(r.study, answers)
    return el("li", head, el("p", r.paper), el("p", choices), evidence, citations, study_lines, id=place)


def _place(citation: Citation) -> Markup:
    link = el("a", citation.place, href=citation.address)
    return el("p", f"{citation.who}: {citation.says} (", link, ")", class_="fine")
