"""``repro compare`` with the user's runs and encoders as rows, ``repro doctor smoke`` with an encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repro.cli import completion
from repro.cli.options import (
    format_option,
    selecting_names,
    selection_of_options,
    stated_options,
    table_and_row_options,
)
from repro.cli.printing import emit_csv, emit_json, say, show, table
from repro.cli.verbs.compare import command as plain_compare
from repro.cli.verbs.compare import show_verdicts, verdict_options
from repro.cli.verbs.doctor import SCALE, bm25_cell, run_rows, tell
from repro.cli.verbs.doctor import smoke as plain_smoke
from repro.errors import UsageError, check_known, unknown
from repro.manifest.papers import papers
from repro.store import make_writable

if TYPE_CHECKING:
    from repro.exchange.run_import import Importer
    from repro.plugins.yours.compared_with_yours import ComparedWithYours
    from repro.plugins.yours.table import OwnRow, OwnTable

YOURS = """
Run files (TREC, MS MARCO, or as ranx and BEIR write them; plain or gzipped) and encoders (a folder, a
name of the hub, or a YAML file with `model` and how it reads texts) become rows of the table that is
named: scored in every column that they cover, and tested against every row with a stored or public run.
Without a paper runs are scored by a dataset, or by judgements of your own, and tested among themselves.
"""
LEFT = ("column", "row", "against", "by")  # of the table of tests, whose other columns are numbers
ALIKE = {"RMSE": "rmse", "tau": "kendall_union", "RBO": "rank_biased_overlap"}  # where one row is named
TESTS = "tests over queries: yours less the other (t: paired, two-sided; Holm over a row's tests in a column)"
DROP = ("permutation p, Holm", "permutation p", "by", "won/tied/lost", "t p", "its score", "d_z")


@click.command(
    "compare",
    help=cleandoc(plain_compare.help or "") + "\n" + YOURS,
    epilog=f"""{plain_compare.epilog}
  repro compare my.run PAPER --table 1               a run of yours as a row of a table, tested against all
  repro compare my.run PAPER/1/ROW/COLUMN            against one row
  repro compare DIR PAPER --table 1 --format latex   an encoder of yours, for your paper
  repro compare a.run b.run --dataset msmarco-passage/dev/small --measure AP --measure RR@10
  repro compare my.run --qrels my.qrels --measure nDCG@10 --per-query""",
)
@selecting_names
@verdict_options
@click.option(
    "--dataset",
    metavar="ID",
    shell_complete=completion.datasets,
    help="Whose judgements score a run of yours; found by its queries where a table is named.",
)
@click.option("--qrels", metavar="FILE", help="Judgements of your own, in TREC's or BEIR's form.")
@click.option(
    "--measure", "measures", multiple=True, metavar="M", help="Without a table: this one; may be repeated."
)
@click.option(
    "--per-query", is_flag=True, help="The scores of every query, of yours and of the others' runs."
)
@click.option("--record", is_flag=True, help="Keep a run of yours as somebody's run of the one row named.")
@format_option("csv", "json", "latex", "markdown")
def command(names, strict, failing, measured, form, record, per_query, dataset, qrels, measures, **choices):
    """Judge what is selected or, where runs or encoders are named, compare these with it."""
    of_papers, yours = _parted(names)
    options = {"dataset": dataset, "qrels": qrels, "measures": measures}
    if not yours:
        _refuse_options_of_yours(options | {"per_query": per_query, "record": record})
        selection = selection_of_options(of_papers, by_default_all=True, **choices)
        return show_verdicts(selection, form, strict=strict, failing=failing, measured=measured)
    for option in stated_options("strict", "failing", "measured"):
        raise UsageError(f"{option} is for verdicts; what is yours gets none, leave {option} out")
    compared = _compare_yours(yours, of_papers, choices, options)
    if record:
        _record(compared)

    return show_yours(compared, form, per_query=per_query)


def _refuse_options_of_yours(options: dict) -> None:
    for name in stated_options(*options):
        raise UsageError(f"{name} is for runs and encoders of yours, and none is named; leave {name} out")


def _parted(names) -> tuple[tuple[str, ...], list[str]]:
    of_papers = tuple(
        name
        for name in names
        if name.partition("/")[0] in papers() and not ("/" in name and Path(name).is_file())
    )
    others = [name for name in names if name not in of_papers]
    absent = [name for name in others if not Path(name).exists()]
    check_known("paper", *(name for name in absent if not {"/", "."} & set(name)), valid=papers())
    if not of_papers and absent and _is_encoder(absent[0]):
        remedy = "an encoder is scored in a table: name both, as DIR PAPER --table 1"
        raise unknown("paper", absent[0].partition("/")[0], papers(), hint=remedy)
    return of_papers, others


def _is_encoder(name: str) -> bool:
    from repro.plugins.yours.runs import is_encoder  # needs more packages than a comparison of records

    return is_encoder(name)


def _compare_yours(yours: list[str], of_papers, choices: dict, options: dict):
    from repro.plugins.yours.compared_with_yours import compare, compare_with_yours
    from repro.progress import TerminalProgress

    progress = TerminalProgress()
    if not (of_papers or choices["everything"] or choices["tables"] or choices["rows"]):
        for option in stated_options("scale_name", "seeds", "readings"):
            raise UsageError(f"{option} is of a paper's table, and none is named; leave {option} out")
        return compare(yours=yours, progress=progress, **options)
    for option in stated_options("qrels", "measures"):
        raise UsageError(
            f"{option} is for runs without a paper, whose tables have their own; leave {option} out"
        )
    selection = selection_of_options(of_papers, by_default_all=False, **choices)
    return compare_with_yours(selection, yours, options["dataset"], progress)


def _record(compared) -> None:
    from repro.cli.printing import say
    from repro.exchange.run_import import Importer
    from repro.progress import TerminalProgress
    from repro.running.workspace import Workspace

    for label, new, count in record(compared.yours, Importer(Workspace.open(), TerminalProgress())):
        say(f"{label}: {new} new records, {count} in all")


@click.command(
    "smoke",
    help=plain_smoke.help,
    epilog=f"""{plain_smoke.epilog}
  repro doctor smoke DIR                   an encoder of yours, through encoding, search and scoring""",
)
@click.argument("names", metavar="[PAPER|ENCODER]...", nargs=-1, shell_complete=completion.paper_names)
@table_and_row_options
def smoke(names, tables, rows):
    """Run rows from nothing, or score an encoder of yours."""
    encoder, others = _encoder_among(names, tables, rows)
    if encoder:
        return tell(lambda workspace: (_score_encoder(encoder, others, tables, workspace), 0))
    return tell(lambda workspace: run_rows(names, tables, rows, workspace))


def _encoder_among(names, tables, rows) -> tuple[str, list[str]]:
    """Return the encoder among names, or "", and the others. Raises UsageError if both do not combine."""
    from repro.manifest.papers import papers

    encoders = [name for name in names if name.partition("/")[0] not in papers() and _is_encoder(name)]
    others = [name for name in names if name not in encoders]
    if encoders and (rows or encoders[1:] or (len(others), len(tables)) not in ((0, 0), (1, 1))):
        message = "one encoder is scored, in the columns of one PAPER's --table or of none named; no --row"
        raise UsageError(message)
    return "".join(encoders), others


def _score_encoder(model, names, tables, workspace) -> list[str]:
    """Score an encoder in the columns of a table, the first one without a name."""
    from repro.plugins.yours.compared_with_yours import compare
    from repro.progress import TerminalProgress
    from repro.writers.grid import rounded

    table = f"{names[0]}/{tables[0]}" if names and tables else bm25_cell().id.rsplit("/", 2)[0]
    compared = compare(table, yours=model, scale=SCALE, workspace=workspace, progress=TerminalProgress())
    cells = [c for own in compared.yours for row in own.rows for c in row.cells]
    scores = [(c.cell, c.records[0]) for c in cells]
    return [
        f"scored: {cell.id}, {record.measure} {rounded(record.measured, cell)}" for cell, record in scores
    ]


def show_yours(compared: ComparedWithYours, form: str, *, per_query: bool) -> None:
    """Print tables with rows of one's own, or the scores ``per_query``, as terminal, csv, json, latex or
    markdown."""
    from repro.plugins.yours.table import as_json, lines

    if per_query:
        scores = list(compared.scores_by_query())
        (emit_json if form == "json" else emit_csv)(scores)
    elif form == "json":
        emit_json([line for own in compared.yours for line in as_json(own)])
    elif form == "csv":
        emit_csv([line for own in compared.yours for line in lines(own)])
    elif form == "latex":
        print(compared.to_latex())
    else:
        for own in compared.yours:
            (_print_markdown if form == "markdown" else _show_table)(own)
    said = [s for own in compared.yours for row in own.rows for s in _sentences(row)]
    for sentence in dict.fromkeys([*said, *(s for own in compared.yours for s in own.left_out)]):
        say(sentence)


def _print_markdown(own: OwnTable) -> None:
    from repro.verdicts.summary import cut_measures
    from repro.writers.grid import compared_grid
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
        head = list(tests[0])
        right = [place for place, name in enumerate(head) if name not in LEFT]
        rows = [list(test.values()) for test in tests]
        table(TESTS, head, rows, right=right, drop=[head.index(name) for name in DROP])


def _tests(row: OwnRow, own: OwnTable) -> Iterator[dict[str, str]]:
    """Yield the tests of a row as lines of a table."""
    from repro.writers.grid import compared_grid, rounded

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


def _sentences(row: OwnRow) -> list[str]:
    return [*(f"{row.row.label}: {note}" for note in (*row.notes, *row.differing)), *row.left_out]


def record(tables: Sequence[OwnTable], importer: Importer) -> Iterator[tuple[str, int, int]]:
    """Record each run for the cells that it covers; yield label, new and all. Raises UsageError for several
    rows, or another scale than full."""
    from repro.exchange.run_import import Origin

    cells = [c for own in tables for c in own.of_paper]
    if len({(c.cell.paper.name, c.cell.row.id) for c in cells}) != 1 or cells[0].scale != "full":
        raise UsageError("--record keeps a run of one row at full scale: name that row, as --row ROW")
    make_writable(importer.store.root)
    importer.results.make_writable()
    for row in (row for own in tables for row in own.rows):
        runs = {name: scored.run for name, scored in row.scored.items() if not scored.cut_at}
        new: list[bool] = []
        for run in {path for path in runs.values() if path}:
            covered = [c.cell for c in cells if runs.get(c.cell.column.id) == run]
            new += [item.new for item in importer.add(run, covered, origin=Origin())]
        yield row.row.label, sum(new), len(new)
