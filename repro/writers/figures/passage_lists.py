"""The first passages of several systems beside each other, as Markdown."""

from collections.abc import Sequence
from pathlib import Path

from repro.writers.figures.canvas import write_csv
from repro.writers.markdown import escaped

_HEAD = ("system", "wanted", "query", "found", "rank", "id", "grade", "score", "title", "text")


def passages(exhibits: Sequence[tuple[str, dict]], path: Path, *, note: str) -> None:
    """A table for each query: systems across, ranks downwards.

    Args:
        exhibits: pairs of a system's label and an exhibit of the stage ``top_passages``, all for the same
            wanted queries in the same order.
        path: of the Markdown file; all of it goes into a .csv of the same name, too.
        note: a line at the end; empty for none.
    """
    blocks = []
    for entries in zip(*(exhibit["queries"] for _, exhibit in exhibits), strict=True):
        blocks += [_heading(entries[0]), _table([label for label, _ in exhibits], entries)]
    if note:
        blocks.append(f"*{escaped(note)}*")
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8", newline="\n")
    rows = [
        (label, entry["wanted"], entry["id"], entry["found"], *(passage[key] for key in _HEAD[4:]))
        for label, exhibit in exhibits
        for entry in exhibit["queries"]
        for passage in entry["passages"]
    ]
    write_csv(path, _HEAD, rows)


def _heading(entry: dict) -> str:
    heading = f"## {escaped(entry['text'])}"
    if entry["found"]:
        return heading
    return f"{heading}\n\nStands in for “{escaped(entry['wanted'])}”, which is not among these queries."


def _table(labels: Sequence[str], entries: Sequence[dict]) -> str:
    depth = max(len(entry["passages"]) for entry in entries)
    lines = [_line("rank", *map(escaped, labels)), _line("--:", *["---"] * len(labels))]
    for place in range(depth):
        passages = (entry["passages"][place : place + 1] for entry in entries)
        lines.append(_line(str(place + 1), *(_cell(*passage) for passage in passages)))
    return "\n".join(lines)


def _cell(passage: dict | None = None) -> str:
    if passage is None:
        return "–"
    title = f"**{escaped(passage['title'])}** " if passage["title"] else ""
    facts = f"{_judgement(passage['grade'])}, score {passage['score']:.4g}, id {escaped(passage['id'])}"
    return f"{title}{escaped(passage['text'])}<br>*{facts}*"


def _judgement(grade: int | None) -> str:
    if grade is None:
        return "not judged"
    return f"relevant (grade {grade})" if grade >= 1 else f"not relevant (grade {grade})"


def _line(*entries: str) -> str:
    return f"| {' | '.join(entries)} |"
