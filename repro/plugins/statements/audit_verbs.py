"""The commands ``repro audit papers`` and ``repro audit claims``."""

from collections import Counter
from dataclasses import asdict

import click

from repro import errors, hooks
from repro.cli import options, readings
from repro.cli.printing import emit_json, say, table
from repro.graph import grouped
from repro.plugins.statements import paper_audit
from repro.plugins.statements.findings import HELD_AGAINST
from repro.running.workspace import Workspace


@click.command(
    "claims", epilog="\b\nExamples:\n  repro audit claims PAPER --failing\n  repro audit claims --scale tiny"
)
@options.PAPERS
@options.scale_option(help="Scale of the measurements.")
@click.option("--failing", is_flag=True, help="List only contradicted statements.")
@options.json_option
def claims_command(names, scale_name, failing, as_json):
    """Judge sentences, marks of significance and bold numbers by the paper's numbers, ours and others'.

    A statement holds, fails, is untested, is undecided if the interval of a difference contains 0, or is not
    judgeable if no number could contradict it. Our marks are judged by the significance tests of `repro
    compare`, and an order without a test is "means only". A mark needs differences over queries with a
    standard deviation of at most "sd needed". The smallest one of two public runs is "sd known". Values
    reported elsewhere (`repro show others`) are used unless only the system's name matches.
    """
    workspace = Workspace.open()
    statements = paper_audit.claims(*names, scale=scale_name, workspace=workspace)
    selection = [j for j in statements if j.fails or not failing]
    pointers = [text for j in selection for text in j.statement.study]
    answers = hooks.call("study answers", pointers, workspace) or {}
    if as_json:
        studies = (readings.answers_as_json(answers, j.statement.study) for j in selection)
        return emit_json([{**j.as_json(), "study": s} for j, s in zip(selection, studies, strict=True)])
    _print_statements(selection, scale_name, answers, failing=failing)


def _print_statements(statements, scale_name: str, answers, *, failing: bool) -> None:
    for name, group in grouped((j.statement.paper.name, j) for j in statements).items():
        _print_table(name, group, scale_name)
        pointers = [(j.statement.id.rpartition("/")[2], j.statement.study) for j in group]
        readings.print_answers(answers, name, "claim", pointers)
    if not statements:
        say("No statement is contradicted." if failing else "The papers have no statements to judge.")
    elif scale_name != "full":
        say(f"Scale {scale_name} does not judge the paper.")


def _print_table(name: str, statements, scale_name: str) -> None:
    kinds = ("claim" if j.published.state == "fails" else j.statement.kind for j in statements)
    parts, rows = grouped(zip(kinds, statements, strict=True)), []
    for j in parts["claim"]:
        place = [j.statement.id.removeprefix(f"{name}/"), j.statement.where]
        rows.append([*place, _text(j), _judgement(j.published), _ours(j), _others(j.others)])
    ours = "ours" if scale_name == "full" else f"ours, {scale_name}"
    head = ["claim", "where", "statement", "paper", ours, "others"]
    title = f"{name}: {_count_statements(statements, scale_name)}"
    table(title, head, rows + _grouped_rows(parts["bold"]), multiline=True)
    if marks := parts["mark"]:
        head = ["mark", "over", "lead at most", "sd needed", "sd known", "plausibility", ours, "others"]
        title = f"{name}: {len(marks)} marks of significance ({_in_words(map(_verdict_of_mark, marks))})"
        table(title, head, [_mark_row(j) for j in marks], multiline=True)


def _in_words(states) -> str:
    return ", ".join(f"{number} {state}" for state, number in Counter(states).most_common())


def _mark_row(item) -> list[str]:
    _, table_id, _, row, column, mark = item.statement.id.split("/")
    numbers = [""] * 4
    if need := item.statement.need:
        numbers = [need.over.row.label, f"{need.lead:.4f}", f"{need.sd:.3f}", need.known_in_words]
    others = _others(item.others) if item.others.speaks else ""
    return [f"{table_id}/{row}/{column} {mark}", *numbers, _verdict_of_mark(item), _ours(item), others]


def _verdict_of_mark(item) -> str:
    return item.statement.need.verdict if item.statement.need else "undecided"


def _grouped_rows(statements) -> list[list[str]]:
    def key(j) -> tuple[str, ...]:
        ours = f"{j.ours.state}{' (in doubt)' * bool(j.doubts)}"
        return j.statement.where, j.published.state, ours, j.others.state if j.others.speaks else ""

    groups = grouped((key(j), j) for j in statements)
    return [
        [f"{group[0].statement.tables[0]}/bold/…", where, f"bold numbers: {len(group)}", *others]
        for (where, *others), group in groups.items()
    ]


def _text(item) -> str:
    s = item.statement
    assumption = f"our assumption: {s.assumed}" if s.assumed else ""
    return "\n= ".join(filter(None, [s.says, assumption, s.note if item.fails else ""]))


def _others(others) -> str:
    cells = f"{len(others.used)} of {others.cells} cells"
    if not others.speaks:
        return f"untested ({cells})" if others.used else ""
    kinds = ", ".join(f"{number} {start}" for start, number in others.kinds.items())
    lines = [_judgement(others.judgement), f"{cells}: {kinds}", others.like_beside_like]
    return "\n".join(filter(None, lines))


def _judgement(judgement) -> str:
    test = f" ({judgement.test})" if judgement.test and judgement.state in ("holds", "fails") else ""
    first, *tail = judgement.why.split("; ")
    reason = f": {first}" if first and judgement.state in ("fails", "undecided", "not judgeable") else ""
    reason += f" and {len(tail)} more" if reason and tail else ""
    reason += f"\n{judgement.differs_by_measure}" if judgement.differs_by_measure else ""
    return f"{judgement.state}{test}{reason}"


def _ours(item) -> str:
    doubts = f"\nin doubt: {', '.join(item.doubts)}" if item.doubts else ""
    return _judgement(item.ours) + doubts


def _count_statements(items, scale_name: str) -> str:
    published, ours = _in_words(j.published.state for j in items), _in_words(j.ours.state for j in items)
    count = f"{len(items)} statements. In the paper: {published}. Ours at {scale_name}: {ours}."
    others = _in_words(j.others.state for j in items if j.others.speaks)
    return f"{count} By others: {others}." if others else count


@click.command(
    "papers",
    epilog="\b\nExamples:\n  repro audit PAPER\n  repro audit --strict\n  repro audit PAPER --references",
)
@options.PAPERS
@click.option("--strict", is_flag=True, help="Exit with status 1 if a finding is an error.")
@click.option(
    "--references",
    is_flag=True,
    help="List the references in the texts with verdicts, instead of the findings.",
)
@options.json_option
def papers_command(names, strict, references, as_json):
    """List contradictions in papers, and altered lines in the files of measured results.

    Examples are wrong averages, bold numbers that are not the best, sentences and marks that contradict a
    table, and wrong references. Each finding names its evidence.
    """
    if references:
        return _print_references(names, strict=strict, as_json=as_json)
    findings = paper_audit.audit(*names, workspace=Workspace.open())
    if as_json:
        emit_json([f.as_json() for f in findings])
    else:
        _print_findings(findings)
    return int(strict and any(f.severity == "error" for f in findings))


def _print_findings(findings) -> None:
    for name, group in grouped((f.paper, f) for f in findings).items():
        rows = [[f.severity, f.kind, HELD_AGAINST[f.against], _places(f), _misfit(f)] for f in group]
        head = ["severity", "kind", "evidence", "places and values", "finding"]
        table(f"{name}: {_count_findings(group)}", head, rows, multiline=True)
    say(_count_findings(findings))


def _print_references(names, *, strict: bool, as_json: bool) -> None:
    if strict:
        raise errors.UsageError("--strict cannot be combined with --references")
    found = paper_audit.references(*names)
    if as_json:
        return emit_json([asdict(reference) for reference in found])
    for name, group in grouped((r.paper, r) for r in found).items():
        rows = [[r.at, r.means, r.to, _verdict(r)] for r in group]
        title = f"{name}: {_verdict_counts(group)}"
        table(title, ["where", "meaning", "target", "verdict"], rows)
    say(_verdict_counts(found))


def _verdict(r) -> str:
    source = "" if r.against == "paper" else f" (by {HELD_AGAINST[r.against]})"
    reading = f" (unspecified choice {r.reading})" if r.reading else ""
    return f"{r.verdict}: {r.why}{source}{reading}" if r.why else r.verdict


def _verdict_counts(references) -> str:
    entries = [r.verdict for r in references if r.at == "references"]
    pointers = [r.verdict for r in references if r.at != "references"]
    counts = f"{len(pointers)} pointers ({_in_words(pointers)})"
    return f"{counts}, {len(entries)} entries of reference lists ({_in_words(entries)})"


def _count_findings(findings) -> str:
    counts = Counter(f.severity for f in findings)
    parts = ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in sorted(counts.items()))
    return f"{len(findings)} finding{'s' * (len(findings) != 1)}{f' ({parts})' if parts else ''}"


def _places(finding) -> str:
    pairs = list(zip(finding.places, finding.values, strict=True))
    if finding.kind in ("misprint", "conflict", "reference"):
        pairs[0] = (finding.places[0], "")
    elif finding.kind in ("claim", "bold", "mark") and finding.places[0].count("/") != 3:
        pairs = [(finding.places[0], "")]
    return "\n".join(f"{place} {value}".rstrip() for place, value in pairs)


def _misfit(finding) -> str:
    claim = f"{finding.values[0]}. " if finding.kind == "claim" else ""
    first, *tail = finding.says.split("; ") if finding.kind in ("claim", "bold") else (finding.says,)
    remainder = f" and {len(tail)} more (see --format json)" if tail else ""
    return claim + first + remainder + (f"\n= {finding.explanation}" if finding.explanation else "")
