"""Findings as other programs read them: lines of a compiler, SARIF 2.1.0, commands of a GitHub workflow."""

from collections.abc import Iterator, Sequence

from repro import __version__
from repro.plugins.manuscripts.findings import CHECKS, Finding

SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "doubt": "warning", "note": "note"}
COMMANDS = {"error": "error", "doubt": "warning", "note": "notice"}
FORMATS = ("json", "sarif", "github")


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield ``file:line: severity [check] what; why``."""
    for f in findings:
        yield f"{f.place}: {f.severity} [{f.check}] {f.says}; {f.why}"


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


def github(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield commands that a workflow shows at lines of a change; signs are escaped as GitHub asks."""
    for f in findings:
        file, title = _property(str(f.place.file)), _property(f"repro audit: {f.check}")
        place = f"file={file},line={f.place.line},title={title}"
        yield f"::{COMMANDS[f.severity]} {place}::{_data(f'{f.says}; {f.why}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
