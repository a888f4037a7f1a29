"""``repro compare``"""

from pathlib import Path

import click

from repro.cli import completion
from repro.cli.options import format_option, selecting_names, selection_of_options, stated_options
from repro.errors import UsageError, check_known, unknown
from repro.manifest.papers import papers


@click.command(
    "compare",
    epilog="""\b
Examples:
  repro compare --all                                everything, the counts first
  repro compare PAPER --failing                      what does not pass
  repro compare --measured --format csv              numbers, differences and intervals for other tools
  repro compare my.run PAPER/1/ROW/COLUMN            a run of yours beside the published one and ours
  repro compare my.run --dataset msmarco-passage/dev/small
  repro compare DIR PAPER --table 1                  an encoder of yours, in the columns of a table
  repro compare encoder.yaml PAPER --table 1         the same, with how it reads texts""",
)
@selecting_names
@click.option("--strict", is_flag=True, help="Exit with status 1 when a verdict does not pass.")
@click.option("--failing", is_flag=True, help="Only cells whose verdict does not pass.")
@click.option("--measured", is_flag=True, help="Only cells that the suite measured, or that others ran.")
@click.option(
    "--dataset",
    metavar="ID",
    shell_complete=completion.datasets,
    help="Whose judgements score a run of yours.",
)
@click.option(
    "--measure", "measures", multiple=True, metavar="M", help="With --dataset: this; may be repeated."
)
@format_option("csv", "json", "latex", "markdown")
def command(names, strict, failing, measured, dataset, measures, form, **choices):
    """Judge the selected cells, or all, by what was measured so far; never trains, searches or downloads.

    Tests between rows, and against runs of the same system by others, are computed where the runs are stored
    and the store can be written.

    Names of TREC run files (plain or gzipped) are scored as the selected cells are, and tested against the
    stored runs; a cell that looks deeper than a run goes is refused. An encoder of yours, a folder, a name of
    the hub or a YAML file with its `model` and how it reads texts (query_model, kind, pooling, similarity,
    query_length, passage_length, query_prefix, passage_prefix, separator, precision), goes through the
    suite's own encoding, search and scoring in the columns of one table.
    """
    from repro.cli import yours

    of_papers, others = _parted(names)
    encoders = [name for name in others if yours.is_encoder(name)]
    runs = [name for name in others if name not in encoders]
    if others:
        _refuse_options_of_verdicts(form)
    if dataset or measures:
        return _score_run(others, runs, of_papers, dataset, measures, form)
    if encoders:
        return _score_encoder(others, of_papers, choices, form)
    selection = selection_of_options(of_papers, by_default_all=not runs, **choices)
    if runs:
        return _compare_runs(selection, runs, form == "json")
    return _show_verdicts(selection, form, strict=strict, failing=failing, measured=measured)


def _refuse_options_of_verdicts(form: str) -> None:
    options = stated_options("strict", "failing", "measured") + [f"--format {form}"] * (
        form not in ("terminal", "json")
    )
    for option in options:
        raise UsageError(f"{option} is for verdicts; what is yours gets none, leave {option} out")


def _parted(names) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of papers, tables and cells, and those of files and folders."""
    of_papers = tuple(name for name in names if name.partition("/")[0] in papers())
    others = [name for name in names if name not in of_papers]
    unknown_names = [n for n in others if not ("/" in n or "." in n or Path(n).exists())]
    check_known("paper", *unknown_names, valid=papers())
    return of_papers, others


def _score_run(others, runs, of_papers, dataset, measures, form: str) -> None:
    from repro.cli import yours

    if not dataset:
        raise UsageError("--measure is of --dataset; name the one whose judgements score a run of yours")
    if of_papers or len(runs) != 1 or others != runs:
        raise UsageError("--dataset scores one run by its judgements: give a run and no paper beside it")
    selecting = ("tables", "rows", "everything", "scale_name", "seeds", "readings")
    for option in stated_options(*selecting):
        raise UsageError(f"a run is scored by --dataset and --measure alone; leave {option} out")
    yours.score_run(runs[0], dataset, measures, as_json=form == "json")


def _score_encoder(encoders, of_papers, choices: dict, form: str) -> None:
    from repro.cli import yours

    places = [f"{name}/{table}" for name in of_papers for table in choices["tables"]] or of_papers
    rows = choices["rows"]
    remedy = "one encoder is scored in the columns of one table: name both, as DIR PAPER --table 1"
    if not of_papers and not Path(encoders[0]).exists():
        raise unknown("paper", encoders[0].partition("/")[0], papers(), hint=remedy)
    if len(encoders) != 1 or len(places) != 1 or places[0].count("/") != 1 or len(rows) > 1:
        raise UsageError(remedy)
    for option in stated_options("seeds", "readings", "everything"):
        raise UsageError(f"{option} is of what the suite measures; leave it out")
    row = rows[0] if rows else None
    yours.score_encoder(encoders[0], places[0], row, choices["scale_name"], as_json=form == "json")


def _show_verdicts(selection, form: str, *, strict: bool, failing: bool, measured: bool) -> int:
    from repro.api.comparisons import compare_selection
    from repro.cli import verdicts
    from repro.progress import TerminalProgress

    cells = compare_selection(selection, progress=TerminalProgress())
    matches = [c for c in cells if _is_chosen(c, failing=failing, measured=measured)]
    workspace, values = selection.workspace, {"chosen": matches, "summary_first": True}
    verdicts.show(cells.comparison, cells.plan, workspace.store, form, results=workspace.results, **values)
    if form == "terminal":
        _print_settings(selection)
    return verdicts.status(cells.comparison, strict=strict, outcome=None)


def _print_settings(selection) -> None:
    from repro.cli.printing import say
    from repro.cli.row_settings import of_whole_papers

    for sentence in of_whole_papers(selection.cells):
        say(sentence)


def _is_chosen(c, *, failing: bool, measured: bool) -> bool:
    from repro.judging.verdict import FAILS

    if failing and c.verdict.name not in FAILS:
        return False
    return not measured or c.measured is not None or bool(c.imported)


def _compare_runs(selection, runs: list[str], as_json: bool) -> None:
    from repro.cli.printing import emit_json, table
    from repro.exchange.user_runs import user_runs

    for run in runs:
        if not Path(run).is_file():
            raise UsageError(f"there is no file {run!r}, and no paper of that name ({', '.join(papers())})")
    scored_runs = user_runs([Path(run) for run in runs], selection.plan(), selection.workspace.store)
    if as_json:
        return emit_json([run.as_json() for run in scored_runs])
    head = ["cell", "run", "published", "yours", "ours", "difference [95 %]", "t p", "permutation p", "d_z"]
    head += ["won/tied/lost", "RMSE", "tau", "RBO"]
    rows = [
        [run.cell.id, run.path.name, "" if run.differing else run.cell.printed.plain, *_numbers(run)]
        for run in scored_runs
    ]
    table(f"runs given (scale {selection.scale})", head, rows, right=range(2, len(head)))
    for run in scored_runs:
        _print_sentences(run)


def _print_sentences(run) -> None:
    from repro.cli.printing import say

    if run.among_others:
        say(f"{run.cell.id}, {run.path.name}: {run.among_others}")
    for sentence in run.differing:
        say(f"{run.cell.id}, {run.path.name}: not compared with what is published, as {sentence}")
    for sentence in _notices(run):
        say(sentence)


def _notices(run) -> list[str]:
    scores, notices = run.scores, []
    if scores.missing or scores.ignored:
        sentence = f"{len(scores.missing)} of {len(scores.queries)} judged queries are missing and count as 0"
        notices.append(f"{run.path}: {sentence}; {scores.ignored} others are not judged")
    if run.pair is None:
        remedy = f"`repro run {run.cell.id} --scale {run.scale}` makes it"
        notices.append(f"{run.cell.id}: no run of ours is stored; {remedy}")
    return notices


def _numbers(run) -> list[str]:
    from repro.report.grid import rounded

    pair, value = run.pair, rounded(run.value, run.cell)
    if pair is None:
        return [value, *[""] * 9]
    low, high = pair["interval"] or (None, None)
    interval = f"{pair['difference']:+.4f}" + ("" if low is None else f" [{low:+.4f}, {high:+.4f}]")
    outcomes = "/".join(str(pair[key]) for key in ("wins", "ties", "losses"))
    numbers = [_number(pair[key]) for key in ("p", "permutation_p", "effect_size")]
    similarities = [_number(pair[key]) for key in ("rmse", "kendall_union", "rank_biased_overlap")]
    return [value, rounded(pair["value"], run.cell), interval, *numbers, outcomes, *similarities]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
