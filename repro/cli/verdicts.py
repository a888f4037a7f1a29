"""Print a comparison on the terminal and derive the exit status from it."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from repro.cli.obstacles import blocked_cell_lines, row_of
from repro.cli.printing import say, say_each
from repro.manifest.cells import count_in_words
from repro.running.plan import Plan
from repro.running.records import Recurrence, sentences
from repro.running.runner import Outcome
from repro.store import Store
from repro.store.results import Record, Results
from repro.verdicts.compared import ComparedCell, Comparison, PairedTest
from repro.verdicts.summary import Summary, conditions, first_of, published, summarise
from repro.verdicts.verdict import FAILS


def show_exhibits(plan: Plan, outcome: Outcome) -> None:
    """Print on standard error whether each exhibit (a drawing, not a table) is ready, blocked or failed."""
    for exhibit, node in plan.exhibits.items():
        if node.fingerprint in outcome.failed:
            state = f"failed: {outcome.failed[node.fingerprint]}"
        elif outcome.blocked.get(node.fingerprint):
            obstacle = outcome.blocked[node.fingerprint][0]
            state = f"blocked: {obstacle.cause}; {obstacle.remedy}"
        else:
            words = (
                f"repro report figures {exhibit.paper.name} --table {exhibit.owner} --scale {plan.scale.name}"
            )
            state = f"ready: `{words}` draws it"
        say(f"{state} [{exhibit.id}]")


INTERVALS = (
    "{inside} of {intervals} published means lie inside our 95 % interval over queries (Student's t): "
    "outside is strong evidence of another system, inside is no proof of the same, "
    "and neither tells how trainings vary"
)
FEW_OBSTACLES = 4  # sentences
LETTERS = (
    "letters are rows beaten by the runs of one seed: ranx's two-sided paired t-test, p <= 0.05 "
    "after Holm's correction over the tests of each row"
)
NOTES = (
    "reported elsewhere: of several values the closest in kind (~ where something else differs, "
    "? where only the name matches); it decides no verdict, and `repro show others` has the place of each"
)


def show(
    comparison: Comparison,
    plan: Plan,
    store: Store,
    form: str,
    *,
    chosen: Sequence[ComparedCell] | None = None,
    summary_first: bool = False,
    results: Results | None = None,
    **options,
) -> None:
    """Print the comparison as JSON or CSV of its cells, or as the paper's tables with a summary.

    Args:
        plan: looked up in the store, which may contain artefacts of other code.
        form: ``terminal``, ``csv``, ``json``, ``latex`` or ``markdown``.
        chosen: the cells to show, all by default. The summary always covers all cells.
        summary_first: print the summary above the tables instead of below.
        results: its scores of studies are used if the store lacks them.
        options: for LaTeX and Markdown, passed to ``table_texts``.
    """
    from repro.cli.printing import emit_csv, emit_json
    from repro.verdicts.plain_values import cell_as_row

    cells = comparison.cells if chosen is None else chosen
    say_each(comparison.faults)
    if form in ("latex", "markdown"):
        compared = replace(comparison, cells=list(cells))
        return _print_texts(compared, plan, store, results=results, form=form, **options)
    if form == "csv":
        return emit_csv([cell_as_row(c) for c in cells], head=["cell"])
    if form == "json":
        ids = {c.cell.id for c in cells}
        objects = _cells_with_facts(comparison, plan, store, results)
        return emit_json([cell for cell in objects if cell["id"] in ids])
    if summary_first:
        _show_summary(comparison, plan, results)
    show_cells(comparison, cells)
    show_paired(comparison, cells)
    if not summary_first:
        _show_summary(comparison, plan, results)
    for line in notices(comparison, cells, brief=summary_first):
        say(line)
    if comparison.origins and comparison.origins.sentence:
        say(comparison.origins.sentence)


def _cells_with_facts(
    comparison: Comparison, plan: Plan, store: Store, results: Results | None
) -> list[dict]:
    from repro.verdicts.plain_values import cells_as_json
    from repro.writers.table_files import writer_of

    facts: dict[str, dict] = {}
    for first, *_ in comparison.by_table().values():
        source, table = first.cell.paper, first.cell.table
        if writer := writer_of(table):
            facts |= writer.facts(source, table, plan, store, results)
    return [cell | facts.get(cell["id"], {}) for cell in cells_as_json(comparison)]


def _print_texts(comparison: Comparison, plan: Plan, store: Store, **options) -> None:
    from repro.writers.table_files import table_texts

    print("\n".join(file.text for file in table_texts(comparison, plan, store, **options)), end="")


def _show_summary(comparison: Comparison, plan: Plan, results: Results | None) -> None:
    from repro.cli.plan_summary import refused_cell_lines

    for line in [*summary(comparison, results), *(f"{line}." for line in refused_cell_lines(plan))]:
        say(line)


def show_paired(comparison: Comparison, cells: Sequence[ComparedCell]) -> None:
    """Print paired tests of our runs against runs by others of the same systems, if there are any."""
    from repro.cli.printing import table

    rows = [_paired_line(c.cell.id, test) for c in cells for test in comparison.paired.get(c.cell.id, ())]
    head = ["cell", "run by others", "difference [95 %]", "t p (ranx)", "p (Holm)", "permutation p", "d_z"]
    if rows:
        title = "our run of one seed less the same system's run by others, over queries (fractions)"
        table(title, [*head, "won/tied/lost"], rows, right=range(2, len(head) + 1))


def _paired_line(cell: str, test: PairedTest) -> list[str]:
    low, high = test.interval or (None, None)
    difference = f"{test.difference:+.4f}" + ("" if low is None else f" [{low:+.4f}, {high:+.4f}]")
    numbers = (test.p, test.holm_p, test.permutation_p, test.effect_size)
    values = ["–" if value is None else f"{value:.4g}" for value in numbers]
    return [cell, test.over, difference, *values, f"{test.wins}/{test.ties}/{test.losses}"]


def show_recorded(comparison: Comparison) -> None:
    """Print, per table, the rows with a measured or imported result, if there are any."""
    rows = {row_of(c) for c in comparison.cells if c.measured is not None or c.imported}
    if cells := [c for c in comparison.cells if row_of(c) in rows]:
        show_cells(comparison, cells)


def show_cells(comparison: Comparison, cells: Sequence[ComparedCell]) -> None:
    """Print one table per paper table that has a result, a failed or blocked cell, or a note."""
    from repro.cli.printing import show as print_laid_out
    from repro.writers.terminal import compared_table

    for table_cells in Comparison(list(cells)).by_table().values():
        if any(map(_is_worth_showing, table_cells)):
            print_laid_out(compared_table(comparison, table_cells))


def _is_worth_showing(c: ComparedCell) -> bool:
    has_result = c.measured is not None or c.verdict.name in ("failed", "blocked")
    return has_result or bool(c.notes_at_full)


def show_recurrences(recurrences: Sequence[Recurrence]) -> None:
    """Print how many numbers were reproduced as recorded, which were not, and possible causes."""
    for sentence in sentences(recurrences):
        say(f"{sentence}.")


def summary(comparison: Comparison, results: Results | None = None) -> list[str]:
    """Return lines with counts of measurements, verdicts and runs by others, and explanations of symbols.

    ``results`` adds the number of values that the release already contains.
    """
    if not comparison.cells:
        return ["what is selected holds no number to compare."]
    counts = summarise(comparison.cells)
    lines = [_measured_line(comparison, counts) + _released_clause(comparison, counts, results)]
    lines.append(", ".join(f"{number} {name}" for name, number in counts.verdicts.items()))
    if counts.imported:
        scores = _count(counts.imported_runs, "distinct score")
        lines.append(f"runs by others of {_count(counts.imported, 'cell')} ({scores}) count in none of these")
    if how := conditions(comparison.cells):
        lines.append(how)
    if counts.intervals:
        lines.append(INTERVALS.format(**asdict(counts)))
    if comparison.tests:
        lines.append(LETTERS)
    if any(c.notes_at_full for c in comparison.cells):
        lines.append(NOTES)
    return [f"{line}." for line in lines]


def _measured_line(comparison: Comparison, counts: Summary) -> str:
    number = _count(counts.measurements, "distinct measurement")
    if {c.scale for c in comparison.cells} - {"full"}:
        judgement = "not compared with the published numbers"
    else:
        judgement = f"{counts.passing} pass, {counts.failing} fail, {counts.neither} neither"
    return f"{counts.words}: {number}, {judgement}"


def _released_clause(comparison: Comparison, counts: Summary, results: Results | None) -> str:
    """Return how many of the counted numbers are records of the release, or "" if none is."""
    if results is None or results.release is None:
        return ""
    release = Results(results.release)
    records: dict[tuple[str, str], list[Record]] = {}
    for scale, name in {(c.scale, c.cell.paper.name): None for c in comparison.cells}:
        for record in release.read(scale, name):
            records.setdefault((scale, record.cell), []).append(record)
    counted = [c for c in published(comparison.cells) or comparison.cells if c.measured is not None]
    number = sum(all(r in records.get((c.scale, c.cell.id), ()) for r in c.records) for c in counted)
    share = f"all {number}" if number == counts.measured else f"{number} of the {counts.measured}"
    where = "are on record with the suite, where an equal result is not recorded again"
    return f"; {share} {where}" if number else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def notices(comparison: Comparison, cells: Sequence[ComparedCell], *, brief: bool = False) -> list[str]:
    """Return sentences on obstacles, failures, doubts, imported runs and substitutes.

    ``brief`` merges more than four obstacles into one sentence.
    """
    lines: dict[str, list[str]] = {}
    for c in cells:
        if c.verdict.name == "failed":
            lines.setdefault(f"failed: {c.verdict.why}", []).append(c.cell.id)
        for doubt in c.doubts:
            lines.setdefault(str(doubt), []).append(c.cell.id)
        for run in c.imported:
            lines.setdefault(run.verdict.why, []).append(c.cell.id)
        for reading, reason in (c.records[0].substitutes if c.records else {}).items():
            lines.setdefault(f"substitute: {reading}: {reason}", []).append(c.cell.id)
    untested_reasons = list(dict.fromkeys(comparison.untested)) or _missing_run_lines(comparison)
    return [
        *_obstacle_lines(cells, brief),
        *(f"{text} [{first_of(cells, 3)}]" for text, cells in lines.items()),
        *(f"no tests between rows: {reason}" for reason in untested_reasons),
    ]


def _obstacle_lines(cells: Sequence[ComparedCell], brief: bool) -> list[str]:
    lines = blocked_cell_lines(Comparison(list(cells)))
    if not brief or len(lines) <= FEW_OBSTACLES:
        return lines
    blocked = count_in_words(c.cell for c in cells if c.obstacles)
    return [f"blocked: {blocked}; `repro plan` with the same selection says what they wait for"]


def _missing_run_lines(comparison: Comparison) -> list[str]:
    groups = ([c for c in cells if c.measured is not None] for cells in comparison.by_table().values())
    if comparison.tests or all(len({c.cell.row.id for c in cells}) < 2 for cells in groups):
        return []
    return ["too few of their runs are stored here; `repro run` with the same selection makes them"]


def status(
    comparison: Comparison,
    *,
    strict: bool,
    outcome: Outcome | None,
    recurrences: Sequence[Recurrence] = (),
) -> int:
    """Return the exit status, e.g. 4 after a run with a blocked stage.

    3: a stage failed. 4: a stage or cell is blocked. 1 (only if ``strict``): a verdict fails or a recorded
    number was not reproduced. Otherwise 0.
    """
    if outcome and (outcome.failed or comparison.untested):
        return 3
    verdicts = {c.verdict.name for c in comparison.cells}
    if outcome and (outcome.blocked or "blocked" in verdicts):
        return 4
    return int(strict and not all([verdicts.isdisjoint(FAILS), *(r.came_back for r in recurrences)]))
