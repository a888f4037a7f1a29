"""What the audit must find in print, by content, and what it must not."""

import pytest

from repro.judging.audit.collected import audit
from repro.judging.audit.findings import SEVERITIES
from repro.manifest.papers import papers


@pytest.fixture(scope="module")
def findings():
    return audit(list(papers().values()))


def _text(finding):
    return " ".join([*finding.places, *finding.values, finding.says, finding.explanation])


def _with(findings, *parts, kind=None):
    """Findings whose text has all the parts."""
    return [f for f in findings if kind in (None, f.kind) and all(part in _text(f) for part in parts)]


def _values(findings, *places):
    """The values of the one finding of kind values that is at all these places."""
    [found] = [f for f in findings if f.kind == "values" and set(places) <= set(f.places)]
    return [dict(zip(found.places, found.values, strict=True))[place] for place in places], found


@pytest.mark.parametrize(
    ("places", "values", "severity", "explained"),
    [
        (("simlm/2/sparse.bm25/dev.rr10", "cotmae_v2/1/bm25/dev.rr10"), "18.5 18.7", "doubt", "Anserini"),
        (("simlm/2/sparse.bm25/dev.r50", "cotmae_v2/1/bm25/dev.r50"), "58.5 59.2", "doubt", "two runs"),
        (("costa/3/tas-b/dev.rr10", "simlm/2/dense.tas-b/dev.rr10"), "0.343 34.0", "doubt", "34.7"),
        (("costa/3/tas-b/dev.r1000", "simlm/2/dense.tas-b/dev.r1000"), "0.976 97.5", "doubt", "34.7"),
        (
            ("simlm/2/dense.retromae/dev.rr10", "cotmae_v2/1/retromae/dev.rr10"),
            "35.0 39.3",
            "doubt",
            "version",
        ),
        (
            ("simlm/2/dense.retromae/dev.r1000", "cotmae_v2/1/retromae/dev.r1000"),
            "97.6 98.5",
            "doubt",
            "version",
        ),
        (
            ("simlm/2/dense.simlm/dl19.ndcg10", "cotmae_v2/2/simlm/dl19.ndcg10"),
            "71.4 71.2",
            "error",
            "misquot",
        ),
        (
            ("costa/1/sparse.deepct/dl19.ndcg10", "simlm/2/sparse.deepct/dl19.ndcg10"),
            "0.551 57.2",
            "doubt",
            "5599",
        ),
        (("costa/1/sparse.deepct/dev.r1000", "simlm/2/sparse.deepct/dev.r1000"), "0.905 91.0", "doubt", ""),
        (
            ("costa/1/sparse.bm25/dl19.ndcg10", "simlm/2/sparse.bm25/dl19.ndcg10"),
            "0.501 51.2",
            "doubt",
            "star",
        ),
    ],
)
def test_a_system_printed_with_two_values_is_found(findings, places, values, severity, explained):
    found, finding = _values(findings, *places)
    assert " ".join(found) == values and finding.severity == severity and explained in finding.explanation


def test_no_other_system_is_said_to_have_two_values(findings):
    """Ten are true; rows of one name but another training, and equal rounded numbers, are none."""
    assert len([f for f in findings if f.kind == "values"]) == 10


@pytest.mark.parametrize(
    "parts",
    [
        ("best-on-eleven-of-fourteen", "strictly best in 10 of 14", "tied in scidocs (with Contriever)"),
        ("costa/4/bold/base/dev.r1000", "0.952", "4/without-phrase/dev.r1000 0.953"),
        ("ablations-at-temperature-one", "0.335 == 0.329"),
        ("ablation-temperature", "said to be 1"),
        ("trec-document-recall", "R@1000", "Table 2 has R@100"),
        ("figure-3-query", "47923", "MS MARCO dev"),
        ("costa/claim/dense-above-sparse", "bert/dl19.r1000 0.704 beside 1/sparse.bm25/dl19.r1000 0.745"),
        ("costa/claim/prop-above-bert", "prop/dl19.ndcg10 0.586 beside 1/bm25neg.bert/dl19.ndcg10 0.616"),
        ("cpdae", "SimCSE", "1/simcse/dev-passage.r1000 0.955 beside 1/bert/dev-passage.r1000 0.957"),
        ("costa/claim/ndcg-gains-more-than-recall", "3.6819 > 4.3478"),
        ("costa/2/second.seed/dev.r100", "a lead of 0.017 has ‡, one of 0.018 has no †"),
    ],
    ids=lambda parts: parts[0],
)
def test_a_known_contradiction_is_found(findings, parts):
    assert _with(findings, *parts)


def test_averages_and_deltas_raise_no_false_alarm(findings):
    assert [f for f in findings if f.kind in ("average", "delta")] == []


def test_every_misprint_and_conflict_of_the_readings_is_a_finding(findings):
    for source in papers().values():
        for reading in source.readings.values():
            of_it = [f for f in findings if f.paper == source.name and f.says.startswith(f"{reading.id}:")]
            assert len(of_it) == (reading.kind in ("misprint", "conflict")), reading.id


def test_the_order_does_not_depend_on_the_order_of_papers(findings):
    assert audit(list(reversed(papers().values()))) == findings
    assert [f.paper for f in findings] == sorted(f.paper for f in findings)


def test_one_paper_keeps_what_others_print_differently():
    found = audit([papers()["simlm"]])
    assert [f for f in found if f.paper == "cotmae_v2" and "cotmae_v2/2/simlm/dl19.ndcg10" in f.places]
    assert not [f for f in found if not any(place.startswith("simlm/") for place in f.places)]
    assert {f.severity for f in found} <= set(SEVERITIES)
