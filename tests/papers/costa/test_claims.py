"""What the text of COSTA states, beside its own tables."""

from repro.manifest.papers import paper
from repro.plugins.statements.statements import statements
from repro.plugins.statements.values import PublishedValues

FAILING = {
    "ablations-at-temperature-one",
    "above-all-baselines",
    "above-elaborate-fine-tuning",
    "dense-above-sparse",
    "every-granularity-helps",
    "little-gain-of-inverse-cloze",
    "longer-spans-matter-more-in-recall",
    "ndcg-gains-more-than-recall",
    "phrases-and-sentences-help",
    "prop-above-bert",
    "same-order-with-both-negatives",
    "seed-significantly-best-baseline",
    "significant-over-all-pre-trainings",
}
UNTESTED = {
    "above-bm25-with-two-thousand-queries",
    "above-seed-with-few-queries",
    "below-bm25-on-trec-with-few-queries",
    "bm25-negatives-harm-documents",
    "loss-falls-slowly-with-many-spans",
    "relevant-passages-nearer",
    "seed-scatters-relevant-passages",
}


def _states(kind):
    return {s.id: s.judge(PublishedValues()) for s in statements(paper("costa")) if s.kind == kind}


def test_print_contradicts_thirteen_sentences_and_leaves_what_has_no_numbers_open():
    found = {identifier.rpartition("/")[2]: j.state for identifier, j in _states("claim").items()}
    assert {i for i, state in found.items() if state == "fails"} == FAILING
    assert {i for i, state in found.items() if state == "untested"} == UNTESTED


def test_the_order_of_systems_is_that_of_both_negatives_in_mrr_alone():
    judged = _states("claim")["costa/claim/same-order-with-both-negatives"]
    assert dict(judged.measures) == {
        "1/dev.rr10": "holds",
        "1/dev.r1000": "fails",
        "1/dl19.ndcg10": "fails",
        "1/dl19.r1000": "fails",
    }
    turned = [reason for reason in judged.why.split("; ") if ", but " in reason]
    of = {
        column: sum(f"/{column} " in reason for reason in turned) for column in ("dev.r1000", "dl19.ndcg10")
    }
    assert of == {"dev.r1000": 5, "dl19.ndcg10": 5} and len(turned) == 12  # of the six pairs of four systems


def test_bm25_is_ahead_of_the_method_in_the_recall_of_trec_documents_alone():
    judged = _states("claim")["costa/claim/above-all-baselines"]
    assert [name for name, state in judged.measures if state == "fails"] == ["2/dl19.r100"]


def test_seven_percent_are_those_of_the_tables():
    why = _states("claim")["costa/claim/seven-percent-over-seed"].why
    assert why == "7.0175; 6.5657"  # 0.366 / 0.342 and 0.422 / 0.396


def test_every_mark_is_above_the_rows_it_names():
    marks = _states("mark")
    assert len(marks) == 58 and {j.state for j in marks.values()} == {"holds"}


def test_one_bold_number_is_not_the_best():
    wrong = {i: j.why for i, j in _states("bold").items() if j.state != "holds"}
    assert list(wrong) == ["costa/4/bold/base/dev.r1000"]
    assert "0.952 beside 4/without-phrase/dev.r1000 0.953" in wrong["costa/4/bold/base/dev.r1000"]
