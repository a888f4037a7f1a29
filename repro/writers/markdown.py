"""Verdicts as Markdown, e.g. for a README."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from repro.errors import UsageError, visible
from repro.running.plan import Plan
from repro.running.workspace import Workspace
from repro.verdicts.compared import Comparison
from repro.verdicts.comparison import judged_cells
from repro.verdicts.coverage import WAYS_OF_KNOWING, CoverageItem, Tally, coverage
from repro.verdicts.summary import doubts_in_brief, measured_in_words, published, summarise
from repro.verdicts.verdict import FAILS
from repro.writers import grid

BEGIN, END = "<!-- verdicts:begin -->", "<!-- verdicts:end -->"
ORDER = (
    *("failed", "lower", "higher", "inconclusive", "exact", "consistent", "within tolerance"),
    *("uninformative", "not comparable", "scaled", "blocked", "not run"),
)
_SIGN = re.compile(r"[\\`*\[\]|#]|(?<![^\W_])_|_(?![^\W_])")


def summary(comparison: Comparison, covered: Iterable[CoverageItem], *, scale: str) -> str:
    """Return coverage, failing cells, and counts of verdicts by table as Markdown."""
    failures, totals = [c for c in comparison.cells if c.verdict.name in FAILS], summarise(comparison.cells)
    note = "" if scale == "full" else " Scores at smaller scales are not compared with the paper's."
    runs_note = f" Runs by others exist for {totals.imported} cells and are not counted." if totals.imported else ""
    count = f"{totals.words}: {totals.failing} failing.{runs_note}{note}"
    doubts = grid.capitalised(doubts_in_brief(comparison.cells))
    lines = [*_evidence_counts(covered), f"## Verdicts at scale {scale}", "", count, ""]
    lines += [f"{doubts}.", ""] if doubts else []
    rows = []
    for c in failures:
        numbers = [escaped(c.cell.printed.plain), grid.shown_measurement(c) or "–"]
        rows.append([code(c.cell.id), *numbers, c.verdict.name, sentence(c.verdict.why)])
    lines += table(["cell", "published", "ours", "verdict", "why"], rows) if rows else []
    return "\n".join([*lines, *_verdict_counts(comparison)])


def _evidence_counts(covered: Iterable[CoverageItem]) -> list[str]:
    known = Tally("", "", list(covered)).published.known
    words = ", ".join(f"{number} {name}" for name, number in known.items() if number)
    return [f"{sum(known.values())} published numbers: {words}.", ""] if words else []


def _verdict_counts(comparison: Comparison) -> list[str]:
    counted = {names: summarise(cells) for names, cells in comparison.by_table().items()}
    present = {name for counts in counted.values() for name in counts.verdicts}
    verdict_names = [name for name in ORDER if name in present]
    rows = []
    for names, counts in sorted(counted.items(), key=lambda item: item[1].failing, reverse=True):
        numbers = (_number_or_dash(counts.verdicts.get(name, 0)) for name in verdict_names)
        rows.append([*names, str(counts.cells), *numbers])
    return table(["paper", "table", "cells", *verdict_names], rows)


def verdicts(comparison: Comparison, covered: Mapping[str, Sequence[CoverageItem]]) -> str:
    """Return a Markdown table with a line per paper: coverage and verdicts at scale full."""
    rows = []
    for name, items in covered.items():
        cells, tally = [c for c in comparison.cells if c.cell.paper.name == name], Tally(name, name, items)
        if tally.published.cells:
            totals = summarise(cells)
            in_doubt = sum(bool(c.doubts) for c in published(cells))
            counts = *tally.published.known.values(), totals.passing, totals.failing, in_doubt
            rows.append([f"`{name}`", str(totals.cells), *map(_number_or_dash, counts)])
    head = ["paper", "published", *WAYS_OF_KNOWING, "pass", "fail", "in doubt"]
    return "\n".join([*table(head, rows), f"{measured_in_words(comparison.cells)}."])


def update_verdicts(path: Path, planned: Plan, workspace: Workspace) -> bool:
    """Rewrite the verdicts between a file's markers. Returns whether the file changed."""
    old = path.read_text(encoding="utf-8")
    between(path, old, "")  # fails early without markers
    sources = dict.fromkeys(cell.paper for cell in planned.cells)
    coverage_by_paper = {source.name: coverage(source, workspace.results) for source in sources}
    table = verdicts(judged_cells(planned, workspace.results, workspace.store), coverage_by_paper)
    new = between(path, old, table)
    if new != old:
        path.write_text(new, encoding="utf-8")
    return new != old


def between(path: Path, text: str, new: str) -> str:
    """Return ``text`` with ``new`` between its markers. Raises UsageError without them."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise UsageError(f"{path} must contain {BEGIN} and then {END} once each, around the table")
    head, _, tail = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{new}\n{END}{tail.partition(END)[2]}"


def escaped(words: str) -> str:
    """Return words on one line, with signs and tags escaped."""
    return _SIGN.sub(r"\\\g<0>", html.escape(visible(" ".join(words.split())), quote=False))


def sentence(words: str) -> str:
    """Escape a sentence. Parts in backticks stay code."""
    pieces = re.split(r"(`[^`]+`)", " ".join(words.split()))
    return "".join(code(part[1:-1]) if n % 2 else escaped(part) for n, part in enumerate(pieces))


def code(words: str) -> str:
    return f"`{visible(' '.join(words.split())).replace('`', chr(39))}`"


def link(words: str, address: str) -> str:
    """Return a link, or the words alone if the address is unsafe."""
    is_safe = address.startswith(("https://", "http://")) or ":" not in address
    target = re.sub(r"[^!-~]|[()<>\\|`\[\]]", lambda sign: quote(sign[0]), address.strip())
    return f"[{escaped(words)}]({target})" if is_safe and target else escaped(words)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    numeric = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    rule = ["---:" if right else "---" for right in numeric]
    return [f"| {' | '.join(map(_cell, line))} |" for line in (head, rule, *rows)] + [""]


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split())).replace("<", "&lt;")


def _number_or_dash(number: int) -> str:
    return str(number) if number else "–"


def _is_number(text: str) -> bool:
    return text == "–" or text.isdecimal()
