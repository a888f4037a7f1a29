"""Reports on one released model that differ, and what is said to differ.

Of repro/plugins/reports/findings.
"""

from decimal import Decimal

import pytest

from repro.plugins.reports import quantities as papers
from repro.plugins.reports.findings import (
    ANOTHER,
    OTHER,
    SILENT,
    by_reason,
    disagreements,
    reasons,
    words,
)
from tests.plugins.reports.reports_of import PERCENT, quantities, report

TITLES = "titles of the passages"


def _found(*made):
    return disagreements(quantities(*made))


def test_two_parties_whose_values_differ_disagree_by_what_their_entries_say():
    [one] = _found(
        report("33.0", PERCENT, by="a"), report("31.0", PERCENT, by="b", differs=("without titles",))
    )
    assert (one.spread, one.reasons) == (Decimal("2.0"), [TITLES])
    assert [entry.made.source.name for entry in one.entries] == ["b", "a"]
    assert by_reason([one]) == [(TITLES, 1, 2.0)]


@pytest.mark.parametrize(
    "second",
    [
        report("33.04", PERCENT, by="b"),
        report("33", PERCENT, by="b"),
        report("31.0", PERCENT, by="a"),
        report("31.0", PERCENT, by="b", start="trained"),
        report("31.0", PERCENT, by="b", match="loose"),
    ],
    ids=["rounding", "coarser", "one party", "another model", "loose"],
)
def test_this_is_no_disagreement(second):
    assert _found(report("33.0", PERCENT, by="a"), second) == []


def test_what_all_entries_say_alike_tells_none_apart():
    same = ("fp16",)
    [one] = _found(
        report("33.0", PERCENT, by="a", differs=same), report("31.0", PERCENT, by="b", differs=same)
    )
    assert one.reasons == [SILENT]


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ("passages without titles", TITLES),
        ("cosine in place of L2", "similarity: cosine or dot product"),
        ("search approximated by PLAID", "search: approximate, or of another depth"),
        ("k1 0.82, b 0.68", "engine, parameters or texts of the index"),
        ("questions taken out of their own rankings", "the question among its own results"),
        ("title and text in one field", "fields of the index: titles and more"),
        (
            "term weights trained with titles; scores of several fields",
            "fields of the index: titles and more",
        ),
        ("which of the released checkpoints is not said", "which checkpoint it is, is not said"),
        ("which DPR checkpoint is not told", "which checkpoint it is, is not said"),
        ("the released checkpoint is not the one of the paper's table", ANOTHER),
        ("another DPR checkpoint", ANOTHER),
        ("weights converted from the makers' checkpoint", "another copy of the weights"),
        ("a compressed index", "search: approximate, or of another depth"),
        ("a title that is told", OTHER),
        ("cut at 10 in place of 100", OTHER),
        ("a Tuesday", OTHER),
    ],
)
def test_a_reason_is_known_by_its_words(stated, reason):
    [quantity] = quantities(report("33.0", PERCENT, differs=(stated,)))
    assert list(reasons(quantity.entries[0])) == [reason]
    assert words(quantity.entries[0]) == stated


def test_every_reason_that_the_papers_reports_state_for_a_disagreement_has_a_name():
    found = disagreements(papers.quantities())
    assert found and OTHER not in {reason for one in found for reason in one.reasons}


def test_the_widest_of_them_is_on_bm25_as_a_finding_says():
    assert disagreements(papers.quantities())[0].quantity.system == "bm25"
