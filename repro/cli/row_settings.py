"""The settings of a row, or of a cell that publishes one, as `repro settings` and `repro show` print them."""

from collections.abc import Iterable, Sequence

from repro.judging.settings.lines import CELL_HEAD, HEAD, by_step, counts, in_words, merged
from repro.judging.settings.lines import of_cells_of_settings as of_cells
from repro.judging.settings.parameter import Held


def planned_for(item: Held) -> str:
    """The planned value of a parameter, its place in the step, and the verdict."""
    place = " of ".join(filter(None, (item.parameter, item.step)))
    return f"{in_words(item.planned) or 'nothing'} ({place}); {item.verdict}"


def print_steps(items: Iterable[Held]) -> None:
    """A table for every step of a paper."""
    from repro.cli.printing import table

    for heading, of_step in by_step(items).items():
        paper = of_step[0].row.partition("/")[0]
        table(f"{paper}: {heading}", HEAD, merged(of_step))


def print_cells(items: Iterable[Held]) -> None:
    """A table of the cells of the papers' own tables of settings."""
    from repro.cli.printing import table

    if lines := of_cells(items):
        table("cells of tables of settings", CELL_HEAD, lines)


def print_row(items: Sequence[Held], *, verbose: bool) -> None:
    """The settings of one row: how many are as stated, and which depart; all of them if asked to."""
    from repro.cli.printing import say

    if not items:
        return
    paper, table, row = items[0].row.split("/")
    told_by = f"`repro settings {paper} --table {table} --row {row}` tells all"
    print()
    say(f"settings of the row at full: {counts(items)}; {told_by}")
    print_steps(item for item in items if verbose or item.fails or item.state == "departs")
