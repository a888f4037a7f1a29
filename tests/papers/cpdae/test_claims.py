"""What the text of CPDAE states, beside its own tables."""

from repro.manifest.papers import paper
from repro.plugins.statements.statements import statements
from repro.plugins.statements.values import PublishedValues
from tests.papers.statements import contradicted_in_print, sentences


def test_the_claims_of_the_text_are_there_and_six_are_contradicted_by_its_tables():
    assert len(sentences("cpdae")) >= 17
    assert contradicted_in_print("cpdae") == {
        "above-baselines-on-four-benchmarks",
        "contrast-of-vectors-does-not-suit-documents",
        "distributions-above-vectors",
        "seed-best-baseline",
        "significant-over-marked-baselines",
        "three-improve-on-bert",
    }


def test_significance_that_no_mark_could_show_is_untested():
    judged = {s.id.rpartition("/")[2]: s.judge(PublishedValues()) for s in statements(paper("cpdae"))}
    assert judged["contrast-helps-significantly"].state == "untested"
    assert "no mark of table 2" in judged["contrast-helps-significantly"].why
    assert judged["significant-over-other-baselines"].state == "untested"
