"""Findings as other programs read them: lines of a compiler, SARIF 2.1.0, commands of a GitHub workflow."""

from collections.abc import Sequence

from repro import __version__
from repro.cli.printing import emit_json
from repro.plugins.manuscripts.findings import CHECKS, Finding

SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "doubt": "warning", "note": "note"}
COMMANDS = {"error": "error", "doubt": "warning", "note": "notice"}


def print_lines(findings: Sequence[Finding]) -> None:
    """Print ``file:line: severity [check] what; why``."""
    for f in findings:
        print(f"{f.place}: {f.severity} [{f.check}] {f.says}; {f.why}")


def print_json(findings: Sequence[Finding]) -> None:
    """Print an object for each."""
    emit_json([finding.as_json() for finding in findings])


def print_sarif(findings: Sequence[Finding]) -> None:
    """Print a log of SARIF."""
    emit_json(sarif(findings))


def sarif(findings: Sequence[Finding]) -> dict:
    """Return a log of SARIF 2.1.0 with one run; a doubt is a warning, and addresses are relative."""
    rules = [{"id": check, "shortDescription": {"text": what}} for check, what in CHECKS.items()]
    driver = {"name": "repro audit", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": f.check,
            "ruleIndex": list(CHECKS).index(f.check),
            "level": LEVELS[f.severity],
            "message": {"text": f"{f.says}; {f.why}"},
            "locations": [{"physicalLocation": _location(f)}],
        }
        for f in findings
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF, "version": "2.1.0", "runs": [run]}


def _location(finding: Finding) -> dict:
    from urllib.parse import quote

    uri = quote(finding.place.file.as_posix())
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": finding.place.line}}


def print_commands(findings: Sequence[Finding]) -> None:
    """Print commands that a workflow shows at lines of a change; signs are escaped as GitHub asks."""
    for f in findings:
        file, title = _property(str(f.place.file)), _property(f"repro audit: {f.check}")
        place = f"file={file},line={f.place.line},title={title}"
        print(f"::{COMMANDS[f.severity]} {place}::{_data(f'{f.says}; {f.why}')}")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


WRITERS = {"terminal": print_lines, "json": print_json, "sarif": print_sarif, "github": print_commands}
