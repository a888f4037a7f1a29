"""A paper's claims and audit as sections of a report."""

from collections import Counter
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from repro.hooks import Answers, PaperPart, Section
from repro.manifest.papers import Paper
from repro.plugins.statements import claim_values, paper_audit
from repro.plugins.statements.claims import FAILS, HOLDS, UNDECIDED, UNTESTED
from repro.plugins.statements.findings import HELD_AGAINST, Finding
from repro.plugins.statements.judged import JudgedStatement, OthersJudgement, published_judgements
from repro.plugins.statements.statements import Judgement
from repro.writers.grid import shown_note
from repro.writers.html.elements import Content, Markup, el, identifier, section
from repro.writers.html.paper_part import study_lines
from repro.writers.html.sections import Part, Sources

NO_ANSWERS: Answers = MappingProxyType({})
STATES = {"fails": ("fail", "✕"), "holds": ("pass", "✓"), "untested": ("none", "·")}
STATES["undecided"] = STATES["not judgeable"] = ("open", "?")
SEVERITIES = {"error": ("fail", "✕"), "doubt": ("open", "?"), "note": ("none", "·")}


class StatementsPart(PaperPart):
    def __init__(self, sources: Sources):
        self._published = {name: published_judgements(source) for name, source in sources.papers.items()}
        self._findings = paper_audit.findings_of(list(sources.papers.values()))
        pointers = (p for each in self._published.values() for j in each for p in j.statement.study)
        self._answers = sources.answers(pointers)
        self._ours: dict[int, claim_values.MeasuredValues] = {}

    def sections(self, part: Part) -> Iterator[Section]:
        name, comparison = part.paper.name, part.view.comparison
        ours = self._ours.setdefault(id(comparison), claim_values.MeasuredValues(comparison))
        if statements := [j.judged(ours, part.scale) for j in self._published[name]]:
            content = claims(name, statements, part.scale, self._answers)
            yield Section("Claims", "claims", 1, content, of_no_scale=False)
        if findings := [f for f in self._findings if f.paper == name]:
            yield Section("Audit", "audit", 2, audit_section(part.paper, findings))


def claims(paper: str, statements: Sequence[JudgedStatement], scale: str, answers: Answers) -> Markup:
    """Return a section with every statement, failures first. Marks and bold numbers are folded."""
    judges_ours = scale == "full"
    ordered = sorted(statements, key=lambda j: FAILS not in (j.published.state, judges_ours and j.ours.state))
    of_claims = [j for j in ordered if j.statement.kind == "claim"]
    of_marks = [j for j in ordered if j.statement.kind != "claim"]
    summary = el("summary", f"{len(of_marks)} marks and bold numbers")
    return section(
        "Claims",
        _count_sentence(scale, statements),
        _list(scale, of_claims, answers),
        el("details", summary, _list(scale, of_marks)) if of_marks else None,
        place=identifier(paper, "claims"),
    )


def _count_sentence(scale: str, statements: Sequence[JudgedStatement]) -> Markup:
    in_paper = sum(j.published.state == HOLDS for j in statements)
    in_ours = sum(j.ours.state == HOLDS for j in statements)
    note = "." if scale == "full" else f" (scale {scale} does not judge the paper)."
    if counts := Counter(j.others.state for j in statements if j.others.speaks):
        note += f" Others' numbers confirm {counts[HOLDS]} and contradict {counts[FAILS]} of them."
    judged = f"{in_paper} hold in the paper's own numbers, {in_ours} in ours"
    return el("p", f"Of {len(statements)} statements {judged}", note)


def _list(scale: str, statements: Sequence[JudgedStatement], answers: Answers = NO_ANSWERS) -> Markup:
    return el("ul", [_statement(scale, judged, answers) for judged in statements], class_="statements")


def _statement(scale: str, j: JudgedStatement, answers: Answers) -> Markup:
    return el(
        "li",
        el("p", j.statement.says, " ", el("span", j.statement.where, class_="fine")),
        el("p", f"our assumption: {j.statement.assumed}", class_="fine") if j.statement.assumed else None,
        _judgements(scale, j),
        _others_judgement(j.others),
        study_lines(j.statement.study, answers),
        id=identifier("statement", *j.statement.id.split("/")),
    )


def _judgements(scale: str, j: JudgedStatement) -> Content:
    kind = "" if scale == "full" or j.ours.state in (UNTESTED, UNDECIDED) else "scaled"
    whys = [("paper", _grounds(j.published)), ("ours", _grounds(j.ours)), ("in doubt", ", ".join(j.doubts))]
    states = el("p", _state("paper", j.published.state), _state("ours", j.ours.state, kind=kind))
    return states, [el("p", f"{name}: {_cut(why)}", class_="fine") for name, why in whys if why]


def _others_judgement(judgement: OthersJudgement) -> Content:
    if not judgement.speaks:
        return None
    why = _grounds(judgement.judgement)
    state = el("p", _state("others", judgement.state, kind="none"))
    return state, el("p", f"others: {_cut(why)}", class_="fine") if why else None, used_reports(judgement)


def _grounds(judgement: Judgement) -> str:
    grounds = judgement.differs_by_measure.replace("; ", ", "), judgement.why, judgement.test
    return "; ".join(filter(None, grounds))


def _cut(reasons: str, limit: int = 3) -> str:
    grounds = reasons.split("; ")
    return "; ".join(grounds[:limit]) + (f"; and {len(grounds) - limit} more" if len(grounds) > limit else "")


def _state(judge: str, state: str, *, kind: str = "") -> Markup:
    usual_kind, sign = STATES[state]
    return _badge(kind or usual_kind, sign, f"{judge}: {state}")


def _badge(kind: str, sign: str, text: str) -> Markup:
    mark = el("span", sign, class_="sign", aria_hidden="true")
    return el("span", mark, f" {text}", class_=f"badge v-{kind}")


def audit_section(source: Paper, findings: Sequence[Finding]) -> Markup:
    ordered = sorted(findings, key=lambda finding: list(SEVERITIES).index(finding.severity))
    listing = el("ul", map(_finding, ordered), class_="statements")
    return section("Audit of the paper", listing, place=identifier(source.name, "audit"))


def _finding(finding: Finding) -> Markup:
    badge = _badge(*SEVERITIES[finding.severity], finding.severity)
    pairs = zip(finding.places, finding.values, strict=True)
    values = [f"{place}: {value}" if value else place for place, value in pairs]
    basis = el("span", f" evidence: {HELD_AGAINST[finding.against]}", class_="fine")
    why = el("p", finding.explanation, class_="fine") if finding.explanation else None
    statement = el("p", badge, " ", finding.says, basis)
    return el("li", statement, el("p", "; ".join(values), class_="fine"), why)


def used_reports(judged: OthersJudgement) -> Markup:
    items = [
        el("li", el("code", cell.id), f" {shown_note(note, cell)} ({note.making}, {note.label})")
        for cell, note in judged.used
    ]
    return el("details", el("summary", judged.basis), el("ul", items, class_="notes"), class_="fine")
