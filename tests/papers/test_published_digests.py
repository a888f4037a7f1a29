"""A digest of every transcribed table, and of the numbers of the paper's own text."""

from __future__ import annotations

import copy
import json

import pytest

from tests.papers.published_digests import FILE, PAPERS, digest, entry, lines, numbers, tables
from tests.papers.texts import texts_of

KEPT = json.loads(FILE.read_text(encoding="utf-8"))
EVERY = [(paper, table) for paper in PAPERS for table in tables(paper)]


@pytest.mark.parametrize(("paper", "name"), EVERY)
def test_every_table_has_the_strings_and_the_numbers_of_its_digests(paper, name):
    table, kept = tables(paper)[name], KEPT[paper][name]
    remedy = "compare the table with the paper, then `python tests/papers/published_digests.py`"
    assert sum(len(cells) for _, cells in lines(table)) == kept["cells"]
    assert digest(lines(table)) == kept["strings"], remedy
    assert digest(list(filter(None, numbers(table)))) == kept["numbers"], remedy


def test_no_table_is_without_digests_and_no_digest_without_its_table():
    assert {paper: set(kept) for paper, kept in KEPT.items()} == {p: set(tables(p)) for p in PAPERS}


@pytest.mark.parametrize(
    ("paper", "old", "new"),
    [
        ("costa", ".582", ".592"),
        ("simlm", "36.2", "36.3"),
        ("cpdae", ".821", ".812"),
        ("cotmae_v2", "-", "0.0"),
    ],
)
def test_one_changed_digit_gives_other_digests(paper, old, new):
    table = copy.deepcopy(next(t for t in tables(paper).values() if _rows_with(t, old)))
    row = _rows_with(table, old)[0]
    place = next(n for n, cell in enumerate(row["cells"]) if old in cell)
    row["cells"][place] = row["cells"][place].replace(old, new)
    kept = KEPT[paper][str(table["id"])]
    assert digest(lines(table)) != kept["strings"]
    assert digest(list(filter(None, numbers(table)))) != kept["numbers"]


def _rows_with(table, number):
    return [row for row in table["rows"] if any(number in c for c in row.get("cells", ()))]


@pytest.mark.parametrize(("paper", "name"), EVERY)
def test_the_digests_are_those_of_the_papers_texts(paper, name):
    texts = list(texts_of(paper).values())
    assert entry(tables(paper)[name], texts) == KEPT[paper][name]
