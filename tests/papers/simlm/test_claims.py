"""What the text of SimLM states, beside its own tables."""

from tests.papers.statements import contradicted_in_print, sentences


def test_the_claims_of_the_text_are_there_and_one_is_contradicted_by_its_tables():
    assert len(sentences("simlm")) >= 30
    noted = {claim.id for claim in sentences("simlm") if claim.note.startswith("fails")}
    assert contradicted_in_print("simlm") == noted == {"best-on-the-benchmarks"}
