"""Tables of kind study: judged by their own analysis, and written with intervals, comparisons and costs."""

from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path

from repro.manifest.papers import Paper
from repro.manifest.schema import Table
from repro.plugins.studies.contrasts import Contrast
from repro.plugins.studies.studies import Study, study_of
from repro.plugins.studies.study_scores import write_scores
from repro.plugins.studies.words import doubts_note, preliminary_note
from repro.plugins.studies.writing import format_cost, half_width, latex, markdown, sign
from repro.running.plan import Plan
from repro.running.records import PER_UNIT
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.compared import ComparedCell
from repro.writers.grid import column_heads
from repro.writers.html.elements import Content, Markup, el
from repro.writers.html.tables import head, scrolling
from repro.writers.table_kinds import TableText


class StudyTables:
    """How tables of a study are judged and written: see ``repro.writers.table_kinds.TableKind``."""

    def texts(
        self,
        cells: Sequence[ComparedCell],
        plan: Plan,
        store: Store,
        results: Results | None,
        text: TableText,
    ) -> Iterator[tuple[str, str]]:
        """Yield the Markdown and the LaTeX of a table, or the one that is asked for."""
        cell = cells[0].cell
        study = study_of(plan, store, source=cell.paper, table=cell.table, cells=cells, results=results)
        title = f"{text.title} (scale {plan.scale.name})"
        if text.form != "latex":
            yield "md", markdown(study, title=title, command=text.command)
        if text.form != "markdown":
            label = f"tab:{cell.paper.name}-{cell.table.id}-{plan.scale.name}"
            yield "tex", latex(study, title=title, command=text.command, label=label, wide=text.two_column)

    def html(
        self,
        source: Paper,
        table: Table,
        cells: Sequence[ComparedCell],
        plan: Plan,
        store: Store,
        results: Results,
    ) -> Markup | None:
        """Return the table as a report shows it; None where nothing of it is known."""
        study = study_of(plan, store, source=source, table=table, cells=cells, results=results)
        return shown_study(f"Table {table.id} of {source.name}", table, study) if study.entries else None

    def facts(
        self, source: Paper, table: Table, plan: Plan, store: Store, results: Results | None
    ) -> dict[str, dict]:
        """Return cell -> the object of every comparison of its row with another one."""
        by_cell: dict[str, dict] = {}
        times = PER_UNIT.get(table.unit, 1)
        study = study_of(plan, store, source=source, table=table, results=results)
        for c in study.contrasts:
            facts = by_cell.setdefault(f"{source.name}/{table.id}/{c.row}/{c.column}", {"contrasts": []})
            facts["contrasts"].append(contrast_as_json(c, times=times) | _standing(study, c))
        return by_cell

    def keep(self, plan: Plan, store: Store, results: Results, *, paper: str, table: str) -> Path | None:
        """Keep the scores of the queries of a table, and return the file of them."""
        return write_scores(plan, store, results, paper=paper, table=table)


def shown_study(title: str, table: Table, measured: Study) -> Markup:
    """Return means in percent with their interval over seeds, against the row of reference, and costs."""
    labels = {row.id: row.label for row in table.rows}
    reference = labels.get(table.delta_from, "the row that it is compared with")
    rows = [
        el(
            "tr",
            el("th", row.label, scope="row"),
            [el("td", _entry(measured, row.id, c.id)) for c in table.columns],
            [el("td", text) for text in format_cost(measured.costs.get(row.id))],
        )
        for row in table.rows
    ]
    caption = f"{table.about} (percent; ± half of the 95 % interval over queries and seeds)"
    heads = el("thead", head(column_heads(table.columns), ("FLOPs", "seconds")))
    body = el("table", heads, el("tbody", rows), class_="printed", style="--marks:0")
    marks = f"▲ above, ▼ below, △ ▽ slightly, = equivalent to {reference}"
    note = " ".join(
        [
            *preliminary_note(measured),
            *doubts_note(measured),
            f"{marks}; differences with 95 % interval and Holm's p.",
        ]
    )
    return el("div", el("p", caption, class_="caption"), scrolling(body, title), el("p", note, class_="fine"))


def _entry(measured_study: Study, row: str, column: str) -> Content:
    entry = measured_study.entries.get((row, column))
    if entry is None:
        return "–"
    mean = el("b", f"{100 * entry.mean:.1f}")
    first_line = el("span", mean, half_width(entry), sign(measured_study, row, column))
    return first_line, el("br"), el("span", _test(measured_study, row, column), class_="fine")


def _test(measured_study: Study, row: str, column: str) -> str:
    """The difference to the row that it is compared with."""
    base = measured_study.base(row)
    c = measured_study.contrast(row, base, column) if base else None
    if c is None or c.difference is None or c.holm is None:
        return ""
    turn = 100 if c.row == row else -100
    low, high = sorted(turn * x for x in c.difference.interval())
    return f"{turn * c.difference.mean:+.1f} ({low:+.1f} to {high:+.1f}), p {c.holm:.3g}"


def _standing(study: Study, c: Contrast) -> dict:
    """The standing of a comparison in the plan of analysis, and whether seeds of it are missing."""
    confirmatory = study.is_confirmatory(c.family, c.column)
    return {"confirmatory": confirmatory, "preliminary": study.preliminary or None}


def contrast_as_json(c: Contrast, *, times: float) -> dict:
    """A comparison as an object; what is not known is null.

    Args:
        times: of the unit of its numbers in a fraction, 100 for percent.
    """

    def scaled(fraction: float | None) -> float | None:
        return None if fraction is None else times * fraction

    pair = {"family": c.family, "row": c.row, "against": c.against, "verdict": c.verdict}
    matters = {"matters": scaled(c.matters), "seeds_needed": c.seeds_needed}
    d = c.difference
    if d is None:
        return pair | {"difference": None} | matters
    deviations = {name: scaled(sqrt(variance)) for name, variance in vars(d.variances).items()}
    return pair | {
        "difference": scaled(d.mean),
        "interval": [scaled(end) for end in d.interval()],
        "standard_error": scaled(d.error),
        "freedom": d.freedom,
        "p": d.p,
        "holm_p": c.holm,
        "queries": d.queries,
        "seeds": d.seeds,
        "deviations": deviations,
        "smallest_seen": scaled(c.smallest_seen),
        **matters,
    }
