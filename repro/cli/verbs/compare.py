"""``repro compare``"""

import sys
from pathlib import Path

import click

from repro.cli.options import selecting_everything
from repro.errors import UsageError
from repro.manifest.papers import papers


class _CommandWithRuns(click.Command):
    """Names that are no papers are run files: the arguments are parted before the selection is made."""

    def parse_args(self, ctx, args):
        arguments = super().parse_args(ctx, args)
        names = ctx.params["names"]
        paths = (n for n in names if n not in papers() and ("/" in n or "." in n or Path(n).exists()))
        ctx.params["runs"] = runs = tuple(paths)
        ctx.params["names"] = tuple(name for name in names if name not in runs)
        if runs and not any(ctx.params[key] for key in ("names", "cells", "everything")):
            message = f"name a paper ({', '.join(papers())}), a --cell, or --all"
            raise UsageError(f"{message}, to compare the run with")
        return arguments


@click.command(
    "compare",
    cls=_CommandWithRuns,
    epilog="""\b
Examples:
  repro compare                                      everything, the counts first
  repro compare PAPER --failing                      what does not pass
  repro compare --measured --csv                     numbers, differences and intervals for other tools
  repro compare PAPER --table 3 --strict --json
  repro compare my.run --cell PAPER/1/ROW/COLUMN     a run of yours beside the published one and ours""",
)
@selecting_everything
@click.option("--strict", is_flag=True, help="Exit with status 1 when a verdict does not pass.")
@click.option("--failing", is_flag=True, help="Only cells whose verdict does not pass.")
@click.option("--measured", is_flag=True, help="Only cells that the suite measured, or that others ran.")
@click.option("--csv", "as_csv", is_flag=True, help="A line per cell: numbers, interval, verdict.")
@click.option("--json", "as_json", is_flag=True, help="One object per cell on standard output.")
def command(selection, strict, failing, measured, as_csv, as_json, runs):
    """Judge the selected cells, or all, by what was measured so far; never trains, searches or downloads.

    Tests between rows, and against runs of the same system by others, are computed where the runs are stored
    and the store can be written. Names of TREC run files (plain or gzipped) are scored as the selected cells
    are, and tested against the stored runs; a cell that looks deeper than a run goes is refused.
    """
    from repro.api.comparisons import compare_selection
    from repro.cli import verdicts
    from repro.progress import TerminalProgress

    if as_csv and as_json:
        raise UsageError("--csv and --json are two forms of one output; give one of them")
    if runs:
        options = {"--strict": strict, "--failing": failing, "--measured": measured, "--csv": as_csv}
        return _compare_runs(selection, runs, [option for option, value in options.items() if value], as_json)
    cells = compare_selection(selection, progress=TerminalProgress())
    matches = [c for c in cells if _is_chosen(c, failing=failing, measured=measured)]
    if as_csv:
        _print_csv(matches)
    else:
        workspace = selection.workspace
        values = {"as_json": as_json, "chosen": matches, "summary_first": True, "results": workspace.results}
        verdicts.show(cells.comparison, cells.plan, workspace.store, **values)
        if not as_json:
            _print_settings(selection)
    return verdicts.status(cells.comparison, strict=strict, outcome=None)


def _print_settings(selection) -> None:
    from repro.cli.printing import say
    from repro.cli.row_settings import of_whole_papers

    for sentence in of_whole_papers(selection.cells):
        say(sentence, error=True)


def _is_chosen(c, *, failing: bool, measured: bool) -> bool:
    from repro.judging.verdict import FAILS

    if failing and c.verdict.name not in FAILS:
        return False
    return not measured or c.measured is not None or bool(c.imported)


def _print_csv(cells) -> None:
    import csv

    from repro.judging.plain_values import cell_as_row

    rows = [cell_as_row(c) for c in cells]
    writer = csv.DictWriter(sys.stdout, rows[0] if rows else ["cell"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _compare_runs(selection, runs: tuple[str, ...], options: list[str], as_json: bool) -> None:
    from repro.cli.printing import emit_json, table
    from repro.exchange.user_runs import user_runs

    if options:
        raise UsageError(f"{options[0]} is for verdicts; a run of yours gets none, leave {options[0]} out")
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
    if run.among_reports:
        print(f"{run.cell.id}, {run.path.name}: {run.among_reports}")
    for sentence in run.differing:
        print(f"{run.cell.id}, {run.path.name}: not compared with what is published, as {sentence}")
    for sentence in _notices(run):
        print(sentence, file=sys.stderr)


def _notices(run) -> list[str]:
    scores, notices = run.scores, []
    if scores.missing or scores.ignored:
        sentence = f"{len(scores.missing)} of {len(scores.queries)} judged queries are missing and count as 0"
        notices.append(f"{run.path}: {sentence}; {scores.ignored} others are not judged")
    if run.pair is None:
        remedy = f"`repro run --cell {run.cell.id} --scale {run.scale}` makes it"
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
