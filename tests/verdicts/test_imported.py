import pytest

from repro.graph import Node
from repro.manifest.cells import cell
from repro.store.results import Record
from repro.verdicts.comparison import imported_run

BM25, DEEPCT = "costa/1/sparse.bm25/dl19.ndcg10", "costa/1/sparse.deepct/dl19.ndcg10"
LEXICAL, DENSE = Node("bm25", {}), Node("released", {})


def _judged(identifier, measured, *made, **changes):
    origin = {"file": "run.trec", "toolkit": "Anserini", "settings": "k1 0.9", **changes.pop("origin", {})}
    facts = {
        "queries": 43,
        "missing": 0,
        "measure": "nDCG@10",
        "unit": "fraction",
        "origin": origin,
        **changes,
    }
    record = Record(identifier, "full", measured, None, "f", **facts)
    return imported_run(cell(identifier), record, made)


def test_a_run_of_another_choice_than_the_rows_is_not_comparable():
    run = _judged(BM25, 0.50583, LEXICAL, readings={"bm25-parameters": "anserini-default"})
    assert (run.verdict.name, run.verdict.difference) == ("not comparable", None)
    assert run.verdict.why == (
        "run by others, run.trec (Anserini, k1 0.9): it follows other choices than the row: "
        "bm25-parameters is anserini-default"
    )
    assert (run.maker, run.settings) == ("Anserini", "k1 0.9")


@pytest.mark.parametrize(
    ("made", "measured", "name", "tolerance"),
    [
        ([LEXICAL], 0.5022, "higher", "deterministic tolerance of 0.0005"),
        ([DENSE], 0.5022, "within tolerance", "re-encoded tolerance of 0.001"),
        ([], 0.5022, "inconclusive", "no stated tolerance"),
        ([], 0.5012, "exact", "equal to the published number"),
    ],
)
def test_the_tolerance_is_that_of_what_could_have_been_encoded(made, measured, name, tolerance):
    run = _judged(BM25, measured, *made)
    assert run.verdict.name == name and tolerance in run.verdict.why


def test_a_run_of_which_nothing_is_told_has_the_name_of_its_file():
    run = _judged(DEEPCT, 0.56, origin={"toolkit": None, "settings": None})
    assert (run.maker, run.settings) == ("run.trec", "")
    assert run.verdict.why.startswith("run by others, run.trec: ")
