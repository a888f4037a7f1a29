"""Rewrite docs/report.svg and the sentence above it in docs/index.md: ``python docs/state.py``.

Both count the published numbers by the best evidence for each, from manifests and results/ only.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from repro.manifest.papers import papers  # noqa: E402
from repro.store.results import Results  # noqa: E402
from repro.verdicts.coverage import Tally, coverage  # noqa: E402
from repro.writers.grid import STATED  # noqa: E402

PICTURE, PAGE = ROOT / "docs/report.svg", ROOT / "docs/index.md"
BEGIN, END = "<!-- written by docs/state.py: begin -->", "<!-- written by docs/state.py: end -->"
# evidence, the strongest first -> its colours in light and dark mode
EVIDENCE = {
    "measured at full scale": ("#1b6539", "#8fd6a8"),
    "scored from runs by others": ("#14707f", "#5fb9ca"),
    STATED: ("#8f7cc9", "#a793e6"),
    "rehearsed at a smaller scale": ("#a9c1e4", "#48658f"),
    "without any value": ("#dedbd2", "#444b55"),
}
LEFT, STEP, HEIGHT, WIDTH = 92, 34, 22, 760
STYLE = """\
text { font: 14px system-ui, sans-serif; fill: #20242a }
@media (prefers-color-scheme: dark) { text { fill: #e8e6e1 } }"""


def counts(results: Path = ROOT / "results") -> dict[str, list[int]]:
    """Return paper -> the number of published numbers for each kind of ``EVIDENCE``."""
    by_paper = {}
    for name, paper in papers().items():
        known = Tally(name, name, coverage(paper, Results(results))).published.known
        merged: Counter[str] = Counter()
        for way, number in known.items():
            merged[way.partition(" (")[0]] += number  # exact, close and loose matches are one kind
        if sum(merged.values()):
            by_paper[name] = list(merged.values())
    return by_paper


def sentence(by_paper: dict[str, list[int]]) -> str:
    """Return the state of all papers, e.g. "State of 9 published numbers: 2 measured at full scale, …"."""
    totals = [sum(column) for column in zip(*by_paper.values(), strict=True)]
    *most, last = (f"{number} {kind}" for number, kind in zip(totals, EVIDENCE, strict=True))
    return f"State of {sum(totals):,} published numbers: {', '.join(most)} and {last}."


def picture(by_paper: dict[str, list[int]]) -> str:
    """Return the SVG: a bar for each paper and a legend."""
    height = STEP * (len(by_paper) + 2)
    rules = [
        f".k{n} {{ fill: {light} }} @media (prefers-color-scheme: dark) {{ .k{n} {{ fill: {dark} }} }}"
        for n, (light, dark) in enumerate(EVIDENCE.values())
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{sentence(by_paper)}</title>",
        f"<style>{STYLE}\n{chr(10).join(rules)}</style>",
        *_bars(by_paper),
        *_legend(STEP * len(by_paper)),
        "</svg>\n",
    ]
    return "\n".join(lines)


def _bars(by_paper: dict[str, list[int]]) -> Iterator[str]:
    unit = (WIDTH - LEFT - 50) / max(map(sum, by_paper.values()))
    for line, (name, numbers) in enumerate(by_paper.items()):
        x, y = float(LEFT), STEP * line + 6
        yield f'<text x="0" y="{y + 16}">{name}</text>'
        for kind, number in enumerate(numbers):
            width = number * unit
            if number:
                yield f'<rect class="k{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}"/>'
            x += width
        yield f'<text x="{x + 8:.1f}" y="{y + 16}">{sum(numbers)}</text>'


def _legend(y: int) -> Iterator[str]:
    for n, kind in enumerate(EVIDENCE):
        x, top = LEFT + n % 3 * 235, y + 12 + n // 3 * 24
        yield f'<rect class="k{n}" x="{x}" y="{top}" width="14" height="14"/>'
        yield f'<text x="{x + 20}" y="{top + 12}">{kind}</text>'


def page(text: str, new: str) -> str:
    """Return the text of a page with a new sentence between its markers."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{new}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    found = counts()
    PICTURE.write_text(picture(found), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), sentence(found)), encoding="utf-8")
