"""A study's table as LaTeX: the means, and below them every comparison with its power."""

from collections.abc import Iterator

from repro.judging.contrasts import Contrast
from repro.judging.studies import Study
from repro.report.latex_page import environment
from repro.report.latex_text import escape, table_row
from repro.report.latex_text import label as cell_text
from repro.report.study import points, rows
from repro.report.study_words import caption, label, mark, verdicts_note


def latex(study: Study, *, title: str, command: str, label: str, wide: bool = False) -> str:
    """Return a ``table`` environment of means and one of comparisons."""
    heads = [*(column.label for column in study.table.columns), "FLOPs", "s", "h"]
    means = _tabular(heads, (table_row(*map(cell_text, row)) for row in rows(study)))
    arguments = {"command": command, "short": escape(title), "wide": wide}
    description = f"{title}. Unit: {study.table.unit}. {caption(study)}"
    text = environment(means, caption=escape(description), label=label, **arguments)
    if not study.contrasts:
        return text
    description = f"{title}: comparisons. {verdicts_note(study)} {_compact_note()}"
    comparisons = _tabular([c.label for c in study.table.columns], _comparisons(study))
    return text + environment(
        comparisons, caption=escape(description), label=f"{label}-comparisons", **arguments
    )


def _compact_note() -> str:
    marks = (
        "▲ above, ▼ below, △ ▽ by less than matters, = equivalent, f at the floor, no mark: not told apart"
    )
    size = "the difference in points ± half of its interval"
    return f"Each: {size} ({marks}); in brackets the smallest one that is seen with a power of 80 %."


def _tabular(heads: list[str], lines) -> list[str]:
    return [
        rf"\begin{{tabular}}{{l{'r' * len(heads)}}}",
        r"\toprule",
        table_row("", *map(cell_text, heads)),
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _comparisons(study: Study) -> Iterator[str]:
    """A line for every pair, below the heading of its family."""
    columns = [c.id for c in study.table.columns]
    for number, family in enumerate(study.analysis.families):
        by_place = {(c.row, c.against, c.column): c for c in study.contrasts if c.family == family.id}
        if by_place:
            if number:
                yield r"\midrule"
            yield rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{\emph{{{cell_text(family.label)}}}}} \\"
        for pair in dict.fromkeys(place[:2] for place in by_place):
            name = " – ".join(label(study, row) for row in pair)
            entries = (_entry(by_place.get((*pair, column))) for column in columns)
            yield table_row(*map(cell_text, [name, *entries]))


def _entry(c: Contrast | None) -> str:
    if c is None or c.difference is None:
        return "–"
    text = f"{100 * c.difference.mean:+.2f} ± {points(c.difference.half_width())} {mark(c.verdict)}"
    return f"{text.rstrip()} ({points(c.smallest_seen)})"
