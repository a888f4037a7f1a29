"""``docs/operating_characteristics.py``: the shares on the page are those of its simulation."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.ci_commands import module

SCRIPT = module(Path(__file__).resolve().parents[1] / "docs/operating_characteristics.py")
PAGE = SCRIPT.PAGE.read_text(encoding="utf-8").partition(SCRIPT.BEGIN)[2].partition(SCRIPT.END)[0]


def numbers(lines) -> dict[tuple, list[list[float]]]:
    """Return (table, measure, second column) -> pairs of shares, one for each number of seeds."""
    table, found = "", {}
    for line in lines:
        name, second, *cells = [c.strip() for c in line.strip().strip("|").split("|")] if line else [""] * 2
        if name in SCRIPT.MEANS:
            found[table, name, second] = [[float(share) for share in c.split(", ")] for c in cells]
        elif ":" in name:
            table = name
    return found


def test_the_page_holds_the_simulation():
    page, drawn = numbers(PAGE.strip().splitlines()), numbers(SCRIPT.lines(40))
    assert page.keys() == drawn.keys() and len(page) == 36
    for key, cells in page.items():
        for seeds, (mine, theirs) in enumerate(zip(cells, drawn[key], strict=True)):
            assert mine == pytest.approx(theirs, abs=0.36), (
                key,
                SCRIPT.SEEDS[seeds],
            )  # 4.5 deviations of 40 draws
    pairs = [(one, two) for key in page for one, two in zip(page[key], drawn[key], strict=True)]
    differences = [a - b for one, two in pairs for a, b in zip(one, two, strict=True)]
    assert abs(sum(differences)) / len(differences) < 0.01


@pytest.mark.parametrize("measure", SCRIPT.MEANS)
def test_more_seeds_never_make_a_true_reproduction_less_likely_to_pass(measure):
    page = numbers(PAGE.strip().splitlines())
    equal = "now: equal passes, lower by the tolerance passes"
    for key in ((equal, measure, f"{spread} × assumed") for spread in ("0.5", "1", "1.5")):
        passes = [share for share, _ in page[key]]
        assert all(later >= earlier - 0.01 for earlier, later in pairwise(passes)), key
    assert all(fails == 0 for _, fails in page["now: passes, fails", measure, "0"])
