"""``repro compare``"""

import sys
from pathlib import Path

import click

from repro.cli.options import selecting_everything
from repro.errors import UsageError
from repro.manifest.papers import papers


class _TakingRuns(click.Command):
    """Names that are no papers are run files: the arguments are parted before the selection is made."""

    def parse_args(self, ctx, args):
        rest = super().parse_args(ctx, args)
        names = ctx.params["names"]
        paths = (n for n in names if n not in papers() and ("/" in n or "." in n or Path(n).exists()))
        ctx.params["runs"] = runs = tuple(paths)
        ctx.params["names"] = tuple(name for name in names if name not in runs)
        if runs and not any(ctx.params[key] for key in ("names", "cells", "everything")):
            named = f"name a paper ({', '.join(papers())}), a --cell, or --all"
            raise UsageError(f"{named}, to compare the run with")
        return rest


@click.command(
    "compare",
    cls=_TakingRuns,
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
        refused = {"--strict": strict, "--failing": failing, "--measured": measured, "--csv": as_csv}
        return _runs(selection, runs, [option for option, given in refused.items() if given], as_json)
    compared = compare_selection(selection, progress=TerminalProgress())
    chosen = [c for c in compared if _is_chosen(c, failing=failing, measured=measured)]
    if as_csv:
        _print_csv(chosen)
    else:
        workspace = selection.workspace
        shown = {"as_json": as_json, "chosen": chosen, "summary_first": True, "results": workspace.results}
        verdicts.show(compared.comparison, compared.plan, workspace.store, **shown)
        if not as_json:
            _settings(selection)
    return verdicts.status(compared.comparison, strict=strict, outcome=None)


def _settings(selection) -> None:
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


def _runs(selection, runs: tuple[str, ...], refused: list[str], as_json: bool) -> None:
    from repro.cli.printing import emit_json, table
    from repro.exchange.user_runs import user_runs

    if refused:
        raise UsageError(f"{refused[0]} is for verdicts; a run of yours gets none, leave {refused[0]} out")
    for run in runs:
        if not Path(run).is_file():
            raise UsageError(f"there is no file {run!r}, and no paper of that name ({', '.join(papers())})")
    compared = user_runs([Path(run) for run in runs], selection.plan(), selection.workspace.store)
    if as_json:
        return emit_json([run.as_json() for run in compared])
    head = ["cell", "run", "published", "yours", "ours", "difference [95 %]", "t p", "permutation p", "d_z"]
    head += ["won/tied/lost", "RMSE", "tau", "RBO"]
    rows = [[g.cell.id, g.path.name, g.cell.printed.plain, *_numbers(g)] for g in compared]
    table(f"runs given (scale {selection.scale})", head, rows, right=range(2, len(head)))
    for g in compared:
        _print_sentences(g)


def _print_sentences(scored) -> None:
    if scored.among_reports:
        print(f"{scored.cell.id}, {scored.path.name}: {scored.among_reports}")
    for sentence in _notices(scored):
        print(sentence, file=sys.stderr)


def _notices(scored) -> list[str]:
    scores, notices = scored.scores, []
    if scores.missing or scores.ignored:
        missing = f"{len(scores.missing)} of {len(scores.queries)} judged queries are missing and count as 0"
        notices.append(f"{scored.path}: {missing}; {scores.ignored} others are not judged")
    if scored.pair is None:
        make = f"`repro run --cell {scored.cell.id} --scale {scored.scale}` makes it"
        notices.append(f"{scored.cell.id}: no run of ours is stored; {make}")
    return notices


def _numbers(scored) -> list[str]:
    from repro.report.grid import rounded

    pair, own = scored.pair, rounded(scored.value, scored.cell)
    if pair is None:
        return [own, *[""] * 9]
    low, high = pair["interval"] or (None, None)
    interval = f"{pair['difference']:+.4f}" + ("" if low is None else f" [{low:+.4f}, {high:+.4f}]")
    outcomes = "/".join(str(pair[key]) for key in ("wins", "ties", "losses"))
    numbers = [_number(pair[key]) for key in ("p", "permutation_p", "effect_size")]
    alike = [_number(pair[key]) for key in ("rmse", "kendall_union", "rank_biased_overlap")]
    return [own, rounded(pair["value"], scored.cell), interval, *numbers, outcomes, *alike]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
