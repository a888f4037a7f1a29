"""Limits on phrases that make texts hard to read, e.g. "what is left" instead of "the rest"."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.ci_commands import pages
from tests.trees import nodes

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
AFTER_WHAT = """is are was were has have had makes? made says? said stands? lies can could may must would does
    lacks runs? left follows waits? goes comes it they a an the others one no its? their this these users?"""
PHRASES = {
    "what as a noun": rf"\bwhat (?:{'|'.join(AFTER_WHAT.split())})\b",
    "tells": r"\b(?:tells?|told|asks?|asked|stands?|stood|lies|lay|hears?|heard|knows?|knew)\b",
    "apart": r"\b(?:apart|beside|thereby|therefrom|whereof|therein|else)\b",
    "whose": r"\b(?:(?:of|by|in|from|on|with|to|at) which|whose)\b",
    "semicolons": ";",
    "examples": r"\b(?:e\.g\.|for example\b|for instance\b|such as\b|like `)",
    "words": "[A-Za-z][A-Za-z'-]*",
}
LIMITS = {  # phrases per 10,000 words at most, but examples at least; and words in all
    "docstrings": (5, 5, 5, 8, 20, 15, 85_000),
    "messages": (5, 5, 5, 8, 20, 5, 15_000),
    "pages": (5, 5, 5, 8, 20, 15, 22_000),
}
CASES = [(part, *limit) for part in LIMITS for limit in zip(PHRASES, LIMITS[part], strict=True)]
FOR_READERS = ("real-data", "yours", "add-an-objective", "full-scale", "your-paper", "audit-your-paper")


def matches(kind: str, text: str) -> int:
    return len(re.findall(PHRASES[kind], text, re.IGNORECASE))


def texts_of_code(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield docstrings and messages of a module, e.g. ``("messages", 12, "there is no table")``."""
    documented = [n for n in nodes(path) if isinstance(n, DOCUMENTED) and ast.get_docstring(n)]
    docstrings = {id(n.body[0].value): ast.get_docstring(n) for n in documented}
    for node in nodes(path):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if id(node) in docstrings:
            yield "docstrings", node.lineno, docstrings[id(node)]
        elif len(re.findall("[A-Za-z]{2,}", text)) >= 5:
            yield "messages", node.lineno, text


@cache
def lines(part: str) -> list[tuple[str, str]]:
    """Return lines with their places, e.g. ``("repro/graph.py:12", "A node of the graph.")``."""
    found = []
    if part == "pages":
        for path in (*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
            text = path.read_text(encoding="utf-8")
            for left_out in (r"```.*?```", r"<!-- [^>]*begin[^>]*-->.*?<!-- [^>]*end -->", r"^\s*\|[^\n]*$"):
                text = re.sub(left_out, "", text, flags=re.DOTALL | re.MULTILINE)
            found += [(str(path.relative_to(ROOT)), line) for line in text.splitlines()]
        return found
    for path in [path for folder in ("repro", "papers") for path in (ROOT / folder).rglob("*.py")]:
        for kind, number, text in texts_of_code(path):
            place = f"{path.relative_to(ROOT)}:{number}"
            found += [(place, line) for line in text.splitlines() if kind == part]
    return found


@cache
def matches_by_line(part: str, kind: str) -> list[int]:
    return [matches(kind, line) for _, line in lines(part)]


@pytest.mark.parametrize(("part", "kind", "limit"), CASES)
def test_hard_phrases_are_rare_and_examples_are_not(part, kind, limit):
    words, found = (sum(matches_by_line(part, k)) for k in ("words", kind))
    number = found if kind == "words" else found * 10_000 / words
    placed = zip(matches_by_line(part, kind), lines(part), strict=True)
    worst = sorted(placed, key=lambda pair: -pair[0])[:10]
    shown = "\n".join(f"{place}: {line.strip()[:150]}" for _, (place, line) in worst)
    kept = number >= limit if kind == "examples" else number <= limit
    assert kept, f"{part}, {kind}: {number:,.1f}, limit {limit:,}\n{shown}"


@pytest.mark.parametrize("page", FOR_READERS)
def test_a_page_for_a_kind_of_reader_has_at_most_600_words(page):
    assert len((ROOT / f"docs/howto/{page}.md").read_text(encoding="utf-8").split()) <= 600


def test_each_phrase_is_found():
    text = "It tells what is left; nothing else, of which one, e.g. this, lies beside what it knows."
    assert [matches(kind, text) for kind in PHRASES] == [2, 3, 2, 1, 1, 1, 18]
