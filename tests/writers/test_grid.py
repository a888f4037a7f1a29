"""What every writer of tables starts from: which numbers are best, and how rows are named."""

import pytest

from repro.writers.grid import best_measured, compared_grid, letter_ranges
from tests.writers.html.toy import report


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [("", ""), ("b", "b"), ("cb", "bc"), ("bcd", "b-d"), ("aefgi", "ae-gi"), ("abde", "abde")],
)
def test_three_neighbours_or_more_are_a_range(chosen, shown):
    assert "".join(letter_ranges(chosen, "abcdefghi")) == shown


def test_the_best_measured_number_of_a_column_is_the_largest_and_a_lone_one_is_none():
    cells = report().parts[0].view.compared
    grid = compared_grid(cells)
    best = best_measured(grid)
    for column in {c.cell.column.id for c in cells}:
        numbers = {
            c.cell.row.id: c.measured for c in cells if c.cell.column.id == column and c.measured is not None
        }
        marked = {row for row, place in best if place == column}
        assert marked == ({max(numbers, key=numbers.get)} if len(numbers) > 1 else set())
    assert best_measured(compared_grid(cells[:1])) == frozenset()
