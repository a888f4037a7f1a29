"""What the text of SimLM states, beside its own tables."""

from tests.papers.statements import contradicted_in_print, sentences


def test_the_claims_of_the_text_are_there_and_two_are_contradicted_by_its_tables():
    assert len(sentences("simlm")) >= 44
    assert contradicted_in_print("simlm") == {"best-on-the-benchmarks", "pre-training-helps-to-answer"}


def test_what_the_text_says_of_training_times_and_of_more_mining_is_listed_though_no_cell_holds_it():
    beyond = {claim.id for claim in sentences("simlm") if claim.beyond}
    assert {"frozen-generator-trains-faster", "another-round-of-mining-adds-nothing"} <= beyond
    assert "no-retriever-without-labels" in beyond
