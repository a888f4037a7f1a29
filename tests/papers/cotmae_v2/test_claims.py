"""What the text of CoT-MAE v2 states, beside its own tables."""

from tests.papers.statements import contradicted_in_print, sentences


def test_the_claims_of_the_text_are_there_and_three_are_contradicted_by_its_tables():
    assert len(sentences("cotmae_v2")) >= 25
    noted = {claim.id for claim in sentences("cotmae_v2") if claim.note.startswith("fails")}
    assert (
        contradicted_in_print("cotmae_v2")
        == noted
        == {
            "best-distilled",
            "best-on-eleven-of-fourteen",
            "best-on-the-benchmarks",
        }
    )
