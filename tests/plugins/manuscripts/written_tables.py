"""The tables of a manifest written as a paper writes them, in LaTeX, Markdown and HTML, to be read back."""

import re
from itertools import groupby

from repro.manifest.papers import Paper, papers
from repro.manifest.printed import parse
from repro.manifest.schema import SHARES, Table

LATEX_MARKS = {"*": "*", "†": r"\dagger", "‡": r"\ddagger"}


def papers_of_results() -> list[Paper]:
    """Return the papers at hand but for the suite's own study."""
    return [s for s in papers().values() if not s.manifest.is_study]


def results(source: Paper) -> list[Table]:
    """Return a paper's tables of effectiveness."""
    return [table for table in source.manifest.tables if table.kind == "results" and table.unit in SHARES]


def latex(tables) -> str:
    """Return a document with these tables of a manifest."""
    return "\n".join([r"\documentclass{article}\begin{document}", *map(_latex, tables), r"\end{document}"])


def _latex(table) -> str:
    grid, groups = _grid(table)
    lines = [_latex_row(row, is_head=True) for row in grid[: len(grid) - len(groups)]]
    lines.append(r"\midrule")
    current = None
    for row, group in zip(grid[len(grid) - len(groups) :], groups, strict=True):
        if group not in (current, "") and not table.transposed:
            lines += [r"\midrule", rf"\multicolumn{{{len(row)}}}{{l}}{{\textit{{{_escaped(group)}}}}} \\"]
        current = group
        lines.append(_latex_row(row))
    begin = rf"\begin{{table}}\caption{{{_escaped(table.about)}}}\label{{t:{table.id}}}"
    columns = "l" * len(grid[0])
    first, last = rf"{begin}\begin{{tabular}}{{{columns}}}\toprule", r"\bottomrule\end{tabular}\end{table}"
    return "\n".join([first, *lines, last])


def _latex_row(row, *, is_head: bool = False) -> str:
    if not is_head:
        return " & ".join(map(_latex_cell, row)) + r" \\"
    cells = []
    for text, same in groupby(row):
        count = len(list(same))
        cells += (
            [rf"\multicolumn{{{count}}}{{c}}{{{_escaped(text)}}}"]
            if text and count > 1
            else [_escaped(text)] * count
        )
    return " & ".join(cells) + r" \\"


def _latex_cell(text: str) -> str:
    cell = parse(text)
    bare = text.strip()
    if cell.bold:
        bare = bare.removeprefix("**").removesuffix("**")
    marks = re.search(r"[*†‡]+", bare) if cell.value is not None else None
    if marks:
        signs = " ".join(LATEX_MARKS[mark] for mark in marks[0])
        bare = f"{_escaped(bare[: marks.start()])}$^{{{signs}}}${_escaped(bare[marks.end() :])}"
    else:
        bare = _escaped(bare)
    return rf"\textbf{{{bare}}}" if cell.bold else bare


def _escaped(text: str) -> str:
    text = re.sub(r"([%&#_$])", r"\\\1", text)
    return text.replace("<", "$<$").replace(">", "$>$")


def markdown(tables) -> str:
    """Return these tables of a manifest as Markdown; its heads have one row, and groups one of their own."""
    return "\n\n".join(map(_markdown, tables)) + "\n"


def _markdown(table) -> str:
    grid, groups = _grid(table)
    depth = len(grid) - len(groups)
    head = [" ".join(dict.fromkeys(filter(None, texts))) for texts in zip(*grid[:depth], strict=True)]
    lines = [f"Table {table.id}: {table.about}", "", _bars(head), _bars(["---"] * len(head))]
    current = None
    for row, group in zip(grid[depth:], groups, strict=True):
        if group not in (current, "") and not table.transposed:
            lines.append(_bars([group, *[""] * (len(row) - 1)]))
        current = group
        lines.append(_bars(map(_markdown_cell, row)))
    return "\n".join(lines)


def _markdown_cell(text: str) -> str:
    return re.sub(r"(?<=\d)(\*?[†‡]+|\*(?!\*\*?$|\*$))", lambda found: found[0].replace("*", r"\*"), text)


def _bars(cells) -> str:
    return f"| {' | '.join(c.replace('|', ' ') for c in cells)} |"


def _grid(table) -> tuple[list[list[str]], list[str]]:
    """Return the rows of a table as a paper has them, head first, and of the others the groups."""
    rows = [row for row in table.rows if row.cells]
    depth = max(len(c.head) for c in table.columns)
    heads = [("",) * (depth - len(c.head)) + c.head for c in table.columns]
    grid = [["", *(head[level] for head in heads)] for level in range(depth)]
    grid += [[row.label, *row.cells] for row in rows]
    labels = {group.id: group.label for group in table.groups}
    groups = [labels.get(row.group, "") for row in rows]
    if table.transposed:
        grid = [list(line) for line in zip(*grid, strict=True)]
        groups = [""] * (len(grid) - 1)
    return grid, groups
