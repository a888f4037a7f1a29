"""Write the article of the study from its template, article.md, and the measurements.

``python -m papers.head_to_head.article --results results -o docs/explained/head-to-head``
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from papers.head_to_head.pages import page, split
from papers.head_to_head.pictures import NOT_MEASURED, Pictures
from papers.head_to_head.references import OBJECTIVES, References
from papers.head_to_head.typeset import check_packages, pdf
from repro import Workspace, select
from repro.cli.options import seeds_of
from repro.errors import DataError, ReproError
from repro.graph import Node, walk
from repro.machine.versions import contains, last_change
from repro.manifest.papers import paper, papers
from repro.manifest.reading_schema import StudyPointer, study_pointer
from repro.plugins.statements.claims import claims_of
from repro.plugins.studies.contrasts import WITHIN, Contrast, analysis_of
from repro.plugins.studies.studies import study_of
from repro.plugins.studies.study_answers import of_means, primary_column, published_effects, tested_answer
from repro.plugins.studies.words import (
    capitalised,
    join,
    label,
    order,
    shortened_note,
    verdicts_note,
)
from repro.plugins.studies.writing import shown, sign
from repro.retrieval.evaluation.crossed import POWER, Estimate
from repro.running.plan import Plan
from repro.verdicts.compared import ComparedCell
from repro.verdicts.comparison import judged_cells
from repro.verdicts.summary import doubts_in_brief
from repro.version import __version__
from repro.writers.grid import probability
from repro.writers.markdown import code, escaped, sentence
from repro.writers.table_files import table_texts

NAME, FIGURES = "head_to_head", "curves"  # of the study, and the scale of its figures
FOLDER = Path(__file__).resolve().parent
AS_STATED = {True: ", as in the paper", False: ", contrary to the paper", None: ""}
PRIMARY = "dev.rr10"


class Article:
    """The values in the article's template: results at one scale, and figures at scale ``curves``.

    Attributes:
        tables, figures: the tables and figures of the manifest, by id.
        cells, points: ``table/row/column`` -> the compared cell of a table, or point of a figure. Records of
            earlier recipes are left out.
        outdated: the number of cells of tables with records of earlier recipes only.
        plan: the plan of the tables.
        studies: table -> its means and comparisons.
        explained: the first table with comparisons. Its notes are printed in full, later ones refer to them.
    """

    def __init__(self, scale: str, seeds: Sequence[int], workspace: Workspace):
        self.source, self.scale, self.workspace = paper(NAME), scale, workspace
        self.seed_numbers, self.seeds = tuple(seeds), ",".join(map(str, seeds))
        self.tables = {table.id: table for table in self.source.manifest.tables}
        self.figures = {figure.id: figure for figure in self.source.manifest.figures}
        self.plan = self._plan(self.tables, scale)
        self.compared = judged_cells(self.plan, workspace.results, workspace.store)
        self.outdated = sum(bool(c.outdated) for c in self.compared.cells)
        self.cells = _current(self.compared.cells)
        of_figures = self._plan([f"figure-{figure}" for figure in self.figures], FIGURES)
        self.points = _current(judged_cells(of_figures, workspace.results, workspace.store).cells)
        self.studies = {
            name: study_of(
                self.plan,
                workspace.store,
                source=self.source,
                table=table,
                cells=self.compared.cells,
                results=workspace.results,
            )
            for name, table in self.tables.items()
        }
        self.explained = next((name for name, study in self.studies.items() if study.contrasts), "")

    def check_measured(self) -> None:
        """Raise DataError unless at least one cell of the tables has a record by the current recipe."""
        if not any(c.records for c in self.cells.values()):
            place = f"at scale {self.scale} with seeds {self.seeds} in {self.workspace.results.root}"
            remedy = f"Run `repro run {NAME} --scale {self.scale}` first, or name another --results folder"
            raise DataError(f"nothing of the study is measured {place}. {remedy}.")

    def _plan(self, owners: Iterable[str], scale: str) -> Plan:
        names = [f"{NAME}/{owner}" for owner in owners]
        return select(*names, scale=scale, seeds=self.seed_numbers, workspace=self.workspace).plan()

    def stages(self, row: str, stage: str = "") -> list[Node]:
        """Return the nodes behind a row, e.g. ``1/bert``, in its first column and seed, or only those of
        ``stage``."""
        measurements = (m for m in self.plan.measurements if m.cell.id.startswith(f"{NAME}/{row}/"))
        return [node for node in walk(next(measurements).parts) if stage in ("", node.stage)]

    def flops(self, row: str) -> float | None:
        """Return the FLOPs of the pre-training of a row itself, e.g. ``1/costa``, or None if they are
        unknown."""
        table, _, name = row.partition("/")
        cost = self.studies[table].costs.get(name)
        return cost.flops if cost else None

    def value(self, place: str) -> str:
        """Return the mean over seeds of a cell or point, e.g. "35.2", or NOT_MEASURED. It is in brackets if
        it has a kind of doubt that not all measured cells have."""
        c = self.cells.get(place) or self.points[place]
        if c.measured is None:
            return NOT_MEASURED
        study = self.studies.get(c.cell.table.id)
        entry = study and study.entries.get((c.cell.row.id, c.cell.column.id))
        text = f"{100 * entry.mean if entry else c.measured:.1f}"
        return f"({text})" if {doubt.kind for doubt in c.doubts} - self._doubts_of_all else text

    @cached_property
    def _doubts_of_all(self) -> set[str]:
        measured = [c for c in (*self.cells.values(), *self.points.values()) if c.measured is not None]
        return (
            set.intersection(*({doubt.kind for doubt in c.doubts} for c in measured)) if measured else set()
        )

    def score(self, table: str, row: str) -> str:
        """Return a row's mean in the primary column with its interval and sign, e.g. "35.2 ± 1.4 ▲", or its
        ``value`` if the study has no interval for it."""
        study = self.studies[table]
        known = (row, PRIMARY) in study.entries
        return shown(study, row, PRIMARY) if known else self.value(f"{table}/{row}/{PRIMARY}")

    def span(self, table: str, *rows: str, last: bool = False) -> str:
        """Return the range of the means of rows in the primary column, e.g. "31.0 to 35.2", or with ``last``
        only the highest mean."""
        cells = (self.cells[f"{table}/{row}/{PRIMARY}"] for row in rows)
        means = sorted(c.measured for c in cells if c.measured is not None)
        texts = [f"{mean:.1f}" for mean in means[-1 if last else 0 :]]
        return " to ".join(dict.fromkeys((texts[0], texts[-1]))) if texts else NOT_MEASURED

    def queries(self, place: str) -> str:
        """Return the number of queries that a cell is measured on, e.g. "6,980". Differing numbers are joined
        by "or"."""
        counts = {record.queries for record in self.cells[place].records}
        return " or ".join(f"{count:,}" for count in sorted(counts)) or NOT_MEASURED

    def planned(self, row: str, stage: str, parameter: str, number: int = -1) -> str:
        """Return a parameter of a row's last ``stage``, e.g. ``options.temperature``. ``number`` selects
        another node of this stage by its index."""
        params = self.stages(row, stage)[number].params
        value = reduce(lambda part, key: part[key], parameter.split("."), params)
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"

    def tokens(self, row: str) -> str:
        """Return the number of tokens that fit into all steps of a row's last pre-training, e.g. "2.0
        million"."""
        params = self.stages(row, "pretrain")[-1].params
        return f"{params['max_steps'] * params['texts_per_batch'] * params['length'] / 1e6:.1f} million"

    def precedence(self) -> str:
        """Return sentences on the last change of the plan of analysis and on the records that it precedes."""
        change = last_change(FOLDER / "analysis.yaml")
        if change is None:
            return "The analysis plan has no commit yet, so no record can be shown to be newer."
        records = (record for c in self.cells.values() for record in c.records)
        commits = [(r.environment.get("commit") or "").partition("-") for r in records]
        digits = {commit for commit, *_ in commits if commit}
        with_plan = {commit for commit in digits if contains(FOLDER, commit, change[0])}
        count, changed = sum(c in with_plan for c, *_ in commits), sum(bool(tail) for *_, tail in commits)
        text = f"The plan was last changed in commit `{change[0][:10]}` of {change[1]}"
        if not commits:
            return f"{text}; nothing is measured yet."
        who = (
            ", and every record is of a commit that contains it"
            if count == len(commits)
            else f"; {count} of {len(commits)} records are of a commit that contains it"
        )
        note = f" {changed} of them were made with changes that were not committed." if changed else ""
        return f"{text}{who}.{note}"

    def verdicts(self, table: str) -> str:
        """Return a Markdown list of the verdicts of a table, one item per column, and the note that explains
        them."""
        study = self.studies[table]
        if not study.contrasts:
            return f"Differences of Table {table}: {NOT_MEASURED}."
        note = verdicts_note(study)
        note = note if table == self.explained else shortened_note(note, study, explained=self.explained)
        return _marked(
            "\n".join([*(f"* {order(study, column)}" for column in study.table.columns), "", note])
        )

    def _contrasts(self, table: str, against: str) -> list[tuple[str, Contrast]]:
        found = ((row, self.studies[table].contrast(row, against, PRIMARY)) for row in OBJECTIVES)
        return [(row, c) for row, c in found if c and c.difference]

    def above(self, table: str, against: str) -> str:
        """Name the papers' objectives that have the verdict "above" against a row in the primary column, or
        return "none"."""
        study, found = self.studies[table], self._contrasts(table, against)
        rows = [row for row, _ in found if study.verdict(row, against, PRIMARY).endswith("above")]
        return join([label(study, row) for row in rows]) if rows else "none" if found else NOT_MEASURED

    def beaten(self, table: str) -> str:
        """Name the pre-trained rows that have the verdict "below" against random weights in the primary
        column, or return "none" or "every pre-training"."""
        study = self.studies[table]
        below = study.to_floor(PRIMARY, "below")
        if study.standing and below == list(study.standing[PRIMARY]):
            return "every pre-training"
        return (
            join([label(study, row) for row in below]) if below else "none" if study.entries else NOT_MEASURED
        )

    def unseen(self, table: str, against: str) -> str:
        """Return the range of the smallest detectable differences between each objective and a row in points,
        e.g. "0.8 to 1.2"."""
        least = sorted(100 * (c.smallest_seen or 0) for _, c in self._contrasts(table, against))
        return " to ".join(f"{x:.1f}" for x in (least[0], least[-1])) if least else NOT_MEASURED

    def pairs(self, table: str, verdict: str = "") -> int:
        """Return the number of a table's comparisons in the primary column: all of them, or those with one
        ``verdict``."""
        return sum(c.column == PRIMARY and verdict in ("", c.verdict) for c in self.studies[table].contrasts)

    def gap(self, table: str, row: str, against: str, digits: int = 1) -> str:
        """Return the difference of two rows in points of the primary column with its interval, e.g. "+2.3
        (+0.9 to +3.7)"."""
        c = self.studies[table].contrast(row, against, PRIMARY)
        return _interval(c.difference, digits) if c and c.difference else NOT_MEASURED

    def lead(self, table: str, row: str, against: str) -> str:
        """Return the difference of ``row`` from ``against``, its corrected p and its sign, e.g. "+2.3
        (0.0267) ▲"."""
        c = self.studies[table].contrast(row, against, PRIMARY)
        if c is None or c.difference is None or c.holm is None:
            return NOT_MEASURED
        return (
            f"{100 * c.difference.mean:+.1f} ({probability(c.holm)}){sign(self.studies[table], row, PRIMARY)}"
        )

    def comparison(self, table: str, row: str, against: str) -> str:
        """Return a comparison in the primary column as Markdown cells: difference with interval, corrected p,
        smallest detectable difference, verdict and published difference."""
        c = self.studies[table].contrast(row, against, PRIMARY)
        published = published_effects(self.source).get((table, row, against))
        claim = "–" if published is None else f"{published:+.1f}"
        if c is None or c.difference is None or c.holm is None:
            return f"{NOT_MEASURED} | – | – | – | {claim}"
        seen = f"{100 * (c.smallest_seen or 0):.1f}"
        return f"{_interval(c.difference)} | {probability(c.holm)} | {seen} | {c.verdict_in_words} | {claim}"

    def table(self, name: str) -> str:
        """Return a table in Markdown as ``repro tables`` writes it, with its comparisons folded. Notes that
        the table ``explained`` has in full are shortened in all other tables."""
        study, head = self.studies[name], f"**Table {name}.** "
        if not study.entries:
            is_measured = any(c.records for c in self.cells.values() if c.cell.table.id == name)
            why = f"Unit: {study.table.unit}" if is_measured else f"This table is {NOT_MEASURED}"
            return f"{head}{sentence(capitalised(study.table.about))}. {why}."
        text = self._table_texts[f"{NAME}-table{name}.md"].partition("\n")[2].strip()
        text = text if name == self.explained else shortened_note(text, study, explained=self.explained)
        scores, _, tail = text.partition("\n## ")
        body = re.sub("^##", "####", f"## {tail}", flags=re.MULTILINE)  # below the sections of the page
        fold = f'<details markdown="1"><summary>Table {name}: every comparison, variances and power</summary>'
        made = f"{head}{capitalised(scores.strip())}\n\n{fold}\n\n{body.strip()}\n\n</details>"
        return _marked(made)

    @cached_property
    def _table_texts(self) -> dict[str, str]:
        store, results, seeds = self.workspace.store, self.workspace.results, self.seed_numbers
        files = table_texts(self.compared, self.plan, store, seeds=seeds, results=results, form="markdown")
        return {file.name: file.text for file in files}

    def makers(self, cells: Mapping[str, ComparedCell]) -> dict[tuple[str, str], list]:
        """Return (commit, machine) -> the records of the cells made there. Both names are Markdown."""
        makers: dict[tuple[str, str], list] = {}
        for record in (record for c in cells.values() for record in c.records):
            digits, dirty, _ = (record.environment.get("commit") or "").partition("-")
            commit = code(f"{digits[:10]}{dirty and '-dirty'}") if digits else "not known"
            makers.setdefault((commit, escaped(record.machine)), []).append(record)
        return makers

    def pointers(self) -> Iterator[tuple[str, StudyPointer]]:
        """Yield each claim and reading that refers to the study, as a sentence with its source, and its
        rows."""
        for source in papers().values():
            claims = [(claim.says, claim) for claim in claims_of(source).values()]
            for words, statement in claims + [(r.paper, r) for r in source.readings.values()]:
                place = f"{sentence(statement.where)}; {code(f'{source.name}/{statement.id}')}"
                pointers = (p for p in map(study_pointer, statement.study) if p.study == NAME)
                yield from ((f"{sentence(capitalised(words))} ({place})", pointer) for pointer in pointers)

    def answer(self, pointer: StudyPointer) -> str:
        """Return a pointer's comparison as Markdown cells: published difference, measured difference with its
        interval, smallest detectable difference and verdict."""
        study = self.studies[pointer.table]
        column = primary_column(self.source, study.table)
        answer = tested_answer(study, pointer, column, scale=self.scale)
        published = published_effects(self.source).get((pointer.table, pointer.row, pointer.other))
        claim = "–" if published is None else f"{published:+.1f}"
        if answer is not None:
            assert answer.low is not None and answer.high is not None, answer
            points = (f"{round(x, 1) + 0:+.1f}" for x in (answer.difference, answer.low, answer.high))
            so = f"{answer.verdict}{AS_STATED[answer.as_stated]}{answer.beside_published}"
            return f"{claim} | {'{} ({} to {})'.format(*points)} | {answer.smallest_seen or 0:.1f} | {so}"
        ours, theirs = (
            {r.seed: r.measured for r in self.cells[f"{pointer.table}/{row}/{column.id}"].records}
            for row in (pointer.row, pointer.other)
        )
        means = of_means(ours, theirs, column, unit=study.table.unit, scale=self.scale)
        if means is None:
            return f"{claim} | – | – | {NOT_MEASURED}"
        return f"{claim} | {round(means.difference, 1) + 0:+.1f}, {means.counted} | – | {means.untested}"


def _marked(text: str) -> str:
    """Wrap a Markdown text in the comments that mark output of `repro tables`."""
    return f"<!-- repro tables: begin -->\n\n{text}\n\n<!-- repro tables: end -->"


def _interval(d: Estimate, digits: int = 1) -> str:
    mean, low, high = (f"{100 * x:+.{digits}f}" for x in (d.mean, *d.interval()))
    return f"{mean} ({low} to {high})"


def _current(compared: Iterable[ComparedCell]) -> dict[str, ComparedCell]:
    cells = ((c.cell.id.partition("/")[2], c) for c in compared)
    return {place: replace(c, records=()) if c.outdated else c for place, c in cells}


def render(article: Article, folder: Path) -> str:
    """Return the article in Markdown. Writes its pictures (SVG) and their numbers (CSV) into the folder."""
    parts = (References(), Pictures(article, folder), article)
    context = {name: getattr(part, name) for part in parts for name in dir(part) if name[0] != "_"}
    words = (capitalised, doubts_in_brief, escaped, label, study_pointer)
    context |= {function.__name__: function for function in words} | {"version": __version__}
    context["papers"] = [papers()[name] for name in sorted(OBJECTIVES)]
    context |= {"analysis": analysis_of(article.source), "objectives": list(OBJECTIVES), "WITHIN": WITHIN}
    context |= {"power": f"{100 * POWER:.0f} %", "published": published_effects(article.source)}
    context["citation"] = yaml.safe_load((FOLDER.parents[1] / "CITATION.cff").read_text(encoding="utf-8"))
    options = f"--scale {article.scale} --seeds {article.seeds} -o FOLDER"
    context["command"] = f"python -m papers.{NAME}.article {options}"
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("article.md").render(context)


def main() -> None:
    """Write the article of the study: Markdown pages, article.html, and each picture with its numbers. Equal
    results give equal bytes."""
    parser = argparse.ArgumentParser(prog=f"python -m papers.{NAME}.article", description=main.__doc__)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder to write into")
    parser.add_argument("--scale", default="small-cpu", help="scale of the tables (default: %(default)s)")
    parser.add_argument("--seeds", help="seeds of the study, e.g. 1,2,3 (default: the planned ones)")
    parser.add_argument(
        "--pdf", action="store_true", help="also write article.pdf (needs the extra `article`)"
    )
    for name in ("store", "results"):
        parser.add_argument(f"--{name}", help=f"folder to use instead of REPRO_{name.upper()}")
    args = parser.parse_args()
    try:
        if args.pdf:
            check_packages()
        seeds = seeds_of(args.seeds) or analysis_of(paper(NAME)).seeds
        article = Article(args.scale, seeds, Workspace.open(args.store, args.results))
        article.check_measured()
        args.out.mkdir(parents=True, exist_ok=True)
        text = render(article, args.out)
        files = {name: part.encode() for name, part in split(text).items()}
        files["article.html"] = page(text, args.out).encode()
        if args.pdf:
            files["article.pdf"] = pdf(text, args.out)
    except ReproError as error:
        print(f"article: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    for name, content in files.items():
        (args.out / name).write_bytes(content)
        print(args.out / name)


if __name__ == "__main__":
    main()
