"""What the text of COSTA states, beside its own tables."""

from repro.judging.claims.judged import statements
from repro.judging.claims.values import Published
from repro.manifest.papers import paper

FAILING = {
    "ablations-at-temperature-one",
    "above-elaborate-fine-tuning",
    "dense-above-sparse",
    "every-granularity-helps",
    "longer-spans-matter-more-in-recall",
    "ndcg-gains-more-than-recall",
    "prop-above-bert",
}
UNTESTED = {"above-seed-with-few-queries", "above-bm25-with-two-thousand-queries"}


def _states(kind):
    return {s.id: s.judge(Published()) for s in statements(paper("costa")) if s.kind == kind}


def test_print_contradicts_seven_sentences_and_leaves_figure_4_open():
    found = {identifier.rpartition("/")[2]: j.state for identifier, j in _states("claim").items()}
    assert {i for i, state in found.items() if state == "fails"} == FAILING
    assert {i for i, state in found.items() if state == "untested"} == UNTESTED


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
