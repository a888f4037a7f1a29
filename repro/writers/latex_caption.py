"""The caption of a table in LaTeX: what it is, its unit and scale, and what its signs mean."""

from collections.abc import Iterator, Sequence

from repro.manifest.papers import Paper
from repro.manifest.schema import Manifest, Mark, Table
from repro.verdicts.beside import Beside, ValuesBeside, kinds
from repro.verdicts.compared import ComparedCell
from repro.verdicts.summary import cut_measures, doubts_in_brief
from repro.writers.grid import capitalised
from repro.writers.latex_text import SYMBOLS, escape

LETTERED = (
    r"Raised letters: rows that ours beats by the runs of one seed (paired two-sided $t$-test over queries, "
    r"Holm over a row's tests, $p\le 0.05$)."
)
OWN_LETTERED = (
    "ours beats by the runs of one seed",
    "the measured one beats, by runs of one seed or public ones",
)
UNITS = {"fraction": "Measures are fractions", "percent": "Measures are in percent"}


def short_caption(paper: Paper, table: Table) -> str:
    """The caption for a list of tables."""
    return escape(
        f"{table.about[:1].upper()}{table.about[1:]}: Table {table.id} of {cited_paper(paper.manifest)}"
    )


def cited_paper(manifest: Manifest) -> str:
    """A paper by its authors and venue, as a caption names it; by its title where nobody signs it."""
    if not manifest.authors:
        return manifest.title
    first, *coauthors = manifest.authors
    return f"{first} et al. ({manifest.venue})" if coauthors else f"{first} ({manifest.venue})"


def caption(cells: Sequence[ComparedCell], *, lettered: bool, bold: bool, own: Sequence[str] = ()) -> str:
    """All that a reader needs to know of the table, as LaTeX.

    Args:
        cells: of one table.
        lettered: whether rows have letters.
        bold: whether a number of ours is the best of several.
        own: ids of rows that a user put into the table.
    """
    first = cells[0].cell
    measured_cells = [c for c in cells if c.measured is not None]
    unit = UNITS.get(first.table.unit, f"Values are in {first.table.unit}")
    origins = _own_origins(cells, own) if own else _number_origins(cells)
    parts = [f"{short_caption(first.paper, first.table)} {origins}", escape(f"{unit}.")]
    if all(c.cell.row.id in own for c in cells):  # of no paper
        parts[0] = f"{escape(capitalised(first.table.about))}."
    of_papers = [c for c in cells if c.cell.row.id not in own]
    parts += [
        *_scale(measured_cells),
        *_bold_meanings(cells, best=bold),
        *(kind.latex_legend(values) for kind, values in _beside(cells)),
        *_signs(of_papers),
    ]
    if lettered:
        parts.append(LETTERED.replace(*OWN_LETTERED) if own else LETTERED)
    if doubts := doubts_in_brief(measured_cells):
        parts.append(escape(f"{capitalised(doubts)}."))
    return " ".join([*parts, *_marks(first.table)])


def _own_origins(cells: Sequence[ComparedCell], own: Sequence[str]) -> str:
    """Who measured what, where a user's rows stand beside a paper's."""
    labels = " and ".join(escape(row.label) for row in cells[0].cell.table.rows if row.id in own)
    published = any(c.cell.is_numeric for c in cells)
    others = any(c.measured is not None and c.cell.row.id not in own for c in cells)
    measured = f"measured (meas.): {labels} by us, the others by repro" if others else f"measured: {labels}"
    return f"as published (publ.) and {measured}." if published else f"{measured}."


def _number_origins(cells: Sequence[ComparedCell]) -> str:
    origins = [kind.origin for kind, _ in _beside(cells)]
    if any(c.measured is not None for c in cells):
        return f"{', '.join(['as published (publ.)', *origins])} and measured by us (ours)."
    if origins:
        return f"as published (publ.) and {' and '.join(origins)}, not measured by us."
    has_runs = any(c.imported for c in cells)
    return "as published (publ.), not measured by us." if has_runs else "as published, not measured."


def _beside(cells: Sequence[ComparedCell]) -> list[tuple[Beside, list[ValuesBeside]]]:
    """Return the kinds of values that stand beside some of the cells, with all of them."""
    shown = [(kind, [c.beside[kind.name] for c in cells if kind.name in c.beside]) for kind in kinds()]
    return [(kind, values) for kind, values in shown if values]


def _scale(cells: Sequence[ComparedCell]) -> Iterator[str]:
    """The scale, where it is not full, with the data that stand in for the paper's, and runs cut short."""
    if cells and cells[0].scale != "full":
        data = ", ".join(sorted({name for c in cells for name in c.stand_ins})) or "other data"
        scale = f"Ours are of scale {cells[0].scale}, on {data}"
        yield escape(f"{scale}, and not compared with the published.")
    if cuts := cut_measures(cells):
        yield escape(f"{cuts}.")


def _bold_meanings(cells: Sequence[ComparedCell], *, best: bool) -> Iterator[str]:
    block = " and block" if cells[0].cell.table.bold == "group" else ""
    meanings = [f"best of ours in its column{block}"] if best else []
    meanings += ["published, as in the paper"] if any(c.cell.printed.bold for c in cells) else []
    if meanings:
        yield rf"\textbf{{Bold}}: {'; '.join(meanings)}."


def _signs(cells: Sequence[ComparedCell]) -> Iterator[str]:
    """Difference, interval, runs of others and verdicts, those that the table has."""
    runs = [c.imported[-1] for c in cells if c.imported]
    measured_cells = [c for c in cells if c.measured is not None]
    if any(c.verdict.difference is not None for c in measured_cells):
        yield r"$\Delta$: ours minus published."
    if any(len(c.records) > 1 for c in measured_cells):
        yield r"$\pm$: half the 95\,\% prediction interval over seeds."
    if runs:
        makers = ", ".join(dict.fromkeys(run.maker for run in runs))
        yield escape(f"Others: runs that others made, scored here and no measurements of ours ({makers}).")
    verdict_names = {judged.verdict.name for judged in (*measured_cells, *runs)}
    if signs := [f"{symbol} {name}" for name, symbol in SYMBOLS.items() if name in verdict_names]:
        yield f"{', '.join(signs)}."


def _marks(table: Table) -> Iterator[str]:
    """The footnote marks of the paper."""
    meanings = [f"{escape(sign)} {escape(_meaning(mark, table))}" for sign, mark in table.marks.items()]
    if meanings:
        yield f"Published marks: {'; '.join(meanings)}."


def _meaning(mark: Mark, table: Table) -> str:
    if mark.means == "significant":
        labels = {row.system: row.label for row in reversed(table.rows)}
        return f"better than {', '.join(labels.get(row, row) for row in mark.over)}"
    return mark.source or mark.property or mark.note or "not explained"
