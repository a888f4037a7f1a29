"""What the text of CPDAE states, beside its own tables."""

from tests.papers.statements import contradicted_in_print, sentences


def test_the_claims_of_the_text_are_there_and_four_are_contradicted_by_its_tables():
    assert len(sentences("cpdae")) >= 12
    noted = {claim.id for claim in sentences("cpdae") if claim.note.startswith("fails")}
    assert (
        contradicted_in_print("cpdae")
        == noted
        == {
            "above-baselines-on-four-benchmarks",
            "three-improve-on-bert",
            "seed-best-baseline",
            "distributions-above-vectors",
        }
    )
