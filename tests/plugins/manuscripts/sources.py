"""Sources that nobody published: how a table is written down, and how a test sees what was read."""

from pathlib import Path

from repro.plugins.manuscripts.reading import read
from repro.plugins.manuscripts.source_tables import Manuscript, SourceCell, SourceTable

PREAMBLE = r"\documentclass{article}" + "\n" + r"\begin{document}" + "\n"


def written(folder: Path, text: str, name: str = "main.tex") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def manuscript(folder: Path, body: str, preamble: str = "") -> Manuscript:
    text = PREAMBLE.replace("\\begin", preamble + "\n\\begin") + body + "\n\\end{document}\n"
    return read(written(folder, text))


def seen(cell: SourceCell) -> str:
    """Return a cell with its styles and marks: ``**36.6**_^†``."""
    stars = "**" if cell.bold else ""
    line = "_" if cell.underlined else ""
    return f"{stars}{cell.text}{stars}{line}" + "".join(f"^{mark}" for mark in cell.marks)


def rows(table: SourceTable) -> list[list[str]]:
    return [[seen(c) for c in row] for row in table.body]


def heads(table: SourceTable) -> list[list[str]]:
    return [[seen(c) for c in row] for row in table.head]
