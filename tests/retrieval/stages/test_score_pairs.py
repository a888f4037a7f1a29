import numpy as np
import pytest
from datasets import Value, load_from_disk

from repro.errors import DataError
from repro.retrieval.nn import cross_encoder
from repro.retrieval.nn.cross_encoder import PairScorer
from repro.retrieval.stages import score_pairs
from tests.retrieval.stages.conftest import folders, save_training_set, texts_of

PARAMS = {"per_query": 4, "length": 32, "separator": ": ", "decimals": 5, "precision": "fp32"}


@pytest.fixture
def inputs(judged_training, reranker):
    return judged_training | {"model": reranker}


def score_of(inputs, query, document):
    text = texts_of(inputs["queries"])[int(query[1:])]
    row = load_from_disk(str(inputs["corpus"] / "arrow"))[int(document[1:])]
    scorer = PairScorer(inputs["model"] / "model", length=32, separator=": ", precision="fp32")
    [(_, batches)] = scorer.prepared([text], [row])
    return scorer.score(batches).item()


def test_every_positive_and_the_first_negatives_get_the_re_rankers_score(inputs, tmp_path, progress):
    facts = score_pairs.run(PARAMS, inputs, tmp_path, progress)
    rows = load_from_disk(str(tmp_path / "arrow"))
    assert facts == {"queries": 10, "positives": 10, "negatives": 40}
    assert rows.features["positive_scores"].feature == Value("float32")
    for n, row in enumerate(rows):
        assert row["query"] == f"q{n}" and row["positives"] == [f"d{n}"]
        assert row["negatives"] == [f"d{n + other}" for other in range(1, 5)]
        assert len(row["negative_scores"]) == 4 and len(row["positive_scores"]) == 1
    row = rows[3]
    five_decimals = {"abs": 1e-5}
    assert row["positive_scores"][0] == pytest.approx(score_of(inputs, "q3", "d3"), **five_decimals)
    assert row["negative_scores"][2] == pytest.approx(score_of(inputs, "q3", "d6"), **five_decimals)
    found = np.concatenate(rows["negative_scores"][:])
    assert found.std() > 0.01
    assert (found == np.float32(np.round(found.astype(float), 5))).all()
    assert {path.name for path in tmp_path.iterdir()} == {"arrow", "blocks"}


def test_what_an_interrupted_attempt_scored_stays(inputs, tmp_path, progress, monkeypatch):
    monkeypatch.setattr(cross_encoder, "BLOCK", 15)
    calls, score = [], PairScorer.score

    def killed(self, batches):
        calls.append(sum(len(batch["input_ids"]) for batch in batches))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return score(self, batches)

    monkeypatch.setattr(PairScorer, "score", killed)
    folders(tmp_path, "killed", "straight")
    with pytest.raises(KeyboardInterrupt):
        score_pairs.run(PARAMS, inputs, tmp_path / "killed", progress)
    score_pairs.run(PARAMS, inputs, tmp_path / "killed", progress)
    assert calls == [10, 15, 15, 15, 10]  # the positives and the first 15 negatives are not scored again
    score_pairs.run(PARAMS, inputs, tmp_path / "straight", progress)
    one, other = (load_from_disk(str(tmp_path / name / "arrow"))[:] for name in ("killed", "straight"))
    assert one == other


def test_rows_without_negatives_or_positives_keep_empty_lists(inputs, tmp_path, progress):
    rows = [("q0", ["d0", "d1"], []), ("q1", [], ["d2"])]
    inputs = inputs | {"training_set": save_training_set(tmp_path / "set", rows)}
    score_pairs.run(PARAMS, inputs, tmp_path, progress)
    found = load_from_disk(str(tmp_path / "arrow"))
    assert [len(row["positive_scores"]) for row in found] == [2, 0]
    assert [len(row["negative_scores"]) for row in found] == [0, 1]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("q0", ["d0"], ["d99"])], "document 'd99' is not in the corpus"),
        ([("q77", ["d0"], ["d1"])], "query 'q77' is not among the queries"),
    ],
)
def test_a_training_set_that_names_what_is_not_there_is_a_data_error(inputs, tmp_path, progress, rows, said):
    inputs = inputs | {"training_set": save_training_set(tmp_path / "set", rows)}
    with pytest.raises(DataError, match=said):
        score_pairs.run(PARAMS, inputs, tmp_path, progress)
