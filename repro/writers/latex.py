"""Tables in LaTeX with a column for each number and one for its suffix, e.g. a superscript."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from repro.hooks import MAKINGS
from repro.manifest.papers import Paper
from repro.manifest.schema import Manifest, Mark, Table
from repro.verdicts.compared import ComparedCell, Comparison
from repro.writers import latex_text
from repro.writers.grid import (
    Grid,
    Head,
    best_measured,
    capitalised,
    compared_grid,
    shown_measurement,
    spans,
    superscript,
)
from repro.writers.latex_text import SYMBOLS, Entry, escape, has_digit, label, raised, table_row

LETTERED = (
    r"Superscripts mark rows that this row significantly outperforms (one seed, paired two-sided $t$-test "
    r"over queries by ranx, $p\le .05$, Holm-corrected per row and column)."
)
OWN_LETTERED = ("one seed", "tested on runs of one seed or on public runs")
UNITS = {"fraction": "Measures are fractions", "percent": "Measures are in percent"}
WIDE = 6  # columns of numbers that need both columns of a page


def short_caption(paper: Paper, table: Table) -> str:
    return escape(f"{capitalised(table.about)}: Table {table.id} of {cited_paper(paper.manifest)}")


def cited_paper(manifest: Manifest) -> str:
    """Cite a paper by authors and venue, or by its title if no authors are known."""
    if not manifest.authors:
        return manifest.title
    first, *coauthors = manifest.authors
    return f"{first} et al. ({manifest.venue})" if coauthors else f"{first} ({manifest.venue})"


def caption(cells: Sequence[ComparedCell], *, lettered: bool, bold: bool, own: Sequence[str] = ()) -> str:
    """Return the full caption of one table as LaTeX.

    ``lettered`` explains superscripts, ``bold`` bold numbers. ``own`` are ids of rows added by the user.
    """
    first = cells[0].cell
    measured_cells = [c for c in cells if c.records]
    of_papers = [c for c in cells if c.cell.row.id not in own]
    origins = _own_origins(cells, own) if own else _number_origins(cells)
    subject = f"{short_caption(first.paper, first.table)} {origins}"
    parts = [
        subject if of_papers else f"{escape(capitalised(first.table.about))}.",
        escape(f"{unit_in_words(first.table)}."),
        *(_scale(measured_cells) if measured_cells else ()),
        *_bold_meanings(cells, best=bold),
        *_legend_of_notes(cells),
        *_signs(of_papers),
        *_symbols(of_papers),
    ]
    if lettered:
        parts.append(LETTERED.replace(*OWN_LETTERED) if own else LETTERED)
    return " ".join([*parts, *(_doubts(measured_cells) if measured_cells else ()), *_marks(first.table)])


def unit_in_words(table: Table) -> str:
    """Return a table's unit as a sentence, e.g. "Measures are in percent"."""
    return UNITS.get(table.unit, f"Values are in {table.unit}")


def _own_origins(cells: Sequence[ComparedCell], own: Sequence[str]) -> str:
    labels = " and ".join(escape(row.label) for row in cells[0].cell.table.rows if row.id in own)
    published = any(c.cell.is_numeric for c in cells)
    others = any(c.records and c.cell.row.id not in own for c in cells)
    measured = f"measured (meas.): {labels} by us, the others by repro" if others else f"measured: {labels}"
    return f"as published (publ.) and {measured}." if published else f"{measured}."


def _number_origins(cells: Sequence[ComparedCell]) -> str:
    origins = ["reported elsewhere (oth.)"] if any(c.notes for c in cells) else []
    if any(c.records for c in cells):
        return f"{', '.join(['as published (publ.)', *origins])} and measured by us (ours)."
    if origins:
        return f"as published (publ.) and {' and '.join(origins)}, not measured by us."
    has_runs = any(c.imported for c in cells)
    return "as published (publ.), not measured by us." if has_runs else "as published, not measured."


def _legend_of_notes(cells: Sequence[ComparedCell]) -> Iterator[str]:
    if shown := [c.notes[0] for c in cells if c.notes]:
        makings = {note.making for note in shown}
        letters = ", ".join(f"{making[0]} {words}" for making, words in MAKINGS.items() if making in makings)
        doubt = ", ? only the name matches" if any(note.match == "loose" for note in shown) else ""
        yield f"Reported elsewhere: the closest of several values and their number ({letters}{doubt})."


def _scale(cells: Sequence[ComparedCell]) -> Iterator[str]:
    from repro.verdicts.summary import cut_measures

    if cells[0].scale != "full":
        data = ", ".join(sorted({name for c in cells for name in c.stand_ins})) or "other data"
        scale = f"Ours are measured at scale {cells[0].scale} on {data}"
        yield escape(f"{scale} and are not compared with the published numbers.")
    if cuts := cut_measures(cells):
        yield escape(f"{cuts}.")


def _doubts(cells: Sequence[ComparedCell]) -> Iterator[str]:
    from repro.verdicts.summary import doubts_in_brief

    if doubts := doubts_in_brief(cells):
        yield escape(f"{capitalised(doubts)}.")


def _bold_meanings(cells: Sequence[ComparedCell], *, best: bool) -> Iterator[str]:
    block = " and block" if cells[0].cell.table.bold == "group" else ""
    meanings = [f"best of ours per column{block}"] if best else []
    meanings += ["published as in the paper"] if any(c.cell.printed.bold for c in cells) else []
    if meanings:
        yield rf"\textbf{{Bold}}: {', '.join(meanings)}."


def _signs(cells: Sequence[ComparedCell]) -> Iterator[str]:
    if any(c.verdict.difference is not None for c in cells):
        yield r"$\Delta$: ours minus published."
    if any(len(c.records) > 1 for c in cells):
        yield r"$\pm$: half the 95\,\% prediction interval over seeds."
    if makers := dict.fromkeys(c.imported[-1].maker for c in cells if c.imported):
        yield escape(f"Others: runs by others, scored here ({', '.join(makers)}).")


def _symbols(cells: Sequence[ComparedCell]) -> Iterator[str]:
    verdict_names = {c.verdict.name for c in cells if c.records}
    verdict_names |= {c.imported[-1].verdict.name for c in cells if c.imported}
    if signs := [f"{symbol} {name}" for name, symbol in SYMBOLS.items() if name in verdict_names]:
        yield f"{', '.join(signs)}."


def _marks(table: Table) -> Iterator[str]:
    meanings = [f"{escape(sign)} {escape(_meaning(mark, table))}" for sign, mark in table.marks.items()]
    if meanings:
        yield f"Published marks: {'; '.join(meanings)}."


def _meaning(mark: Mark, table: Table) -> str:
    if mark.means == "significant":
        labels = {row.system: row.label for row in reversed(table.rows)}
        return f"better than {', '.join(labels.get(row, row) for row in mark.over)}"
    return mark.source or mark.property or mark.note or "not explained"


@dataclass(frozen=True)
class _Column:
    kind: str
    entries: Sequence[Entry]

    @property
    def places(self) -> int:
        return 2 if any(entry.after for entry in self.entries) else 1

    @property
    def type(self) -> str:
        return "r@{}l" if self.places == 2 else "r"

    def code(self, line: int) -> str:
        entry = self.entries[line]
        return f"{entry.code} & {entry.after}" if self.places == 2 else entry.code


def latex(
    comparison: Comparison, cells: Sequence[ComparedCell], *, command: str, two_column: bool = False
) -> str:
    """Return a LaTeX ``table``, or if ``two_column`` a ``table*`` for a table of many columns.

    A comment names the ``command`` that makes it.
    """
    grid = compared_grid(cells)
    writer = _Writer(grid, comparison)
    table, paper = grid.table, cells[0].cell.paper
    scale = "" if cells[0].scale == "full" else f"-{cells[0].scale}"
    return latex_text.environment(
        writer.tabular(),
        command=command,
        source=_source(paper.manifest),
        short=short_caption(paper, table),
        caption=caption(cells, lettered=writer.lettered, bold=bool(writer.best), own=comparison.own_rows),
        label=f"tab:{paper.name}-{table.id}{scale}",
        wide=two_column and sum(len(columns) for _, columns in writer.heads) >= WIDE,
    )


def _source(manifest: Manifest) -> str:
    if manifest.doi:
        return f"published numbers: doi:{manifest.doi}"
    return f"published numbers: arXiv:{manifest.arxiv}" if manifest.arxiv else ""


class _Writer:
    def __init__(self, grid: Grid[ComparedCell], comparison: Comparison):
        self.grid, self.comparison = grid, comparison
        self.lettered = any(superscript(c, comparison, grid, between="") for c in grid.cells.values())
        self.best = best_measured(grid)
        lines = [grid.line(head) for head in grid.down]
        columns = [self._number_columns([line[n] for line in lines]) for n in range(len(grid.across))]
        self.heads = list(zip(grid.across, columns, strict=True))

    def tabular(self) -> list[str]:
        types = "".join(column.type for _, columns in self.heads for column in columns)
        return latex_text.tabular(f"l{types}", self._head(), self._body())

    def _head(self) -> Iterator[str]:
        widths = [sum(column.places for column in columns) for _, columns in self.heads]
        if headings := spans(self.grid.across):
            remaining = iter(widths)
            yield from _head_lines([(label(text), sum(islice(remaining, count))) for text, count in headings])
        texts = [self._label(head, head.last) for head, _ in self.heads]
        names = list(zip(texts, widths, strict=True))
        if all(len(columns) == 1 for _, columns in self.heads):
            yield next(_head_lines(names))
        else:
            yield from _head_lines(names)
            kinds = [(column.kind, column.places) for _, columns in self.heads for column in columns]
            yield next(_head_lines(kinds))

    def _body(self) -> Iterator[str]:
        columns = [column for _, group in self.heads for column in group]
        line, width = 0, 1 + sum(column.places for column in columns)
        for heading, heads in self.grid.blocks:
            if line:
                yield r"\addlinespace"
            if heading:
                yield rf"\multicolumn{{{width}}}{{l}}{{\textit{{{label(heading)}}}}} \\"
            for head in heads:
                codes = (column.code(line) for column in columns)
                yield table_row(self._label(head, head.label), *codes).rstrip()
                line += 1

    def _label(self, head: Head, text: str) -> str:
        letter = f"({self.grid.letters[head.id]})~" if head.row and self.lettered else ""
        marks = raised(escape(head.row.marks)) if head.row else ""
        return letter + label(text) + marks

    def _number_columns(self, cells: Sequence[ComparedCell | None]) -> list[_Column]:
        shown = {
            "publ.": latex_text.published_entry,
            "oth.": latex_text.stated_entry,
            "meas." if self.comparison.own_rows else "ours": self._ours,
            r"$\Delta$": latex_text.difference,
            "others": latex_text.by_others,
        }
        by_kind = {kind: latex_text.align_points([entry(c) for c in cells]) for kind, entry in shown.items()}
        numeric = {kind: entries for kind, entries in by_kind.items() if any(map(has_digit, entries))}
        columns = [_Column(kind, entries) for kind, entries in numeric.items()]
        return columns or [_Column("publ.", by_kind["publ."])]

    def _ours(self, c: ComparedCell | None) -> Entry:
        if c is None or not c.records:
            return Entry("" if c is None else "--")
        is_own = c.cell.row.id in self.comparison.own_rows
        sign = "" if is_own or c.verdict.difference is not None else SYMBOLS.get(c.verdict.name, "")
        letters = superscript(c, self.comparison, self.grid, between=",").replace("-", "--")
        suffix = latex_text.interval(c) + (rf"\,{sign}" if sign else "") + raised(letters)
        return Entry(shown_measurement(c) or "", suffix, (c.cell.row.id, c.cell.column.id) in self.best)


def _head_lines(parts: Sequence[tuple[str, int]]) -> Iterator[str]:
    yield table_row("", *(rf"\multicolumn{{{width}}}{{c}}{{{name}}}" for name, width in parts))
    rules, first = "", 2
    for name, width in parts:
        rules += rf"\cmidrule(lr){{{first}-{first + width - 1}}}" if name and width > 1 else ""
        first += width
    if rules:
        yield rules
