"""``repro audit``"""

from collections import Counter

import click

from repro.cli import completion
from repro.cli.options import json_option
from repro.errors import UsageError


@click.command("findings")
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@click.option("--strict", is_flag=True, help="Exit with status 1 when there are errors.")
@click.option(
    "--references",
    is_flag=True,
    help="All that the texts point at, with its verdict, in place of the findings.",
)
@json_option
def command(names, strict, references, as_json):
    """List what does not fit in papers, and records that prove themselves altered; nothing is measured.

    Averages that do not recompute, bold numbers that are not the best, sentences and marks that their table
    contradicts, systems published with several values, wrong references, misleading words. Each finding says
    what it is held against: the paper alone, its released code, another paper, a third party.
    """
    if references:
        return _print_references(names, strict=strict, as_json=as_json)
    from repro.cli.printing import emit_json
    from repro.plugins.statements.api import audit
    from repro.running.workspace import Workspace

    findings = audit(*names, workspace=Workspace.open())
    if as_json:
        emit_json([finding.as_json() for finding in findings])
    else:
        _print_findings(findings)
    return int(strict and any(finding.severity == "error" for finding in findings))


def _print_findings(findings) -> None:
    from repro.cli.printing import say, table
    from repro.plugins.statements.findings import HELD_AGAINST

    for name in dict.fromkeys(finding.paper for finding in findings):
        group = [f for f in findings if f.paper == name]
        rows = [[f.severity, f.kind, HELD_AGAINST[f.against], _places(f), _misfit(f)] for f in group]
        head = ["severity", "kind", "held against", "places and values", "what does not fit"]
        table(f"{name}: {_count(group)}", head, rows, drop=(2, 0, 1))
    say(_count(findings))


def _print_references(names, *, strict: bool, as_json: bool) -> None:
    """Print every pointer and every entry of the reference lists; those that are right say no more."""
    if strict:
        raise UsageError("--strict judges the findings, in whose place --references lists; give one of them")
    from dataclasses import asdict

    from repro.cli.printing import emit_json, say, table
    from repro.plugins.statements.api import references

    all_references = references(*names)
    if as_json:
        return emit_json([asdict(reference) for reference in all_references])
    for name in dict.fromkeys(r.paper for r in all_references):
        group = [r for r in all_references if r.paper == name]
        rows = [[r.at, r.means, r.to, _verdict(r)] for r in group]
        title = f"{name}: {_verdict_counts(group)}"
        table(title, ["where", "taken for", "points at", "verdict"], rows, drop=(1, 2))
    say(_verdict_counts(all_references))


def _verdict(reference) -> str:
    from repro.plugins.statements.findings import HELD_AGAINST

    source = "" if reference.against == "paper" else f" (by {HELD_AGAINST[reference.against]})"
    reading = f" (unspecified choice {reference.reading})" if reference.reading else ""
    return f"{reference.verdict}: {reference.why}{source}{reading}" if reference.why else reference.verdict


def _verdict_counts(references) -> str:
    """How many pointers and entries there are, by verdict."""
    counts = []
    for kind, is_entry in (("pointers", False), ("entries of reference lists", True)):
        verdicts = Counter(r.verdict for r in references if (r.at == "references") == is_entry)
        parts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
        counts.append(f"{verdicts.total()} {kind} ({parts})")
    return "; ".join(counts)


def _count(findings) -> str:
    counts = Counter(finding.severity for finding in findings)
    parts = ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in sorted(counts.items()))
    return f"{len(findings)} finding{'s' * (len(findings) != 1)}{f' ({parts})' if parts else ''}"


def _places(finding) -> str:
    """Places one a line; of a sentence or reading only where it stands, its words are in the next column."""
    if finding.kind in ("misprint", "conflict", "reference"):
        pairs = [(finding.places[0], ""), *zip(finding.places[1:], finding.values[1:], strict=True)]
    elif finding.kind in ("claim", "bold", "mark") and finding.places[0].count("/") != 3:
        pairs = [(finding.places[0], "")]
    else:
        pairs = zip(finding.places, finding.values, strict=True)
    return "\n".join(f"{place} {value}".rstrip() for place, value in pairs)


def _misfit(finding) -> str:
    claim = f"{finding.values[0]}. " if finding.kind == "claim" else ""
    first, *tail = finding.says.split("; ") if finding.kind in ("claim", "bold") else (finding.says,)
    remainder = f"; and {len(tail)} more, see the JSON" if tail else ""
    return claim + first + remainder + (f"\n= {finding.explanation}" if finding.explanation else "")
