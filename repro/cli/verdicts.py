"""Print a comparison, and derive the exit status from it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from repro.cli.plan_summary import Cells, blocked_cell_lines
from repro.cli.printing import emit_csv, emit_json, in_words, say, say_each, table
from repro.cli.printing import show as print_laid_out
from repro.errors import first_of
from repro.graph import grouped
from repro.manifest.cells import by_count, count_in_words
from repro.running.plan import Plan
from repro.running.records import Recurrence, distances, equal_in_words
from repro.running.runner import Outcome
from repro.store import Store
from repro.store.results import Results
from repro.verdicts.compared import Comparison, PairedTest
from repro.verdicts.summary import Summary, summarise, unmeasured
from repro.verdicts.verdict import FAILS

if TYPE_CHECKING:
    from repro.api.comparisons import ComparedCells


def show_exhibits(plan: Plan, outcome: Outcome, *, quiet: bool = False) -> None:
    """Print the state of each exhibit on standard error. If ``quiet``, only failed and blocked ones."""
    for exhibit, node in plan.exhibits.items():
        if node.fingerprint in outcome.failed:
            state = f"failed: {outcome.failed[node.fingerprint]}"
        elif outcome.blocked.get(node.fingerprint):
            obstacle = outcome.blocked[node.fingerprint][0]
            state = f"blocked: {obstacle.cause} ({obstacle.remedy})"
        elif quiet:
            continue
        else:
            words = f"{exhibit.paper.name} --table {exhibit.owner} --scale {plan.scale.name}"
            state = f"ready (draw it with `repro report figures {words}`)"
        say(f"{state} [{exhibit.id}]")


WORDS = ("failed", "blocked", "not run")
FEW_SENTENCES = 4
NOTES = (
    "Reported elsewhere: the closest of several values (~ other settings, ? only the name matches). No "
    "verdict depends on it. `repro show others` lists the sources."
)
NOUNS = {"published": "published", "point": "figure", "reference": "reference", "study": "study"}


def show(
    comparison: Comparison,
    plan: Plan,
    store: Store,
    form: str,
    *,
    chosen: Cells | None = None,
    recurrences: Sequence[Recurrence] = (),
    results: Results | None = None,
    brief: bool = False,
    quiet: bool = False,
    **options,
) -> None:
    """Print a comparison as tables with a summary and notes, or in another form, e.g. ``csv``.

    Args:
        chosen: the cells to show, by default all. The summary covers all.
        recurrences: the run's new records with the earlier ones of the same measurements.
        results: source of a study's scores that the store lacks.
        brief: merge more than ``FEW_SENTENCES`` obstacles into one sentence.
        quiet: omit the summary and legends.
    """
    from repro.verdicts.plain_values import cell_as_row

    cells = comparison.cells if chosen is None else chosen
    say_each(comparison.faults)
    if form in ("latex", "markdown"):
        from repro.writers.table_files import table_texts

        compared = replace(comparison, cells=list(cells))
        texts = table_texts(compared, plan, store, results=results, form=form, **options)
        return print("\n".join(file.text for file in texts), end="")
    if form == "terminal":
        return _show_tables(comparison, cells, recurrences, brief=brief, quiet=quiet)
    show_recurrences(recurrences)
    if form == "csv":
        return emit_csv([cell_as_row(c) for c in cells], head=["cell"])
    ids = {c.cell.id for c in cells}
    emit_json([c for c in _cells_with_facts(comparison, plan, store, results) if c["id"] in ids])


def _show_tables(
    comparison: Comparison,
    cells: Cells,
    recurrences: Sequence[Recurrence],
    *,
    brief: bool,
    quiet: bool,
) -> None:
    notes = [*distances(recurrences), *notices(comparison, cells, brief=brief)]
    if not quiet:
        say(summary(comparison, recurrences))
        notes = [*legends(comparison), *notes]
        notes += [comparison.origins.sentence] if comparison.origins else []
    show_cells(comparison, cells)
    show_paired(comparison, cells)
    for note in filter(None, notes):
        say(note)


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
    return [c | facts.get(c["id"], {}) for c in cells_as_json(comparison)]


def show_paired(comparison: Comparison, cells: Cells) -> None:
    """Print paired tests against runs by others."""
    rows = [_paired_line(c.cell.id, test) for c in cells for test in comparison.paired.get(c.cell.id, ())]
    head = ["cell", "run by others", "difference [95 %]", "t p (ranx)", "p (Holm)", "permutation p", "d_z"]
    if rows:
        title = "Our run of one seed minus the run by others, per query (fractions)"
        table(title, [*head, "won/tied/lost"], rows, right=range(2, len(head) + 1))


def _paired_line(cell: str, test: PairedTest) -> list[str]:
    low, high = test.interval or (None, None)
    difference = f"{test.difference:+.4f}" + ("" if low is None else f" [{low:+.4f}, {high:+.4f}]")
    numbers = (test.p, test.holm_p, test.permutation_p, test.effect_size)
    values = ["–" if value is None else f"{value:.4g}" for value in numbers]
    return [cell, test.over, difference, *values, f"{test.wins}/{test.ties}/{test.losses}"]


def show_recorded(comparison: Comparison) -> None:
    rows = {c.cell.row_path for c in comparison.cells if c.measured is not None or c.imported}
    if cells := [c for c in comparison.cells if c.cell.row_path in rows]:
        show_cells(comparison, cells)


def show_cells(comparison: Comparison, cells: Cells) -> None:
    """Print the tables with a result, a failed or blocked cell, or a value reported elsewhere."""
    from repro.writers.terminal import compared_table

    for members in Comparison(list(cells)).by_table().values():
        has_result = any(c.measured is not None or c.notes_at_full for c in members)
        if has_result or any(c.verdict.name in ("failed", "blocked") for c in members):
            print_laid_out(compared_table(comparison, members))


def show_recurrences(recurrences: Sequence[Recurrence]) -> None:
    """Print how many numbers equal their earlier record, and why others differ."""
    for sentence in (*equal_in_words(recurrences), *distances(recurrences)):
        say(sentence)


def summary(comparison: Comparison, recurrences: Sequence[Recurrence] = ()) -> str:
    """Return sentences with the counts of measured cells, verdicts and reproduced records."""
    cells = [c for c in comparison.cells if c.cell.counted_as]
    if not cells:
        return "The selection has no number to compare."
    counts, is_full = summarise(cells), {c.scale for c in cells} == {"full"}
    sentence = f"Measured {_measured_in_words(cells)}"
    if counts.measurements < counts.measured:
        sentence += f" ({_count(counts.measurements, 'distinct measurement')})"
    if is_full:
        sentence += f": {counts.passing} pass, {counts.failing} fail, {counts.neither} neither"
    more = _comparison_sentences(counts, "" if is_full else cells[0].scale)
    return " ".join([f"{sentence}.", *equal_in_words(recurrences), *more])


def _comparison_sentences(counts: Summary, scale: str) -> Iterator[str]:
    if scale:
        yield f"Scores at scale {scale} are not compared with the paper's."
    elif judged := {name: n for name, n in counts.verdicts.items() if name not in WORDS}:
        yield f"Verdicts: {', '.join(f'{number} {name}' for name, number in judged.items())}."
    if counts.intervals:
        share = f"{counts.inside} of {counts.intervals} published means"
        yield f"{share} are inside our 95 % interval over queries."
    if counts.imported:
        runs = _count(counts.imported_runs, "distinct score")
        yield f"Runs by others for {_count(counts.imported, 'cell')} ({runs}) are not counted."


def _measured_in_words(cells: Cells) -> str:
    measured, phrases = {c.cell.id for c in cells if c.measured is not None}, list[str]()
    for kind, chosen in by_count(c.cell for c in cells).items():
        number, noun = len(measured & chosen.keys()), f"{NOUNS[kind]} cell{'s' * (len(chosen) != 1)}"
        is_short = phrases and number == len(chosen)
        phrases.append(f"{number} {noun}" if is_short else f"{number} of {len(chosen)} {noun}")
    return " and ".join(phrases)


def legends(comparison: Comparison) -> list[str]:
    """Return sentences on unmeasured cells, superscripts and values reported elsewhere."""
    reasons = unmeasured(comparison.cells)
    number = _count(reasons.total(), "cell")
    lines = [f"Not measured: {number}. Reasons: {in_words(reasons)}."] if reasons else []
    if comparison.tests:
        from repro.writers.grid import SUPERSCRIPTS

        lines.append(SUPERSCRIPTS)
    return lines + ([NOTES] if any(c.notes_at_full for c in comparison.cells) else [])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def notices(comparison: Comparison, cells: Cells, *, brief: bool = False) -> list[str]:
    """Return sentences on obstacles, failures, doubts, imported runs and substitute data."""
    lines = grouped(chain(_doubts(cells), _remarks(cells)))
    untested = list(dict.fromkeys(comparison.untested)) or _missing_run_lines(comparison)
    return [
        *_obstacle_lines(cells, brief),
        *(f"{text} [{first_of(cells, 3)}]" for text, cells in lines.items()),
        *(f"no tests between rows: {reason}" for reason in untested),
    ]


def problems(cells: "ComparedCells") -> tuple[list[str], int]:
    """Return sentences on failed and blocked cells, and the exit status."""
    sentences = notices(cells.comparison, list(cells))
    found = [s for s in sentences if s.startswith(("failed", "blocked"))]
    return found, status(cells.comparison, strict=False, outcome=cells.outcome)


def _doubts(cells: Cells) -> Iterator[tuple[str, str]]:
    kinds = {str(doubt): doubt.kind for c in cells for doubt in c.doubts}
    many = {kind for kind, number in Counter(kinds.values()).items() if number > FEW_SENTENCES}
    for c in cells:
        for doubt in c.doubts:
            merged = f"{doubt.kind}: several reasons, `repro show CELL` has them"
            yield merged if doubt.kind in many else str(doubt), c.cell.id


def _remarks(cells: Cells) -> Iterator[tuple[str, str]]:
    for c in cells:
        if c.verdict.name == "failed":
            yield f"failed: {c.verdict.why}", c.cell.id
        yield from ((run.verdict.why, c.cell.id) for run in c.imported)
        for reading, reason in (c.records[0].substitutes if c.records else {}).items():
            yield f"substitute: {reading}: {reason}", c.cell.id


def _obstacle_lines(cells: Cells, brief: bool) -> list[str]:
    lines = blocked_cell_lines(Comparison(list(cells)))
    if not brief or len(lines) <= FEW_SENTENCES:
        return lines
    blocked = count_in_words(c.cell for c in cells if c.obstacles)
    return [f"blocked: {blocked}. `repro plan` with the same selection lists their missing requirements."]


def _missing_run_lines(comparison: Comparison) -> list[str]:
    groups = ([c for c in cells if c.measured is not None] for cells in comparison.by_table().values())
    if comparison.tests or all(len({c.cell.row.id for c in cells}) < 2 for cells in groups):
        return []
    return ["fewer than two rows have a stored run. `repro run` with the same selection makes runs"]


def status(
    comparison: Comparison, *, strict: bool, outcome: Outcome | None, recurrences: Sequence[Recurrence] = ()
) -> int:
    """Return the exit status. After a run: 3 if a stage or test failed, 4 if anything is blocked.

    Otherwise 1 if ``strict`` and a verdict fails or a recorded number is not reproduced, else 0.
    """
    if outcome and (outcome.failed or comparison.untested):
        return 3
    verdicts = {c.verdict.name for c in comparison.cells}
    if outcome and (outcome.blocked or "blocked" in verdicts):
        return 4
    return int(strict and not all([verdicts.isdisjoint(FAILS), *(r.came_back for r in recurrences)]))
