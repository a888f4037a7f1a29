"""Findings that the audit must, and must not, make in print."""

import pytest

from repro.manifest.papers import papers
from repro.plugins.statements.claims import claims_of
from repro.plugins.statements.findings import SEVERITIES, notes
from repro.plugins.statements.paper_audit import each, findings_of


@pytest.fixture(scope="module")
def findings():
    return findings_of(list(papers().values()))


def _text(finding):
    return " ".join([*finding.places, *finding.values, finding.says, finding.explanation])


def _with(findings, *parts, kind=None):
    return [f for f in findings if kind in (None, f.kind) and all(part in _text(f) for part in parts)]


def _one(findings, identifier):
    [finding] = [f for f in findings if f.id == identifier]
    return finding, dict(zip(finding.places, finding.values, strict=True))


@pytest.mark.parametrize(
    ("configuration", "one", "other", "explained"),
    [
        ("bm25", "simlm/2/sparse.bm25/dev.rr10 18.5", "cotmae_v2/1/bm25/dev.rr10 18.7", "Anserini"),
        ("bm25", "simlm/2/sparse.bm25/dev.r50 58.5", "cotmae_v2/1/bm25/dev.r50 59.2", "two runs"),
        ("bm25", "costa/1/sparse.bm25/dl19.ndcg10 0.501", "simlm/2/sparse.bm25/dl19.ndcg10 51.2", "star"),
        ("tas-b", "costa/3/tas-b/dev.rr10 0.343", "simlm/2/dense.tas-b/dev.rr10 34.0", "34.7"),
        ("tas-b", "costa/3/tas-b/dev.r1000 0.976", "simlm/2/dense.tas-b/dev.r1000 97.5", "34.7"),
        ("retromae", "simlm/2/dense.retromae/dev.rr10 35.0", "cotmae_v2/1/retromae/dev.rr10 39.3", "version"),
        (
            "retromae",
            "simlm/2/dense.retromae/dev.r1000 97.6",
            "cotmae_v2/1/retromae/dev.r1000 98.5",
            "version",
        ),
        (
            "simlm-distilled",
            "simlm/2/dense.simlm/dl19.ndcg10 71.4",
            "cotmae_v2/2/simlm/dl19.ndcg10 71.2",
            "misquot",
        ),
        (
            "deepct",
            "costa/1/sparse.deepct/dl19.ndcg10 0.551",
            "simlm/2/sparse.deepct/dl19.ndcg10 57.2",
            "5599",
        ),
        ("deepct", "costa/1/sparse.deepct/dev.r1000 0.905", "simlm/2/sparse.deepct/dev.r1000 91.0", ""),
    ],
)
def test_a_system_printed_with_two_values_is_found(findings, configuration, one, other, explained):
    finding, printed = _one(findings, f"values/{configuration}")
    assert {one, other} <= {f"{place} {value}" for place, value in printed.items()}
    assert finding.severity == ("error" if configuration == "simlm-distilled" else "doubt")
    assert explained in finding.explanation and finding.against == "another paper"


def test_values_of_one_measure_are_not_said_to_be_of_two(findings):
    """Both papers' BM25, and RetroMAE, are scored by the fraction of relevant passages found."""
    values = [f for f in findings if f.kind == "values"]
    assert values and not [f for f in values if "defined as" in f.explanation]


def test_no_other_system_is_said_to_have_two_values(findings):
    """Rows of one name but another training, and equal rounded numbers, are none."""
    quoted = {"bm25", "tas-b", "retromae", "simlm-distilled", "deepct"}
    run_again = {"bert-bm25-negatives", "seed-bm25-negatives"}
    named = {f.id for f in findings if f.kind == "values" and f.id.startswith("values/")}
    assert named == {f"values/{name}" for name in quoted | run_again}


@pytest.mark.parametrize(
    ("system", "cells"),
    [
        ("seed", {"costa/1/hardneg.seed/dev.rr10": "0.342", "simlm/2/dense.seed/dev.rr10": "33.9"}),
        ("bert", {"cpdae/1/bert/dev-passage.rr10": "0.335", "simlm/1/bert/dev.rr10": "33.7"}),
        ("rocketqa", {"costa/3/rocketqa/dev.rr10": "0.364", "simlm/2/dense.rocketqa/dev.rr10": "37.0"}),
    ],
)
def test_a_system_that_papers_name_alike_and_measure_apart_is_noted(findings, system, cells):
    finding, printed = _one(findings, f"names/{system}")
    assert cells.items() <= printed.items()
    assert finding.severity == "note" and finding.explanation


def test_no_other_name_is_said_to_stand_for_several_measurements(findings):
    known = {"costa", "cotmae_v2", "cpdae", "simlm"}
    named = (f for f in findings if f.id.startswith("names/"))
    several = {f.id for f in named if len(known & {place.partition("/")[0] for place in f.places}) > 1}
    assert several == {"names/seed", "names/bert", "names/rocketqa"}


def test_papers_of_the_same_authors_differ_in_bold_and_in_what_a_mark_means(findings):
    finding, printed = _one(findings, "conventions/costa/cpdae/bold")
    assert printed == {"costa/2/sparse.bm25/dl19.r100": "0.395", "cpdae/1/bm25/dl19-doc.r100": "**0.395**"}
    finding, printed = _one(findings, "cpdae/reading/dagger-scope")
    assert "† over b-prop, ict, prop and † over ict" in finding.explanation
    assert printed["costa/1/hardneg.seed/dl19.r1000"] == "0.782*†"


@pytest.mark.parametrize(
    ("identifier", "place", "value"),
    [
        ("cotmae_v2/lead/first-version-by-3-6-on-dl19", "cotmae_v2/1/cocondenser/dl19.ndcg10", "71.7"),
        ("cotmae_v2/domain/3/dpr/nq", "cotmae_v2/3/dpr/nq", "47.4"),
        ("cotmae_v2/index/tokens-that-follow", "cotmae_v2/§3.2, Eq. 13", "i+1"),
        ("cotmae_v2/claim/half-size-far-above-earlier-ones", "", None),
        ("simlm/claim/another-corpus-helps-considerably", "", None),
        ("simlm/claim/cocondenser-is-state-of-the-art", "", None),
    ],
)
def test_what_a_text_passes_over_is_found(findings, identifier, place, value):
    finding, places = _one(findings, identifier)
    assert finding.kind == identifier.split("/")[1] and finding.severity in ("doubt", "note")
    assert places.get(place) == value


def test_words_for_other_things_are_found(findings):
    wordings = {f.id for f in findings if f.kind == "wording" and f.says}
    names = "cotmae_v2/wording/encoder-for-decoder", "costa/wording/z-of-texts-and-of-spans"
    assert wordings >= {*names, "simlm/wording/percent-for-points"}


@pytest.mark.parametrize(
    "words",
    [("11 of 14", "eleven"), ("71.2", "misquot"), ("RetroMAE", "39.3"), ("RocketQA", "distilled")],
    ids=lambda words: words[0],
)
def test_one_fact_is_one_finding(findings, words):
    assert len(_with(findings, *words)) == 1


def test_every_fact_joins_findings_that_there_are():
    told = {f.id for f in each(list(papers().values()), notes())}
    for fact in notes().facts:
        assert len(fact) > 1 and set(fact) <= told, fact


def test_two_misprints_of_pseudo_code_are_notes(findings):
    severities = {f.id: f.severity for f in findings}
    assert severities["costa/reading/joint-update"] == "note"
    assert severities["cpdae/reading/reconstruction-labels"] == "note"
    assert severities["costa/reading/total-loss-number"] == "error"


def test_a_finding_says_what_it_is_held_against(findings):
    against = {f.id: f.against for f in findings}
    assert against["costa/reading/joint-update"] == "paper"
    assert against["costa/reading/fine-tuning-batch"] == "code"
    assert against["cpdae/reading/fine-tuning-batch"] == "another paper"
    assert against["cotmae_v2/reading/trec-dl-queries"] == "third party"
    assert against["cpdae/claim/contrast-of-vectors-does-not-suit-documents"] == "another paper"
    assert not [f.id for f in findings if f.paper == "cpdae" and f.against == "code"]


def test_what_is_ours_in_a_claim_makes_a_doubt(findings):
    severities = {f.id: f.severity for f in findings if f.kind == "claim"}
    for source in papers().values():
        for claim in claims_of(source).values():
            if (found := severities.get(f"{source.name}/claim/{claim.id}")) and claim.assumed:
                assert found == "doubt", claim.id
    assert severities["costa/claim/ablations-at-temperature-one"] == "error"
    assert severities["costa/claim/same-order-with-both-negatives"] == "doubt"


@pytest.mark.parametrize(
    "parts",
    [
        ("best-on-eleven-of-fourteen", "strictly best in 10 of 14", "tied in scidocs (with Contriever)"),
        ("costa/4/bold/base/dev.r1000", "0.952", "4/without-phrase/dev.r1000 0.953"),
        ("ablations-at-temperature-one", "0.335 == 0.329"),
        ("ablation-temperature", "said to be 1"),
        ("trec-document-recall", "R@1000", "Table 2 has R@100"),
        ("figure-3-query", "47923", "MS MARCO dev"),
        ("costa/claim/dense-above-sparse", "bert/dl19.r1000 0.704 vs. 1/sparse.bm25/dl19.r1000 0.745"),
        ("costa/claim/prop-above-bert", "prop/dl19.ndcg10 0.586 vs. 1/bm25neg.bert/dl19.ndcg10 0.616"),
        ("cpdae", "SimCSE", "1/simcse/dev-passage.r1000 0.955 vs. 1/bert/dev-passage.r1000 0.957"),
        ("costa/claim/ndcg-gains-more-than-recall", "3.6819 > 4.3478"),
        ("costa/1/bm25neg.seed/dl19.ndcg10", "0.032 (* of SEED(ours), 0.625 over 0.616)", "half of 0.091"),
        ("costa/1/hardneg.costa/dev.r1000", "COSTA 0.971 over 0.963 (SEED) without ‡"),
    ],
    ids=lambda parts: parts[0],
)
def test_a_known_contradiction_is_found(findings, parts):
    assert _with(findings, *parts)


def test_averages_and_deltas_raise_no_false_alarm(findings):
    assert [f for f in findings if f.kind in ("average", "delta")] == []


def test_every_misprint_and_conflict_of_the_readings_is_a_finding(findings):
    joined = {identifier for fact in notes().facts for identifier in fact[1:]}
    ids = {f.id for f in findings}
    for source in papers().values():
        for reading in source.readings.values():
            place = f"{source.name}/reading/{reading.id}"
            contradicts = reading.kind in ("misprint", "conflict")
            assert (place in ids) == (contradicts and place not in joined), place


def test_the_order_does_not_depend_on_the_order_of_papers(findings):
    assert findings_of(list(reversed(papers().values()))) == findings
    assert [f.paper for f in findings] == sorted(f.paper for f in findings)


def test_one_paper_keeps_what_others_print_differently():
    found = findings_of([papers()["simlm"]])
    assert [f for f in found if f.paper == "cotmae_v2" and "cotmae_v2/2/simlm/dl19.ndcg10" in f.places]
    assert not [f for f in found if not any(place.startswith("simlm/") for place in f.places)]
    assert {f.severity for f in found} <= set(SEVERITIES)


def test_thirteen_of_fourteen_numbers_on_beir_are_not_those_of_the_makers(findings):
    [finding] = [f for f in findings if f.id == "cotmae_v2/quoted/retromae"]
    quoted = [place for place in finding.places if place.startswith("cotmae_v2/3/retromae/")]
    assert len(quoted) == 13 and "cotmae_v2/3/retromae/scidocs" not in quoted
    assert "by up to 6.5 points" in finding.says and finding.explanation
    again = {f.id for f in findings if "/quoted/" in f.id}
    assert again == {"cotmae_v2/quoted/retromae", "simlm/quoted/retromae"}


def test_only_in_one_section_against_another_is_an_error(findings):
    [finding] = [f for f in findings if f.kind == "scope"]
    assert (finding.id, finding.severity) == ("costa/wording/seed-only-reconstructs", "error")
