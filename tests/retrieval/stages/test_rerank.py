import numpy as np
import pytest
from datasets import load_from_disk

from repro.errors import DataError
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.nn.cross_encoder import PairScorer
from repro.retrieval.stages import rerank
from tests.floats import close
from tests.retrieval.stages.conftest import texts_of

PARAMS = {"depth": 8, "keep": 12, "length": 32, "separator": ": ", "decimals": 5, "precision": "fp32"}


@pytest.fixture
def inputs(tmp_path, reranker, corpus, queries):
    folder = tmp_path / "run"
    folder.mkdir()
    run = {f"q{n}": [(f"d{(3 * n + rank) % 40}", 50.0 - rank) for rank in range(20)] for n in range(5)}
    write_run(folder, run | {"q7": [("d1", 1.0), ("d2", 0.5)]}, tag="first")
    return {"run": folder, "model": reranker, "corpus": corpus, "queries": queries}


def reranked(inputs, tmp_path, progress, **changes):
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    facts = rerank.run(PARAMS | changes, inputs, out, progress)
    return read_run(out / "run.trec"), facts


def test_the_top_is_in_the_re_rankers_order_and_the_rest_follows_in_its_own(inputs, tmp_path, progress):
    found, facts = reranked(inputs, tmp_path, progress)
    before = read_run(inputs["run"] / "run.trec")
    scorer = PairScorer(inputs["model"] / "model", length=32, separator=": ", precision="fp32")
    texts = {f"q{n}": text for n, text in enumerate(texts_of(inputs["queries"]))}
    corpus = load_from_disk(str(inputs["corpus"] / "arrow"))
    assert list(found) == list(before) and facts["pairs"] == 42 and facts["lines"] == 62
    for query, ranking in found.items():
        documents = [document for document, _ in ranking]
        first = [document for document, _ in before[query]]
        assert set(documents[:8]) == set(first[:8]) and documents[8:] == first[8:12]
        passages = [corpus[int(d[1:])] for d in first[:8]]
        [(places, batches)] = scorer.prepared([texts[query]] * len(passages), passages)
        scores = scorer.score(batches)[np.argsort(places)]
        expected = dict(zip(first, scores.tolist(), strict=False))
        assert dict(ranking[:8]) == pytest.approx(expected, abs=1e-5)
    moved = [q for q in found if [d for d, _ in found[q]] != [d for d, _ in before[q]][:12]]
    assert len(moved) >= 4


def test_what_follows_loses_a_point_a_rank(inputs, tmp_path, progress):
    found, _ = reranked(inputs, tmp_path, progress)
    tail = [score for _, score in found["q0"]][7:]
    close(np.diff(tail), [-1] * 4, summands=max(map(abs, tail)), dtype="float32")


@pytest.mark.parametrize("keep", [8, 3, 0])
def test_nothing_follows_where_no_more_is_kept(inputs, tmp_path, progress, keep):
    found, facts = reranked(inputs, tmp_path, progress, keep=keep)
    assert {len(ranking) for ranking in found.values()} == {8, 2} and facts["lines"] == 42


def test_an_unknown_document_is_a_data_error(inputs, tmp_path, progress):
    (inputs["run"] / "run.trec").write_text("q0 Q0 d99 1 1.0 x\n")
    with pytest.raises(DataError, match="document 'd99' is not in the corpus"):
        reranked(inputs, tmp_path, progress)
