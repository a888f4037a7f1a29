"""``repro compare`` with the user's rows, and ``repro doctor smoke`` with an encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repro.cli import completion
from repro.cli.options import ROW, TABLE, format_option, selecting_names, selection_of_options, stated_options
from repro.cli.printing import emit_csv, emit_json, say, show, table
from repro.cli.verbs.compare import command as plain_compare
from repro.cli.verbs.compare import show_verdicts, verdict_options
from repro.cli.verbs.doctor import SCALE, bm25_cells, in_empty_workspace, run_rows
from repro.cli.verbs.doctor import smoke as plain_smoke
from repro.errors import UsageError, check_known, unknown
from repro.graph import grouped
from repro.manifest.papers import papers
from repro.progress import TerminalProgress
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.verdicts.summary import cut_measures
from repro.writers.grid import compared_grid, rounded

if TYPE_CHECKING:  # they need the extra "score"
    from repro.exchange.run_import import Importer
    from repro.manifest.cells import Cell
    from repro.plugins.yours.compared_with_yours import ComparedWithYours
    from repro.plugins.yours.table import OwnRow, OwnTable
    from repro.verdicts.compared import ComparedCell

YOURS = """
Your run files and encoders become rows of the named table. They are scored in every column that they
cover, and tested against every row with a stored or public run. A run file has the format of TREC, MS
MARCO, ranx or BEIR, plain or gzipped. An encoder is a folder, a name on the hub, or a YAML file with
`model` and its settings. Without a paper, they are scored on a dataset, and runs also by your own
judgements. A run may come from a pipe, e.g. `-`.
"""
LEFT = ("column", "row", "against", "by")
ALIKE = {"RMSE": "rmse", "tau": "kendall_union", "RBO": "rank_biased_overlap"}
TESTS = "Paired tests per query. Difference = yours − theirs (Holm-corrected per row and column)"


@click.command(
    "compare",
    help=cleandoc(plain_compare.help or "") + "\n" + YOURS,
    epilog=f"""{plain_compare.epilog}
  repro compare my.run PAPER --table 1               your run as a row, tested against all rows
  repro compare my.run PAPER/1/ROW/COLUMN            against one row
  repro compare DIR PAPER --table 1 --format latex   your encoder, for your paper
  repro compare a.run b.run --dataset msmarco-passage/dev/small --measure AP --measure RR@10
  repro compare DIR bm25.run --dataset beir/scifact/test      your encoder against a run
  repro compare my.run --qrels my.qrels --measure nDCG@10 --per-query""",
)
@selecting_names
@verdict_options
@click.option(
    "--dataset",
    metavar="ID",
    shell_complete=completion.datasets,
    help="Dataset to score your rows on. The default in a table: all datasets with the run's queries.",
)
@click.option("--qrels", metavar="FILE", help="Your own judgements, in TREC's or BEIR's form.")
@click.option(
    "--measure", "measures", multiple=True, metavar="M", help="Measure if no table is named, e.g. nDCG@10."
)
@click.option(
    "--per-query", is_flag=True, help="Print the scores of every query, of your rows and their rivals."
)
@click.option("--record", is_flag=True, help="Import your run as a run by others of the named row.")
@format_option("csv", "json", "latex", "markdown")
def command(names, strict, failing, measured, form, record, per_query, dataset, qrels, measures, **choices):
    of_papers, yours = _parted(names, dataset)
    options = {"dataset": dataset, "qrels": qrels, "measures": measures}
    if not yours:
        for name in stated_options(*options, "per_query", "record"):
            raise UsageError(f"{name} needs a run or an encoder of yours, e.g. my.run. Name one.")
        selection = selection_of_options(of_papers, by_default_all=True, **choices)
        return show_verdicts(selection, form, strict=strict, failing=failing, measured=measured)
    _refuse("is for verdicts, which your rows do not have", "strict", "failing", "measured")
    compared = _compare_yours(yours, of_papers, choices, options)
    if record:
        from repro.exchange.run_import import Importer

        importer = Importer(Workspace.open(), TerminalProgress())
        for label, new, count in record_runs(compared.yours, importer):
            say(f"{label}: {new} new records, {count} in all")
    show_yours(compared, form, per_query=per_query)
    return compared.status


def _parted(names, dataset: str | None) -> tuple[tuple[str, ...], list[str]]:
    of_papers = tuple(filter(_is_of_paper, names))
    others = [name for name in names if name not in of_papers]
    absent = [name for name in others if name != "-" and not Path(name).exists()]
    check_known("paper", *(name for name in absent if not {"/", "."} & set(name)), valid=papers())
    if not (of_papers or dataset) and absent and _is_encoder(absent[0]):
        remedy = "An encoder needs a table or a dataset, e.g. --dataset beir/scifact/test."
        raise unknown("paper", absent[0].partition("/")[0], papers(), hint=remedy)
    return of_papers, others


def _is_of_paper(name: str) -> bool:
    paper, _, table = name.partition("/")
    return paper in papers() and not (table and Path(name).is_file())


def _is_encoder(name: str) -> bool:
    from repro.plugins.yours.runs import is_encoder

    return is_encoder(name)


def _compare_yours(yours: list[str], of_papers, choices: dict, options: dict):
    progress = TerminalProgress()
    scale(choices["scale_name"]).pin_kernels(progress)  # before numpy loads
    from repro.plugins.yours.compared_with_yours import compare, compare_with_yours

    if not (of_papers or choices["everything"] or choices["tables"] or choices["rows"]):
        _refuse("needs a paper's table", "scale_name", "seeds", "readings")
        return compare(yours=yours, progress=progress, **options)
    _refuse("cannot be combined with a paper's table", "qrels", "measures")
    selection = selection_of_options(of_papers, by_default_all=False, **choices)
    return compare_with_yours(selection, yours, options["dataset"], progress)


def _refuse(why: str, *names: str) -> None:
    for option in stated_options(*names):
        raise UsageError(f"{option} {why}. Remove {option}.")


@click.command(
    "smoke",
    help=plain_smoke.help,
    epilog=f"""{plain_smoke.epilog}
  repro doctor smoke DIR                   encode, search and score with your encoder""",
)
@click.argument("names", metavar="[PAPER|ENCODER]...", nargs=-1, shell_complete=completion.names)
@TABLE
@ROW
def smoke(names, tables, rows):
    encoder, others = _encoder_among(names, tables, rows)
    if encoder:
        return in_empty_workspace(lambda workspace: (_score_encoder(encoder, others, tables, workspace), 0))
    return in_empty_workspace(lambda workspace: run_rows(names, tables, rows, workspace))


def _encoder_among(names, tables, rows) -> tuple[str, list[str]]:
    encoders = [name for name in names if name.partition("/")[0] not in papers() and _is_encoder(name)]
    others = [name for name in names if name not in encoders]
    if encoders and (rows or encoders[1:] or (len(others), len(tables)) not in ((0, 0), (1, 1))):
        raise UsageError("an encoder is scored alone or with one PAPER and --table, without --row")
    return "".join(encoders), others


def _score_encoder(model, names, tables, workspace) -> list[str]:
    from repro.plugins.yours.compared_with_yours import compare

    table = f"{names[0]}/{tables[0]}" if names and tables else bm25_cells()[0].id.rsplit("/", 2)[0]
    compared = compare(table, yours=model, scale=SCALE, workspace=workspace, progress=TerminalProgress())
    cells = [(c, c.records[0]) for own in compared.yours for row in own.rows for c in row.cells]
    return [f"scored: {c.cell.id}, {r.measure} {rounded(r.measured, c.cell)}" for c, r in cells]


def show_yours(compared: ComparedWithYours, form: str, *, per_query: bool) -> None:
    """Print the tables with the user's rows, or with ``per_query`` only the scores of each query."""
    from repro.plugins.yours.table import as_json, lines

    emit = emit_json if form == "json" else emit_csv
    if per_query:
        emit(list(compared.scores_by_query()))
    elif form in ("json", "csv"):
        emit(list(chain.from_iterable(map(as_json if form == "json" else lines, compared.yours))))
    elif form == "latex":
        print(compared.to_latex())
    else:
        for own in compared.yours:
            (_print_markdown if form == "markdown" else _show_table)(own)
    said: list[str] = []
    for row in (row for own in compared.yours for row in own.rows):
        said += [*(f"{row.row.label}: {note}" for note in (*row.notes, *row.differing)), *row.left_out]
    said += [sentence for own in compared.yours for sentence in (*own.notes, *own.left_out)]
    for sentence in dict.fromkeys(said):
        say(sentence)


def _print_markdown(own: OwnTable) -> None:
    from repro.writers.markdown import escaped
    from repro.writers.markdown import table as markdown_table
    from repro.writers.table_pages import overview

    page = list(overview(compared_grid(own.comparison.cells), comparison=own.comparison))
    if cuts := cut_measures(own.comparison.cells):
        page.append(f"{escaped(cuts)}.\n")
    if tests := [test for row in own.rows for test in _tests(row, own)]:
        cells = [[escaped(text) for text in test.values()] for test in tests]
        page += [f"{TESTS}:\n", *markdown_table(list(tests[0]), cells)]
    print("\n".join(page))


def _show_table(own: OwnTable) -> None:
    from repro.writers.terminal import compared_table

    show(compared_table(own.comparison, own.comparison.cells))
    if tests := [line for row in own.rows for line in _tests(row, own)]:
        right = [place for place, name in enumerate(tests[0]) if name not in LEFT]
        table(TESTS, list(tests[0]), [list(test.values()) for test in tests], right=right)


def _tests(row: OwnRow, own: OwnTable) -> Iterator[dict[str, str]]:
    letters = compared_grid(own.comparison.cells).letters
    rows = {r.id: r for r in own.comparison.cells[0].cell.table.rows}
    for c in row.cells:
        for test in row.tests.get(c.cell.column.id, []):
            score, digits = rounded(test["value"], c.cell), 2 if c.cell.unit == "percent" else 4
            bounds = " [{:+.{d}f}, {:+.{d}f}]".format(*test["interval"], d=digits) if test["interval"] else ""
            yield {
                "column": c.cell.column.id,
                **({"row": row.row.label} if len(own.rows) > 1 else {}),
                "yours": rounded(c.records[0].measured, c.cell),
                "against": f"{letters[test['over']]} {rows[test['over']].label}",
                "by": test["by"],
                "its score": f"({score})" if test["doubts"] else score,
                "difference [95 %]": f"{test['difference']:+.{digits}f}{bounds}",
                "d_z": _number(test["effect_size"]),
                "t p": _number(test["p"]),
                "t p, Holm": _number(test["holm_student_p"]),
                "permutation p": _number(test["permutation_p"]),
                "permutation p, Holm": _number(test["holm_p"]),
                "won/tied/lost": f"{test['wins']}/{test['ties']}/{test['losses']}",
                **{name: _number(test[key]) for name, key in ALIKE.items() if key in test},
            }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def record_runs(tables: Sequence[OwnTable], importer: Importer) -> Iterator[tuple[str, int, int]]:
    """Record each run. Yield its label, its number of new records and that of all its records.

    Raises UsageError unless all cells are of one row at scale full.
    """
    from repro.exchange.run_import import Origin

    cells = [c for own in tables for c in own.comparison.of_papers]
    if len({(c.cell.paper.name, c.cell.row.id) for c in cells}) != 1 or cells[0].scale != "full":
        raise UsageError("--record needs one row at full scale. Name it, e.g. --row ROW.")
    for row in chain.from_iterable(own.rows for own in tables):
        runs = _cells_by_run(row, cells).items()
        added = [item for run, covered in runs for item in importer.add(run, covered, origin=Origin())]
        yield row.row.label, sum(item.new for item in added), len(added)


def _cells_by_run(row: OwnRow, cells: Sequence[ComparedCell]) -> dict[Path, list[Cell]]:
    scored = [(row.scored.get(c.cell.column.id), c.cell) for c in cells]
    return grouped((each.run, cell) for each, cell in scored if each and each.run and not each.cut_at)
