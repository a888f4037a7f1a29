import numpy as np
import pytest
from datasets import load_from_disk

from repro.errors import DataError, UsageError
from repro.progress import Progress
from repro.retrieval.datasets.arrow import SCORED_EXAMPLES, write_rows
from repro.retrieval.stages import finetune, score_pairs
from repro.retrieval.stages.finetune import Groups
from tests.killed import check_killed_and_continued
from tests.retrieval.stages.conftest import logged, save_training_set
from tests.stage_inputs import fine_tuning

COSINE = {"name": "cosine-contrastive", "version": 1, "path": "repro.retrieval.nn.bi_encoder:CosineBiEncoder"}
DISTIL = {"name": "distillation", "version": 1, "path": "repro.retrieval.nn.bi_encoder:DistilledBiEncoder"}
CROSS = {"name": "cross-encoder", "version": 2, "path": "repro.retrieval.nn.cross_encoder:CrossEncoder"}
RETRIEVER = {"temperature": 0.02, "temperature_warmup": True, "terms": "four-blocks"}
RETRIEVER |= {"shares": 1, "weight": 0.2}
OPTIONS = {
    "cosine-contrastive": RETRIEVER,
    "distillation": RETRIEVER | {"teacher_temperature": 1.0, "student_temperature": 0.02},
    "cross-encoder": {"trained_passages": 2, "regulariser": "r-drop"},
}


def params(objective, **changes):
    given = {"options": OPTIONS[objective["name"]], "warmup_ratio": 0.0, "warmup_steps": 4}
    given |= {"schedule": "logarithmic", "negative_choice": "slice", "separator": "pair"}
    if objective is not CROSS:
        return fine_tuning(**objective, **given | changes)
    given = fine_tuning(**objective, **given | {"separator": ": "} | changes)
    return {name: value for name, value in given.items() if name not in ("pooling", "query_length")}


@pytest.fixture(scope="session")
def scored_set(tmp_path_factory, reranker, training_set, corpus, queries):
    folder = tmp_path_factory.mktemp("scored")
    how = {"per_query": 10, "length": 32, "separator": ": ", "decimals": 5, "precision": "fp32"}
    inputs = {"model": reranker, "training_set": training_set, "corpus": corpus, "queries": queries}
    score_pairs.run(how, inputs, folder, Progress())
    return folder


@pytest.fixture
def inputs(judged_training, scored_set):
    return judged_training | {"training_set": scored_set}


@pytest.mark.nightly
@pytest.mark.parametrize("objective", [COSINE, DISTIL, CROSS], ids=lambda objective: objective["name"])
def test_a_training_killed_at_step_7_ends_with_the_same_bytes(inputs, tmp_path, objective):
    check_killed_and_continued(finetune, params(objective), inputs, tmp_path)


@pytest.mark.parametrize(
    ("objective", "loss", "options"),
    [
        (COSINE, "contrastive", {"temperature": 0.1, "temperature_warmup": False, "weight": 1.0}),
        (DISTIL, "divergence", {"temperature_warmup": False, "weight": 0.0}),
        (CROSS, "listwise", {"trained_passages": 4}),
    ],
)
def test_the_loss_falls(inputs, tmp_path, progress, objective, loss, options):
    how = {"epochs": 40, "learning_rate": 0.005, "options": OPTIONS[objective["name"]] | options}
    given = params(objective, **how, **({} if objective is CROSS else {"pooling": "mean"}))
    finetune.run(given, inputs, tmp_path, progress)
    found = logged(tmp_path, loss)
    assert np.mean(found[-15:]) < 0.8 * np.mean(found[:10])


def test_teacher_scores_go_with_their_passages(inputs):
    how = {"passages": 4, "seed": 1, "negative_choice": "slice"}
    found = Groups(inputs["training_set"], inputs["corpus"], inputs["queries"], **how)
    corpus = {row["text"]: row["id"] for row in load_from_disk(str(inputs["corpus"] / "arrow"))}
    rows = load_from_disk(str(inputs["training_set"] / "arrow"))
    places = [(epoch, index) for epoch in range(5) for index in range(10)]
    for example, (epoch, index) in zip(found.__getitems__(places), places, strict=True):
        row = rows[index]
        score = dict(zip(row["negatives"], row["negative_scores"], strict=True))
        score[row["positives"][0]] = row["positive_scores"][0]
        chosen = [corpus[p["text"]] for p in example["passages"]]
        assert example["scores"] == [score[document] for document in chosen]
        around = [row["negatives"][((epoch + 1) * 3 + n) % 10] for n in range(3)]
        assert chosen == [row["positives"][0], *around]


def test_confident_positives_take_turns_without_the_others(inputs, tmp_path):
    row = {
        "query": "q0",
        "positives": ["d0", "d1", "d2"],
        "positive_scores": [1000.0, 3.0, 9.0],
        "negatives": ["d3", "d4"],
        "negative_scores": [5.0, 1.0],
    }
    write_rows([row], SCORED_EXAMPLES, tmp_path / "arrow")
    for choice, scores in (("confident", {1000.0, 9.0}), ("all", {1000.0, 3.0, 9.0})):
        how = {"passages": 2, "seed": 0, "positive_choice": choice, "negative_choice": "slice"}
        found = Groups(tmp_path, inputs["corpus"], inputs["queries"], **how)
        examples = found.__getitems__([(epoch, 0) for epoch in range(6)])
        assert {example["scores"][0] for example in examples} == scores


def test_a_choice_that_cannot_be_made_is_a_usage_error(inputs, training_set, tmp_path, progress):
    given = params(COSINE, positive_choice="confident")
    with pytest.raises(UsageError, match="no scores to choose confident positives by"):
        finetune.run(given, inputs | {"training_set": training_set}, tmp_path, progress)


def test_a_set_scored_in_part_or_not_at_all_cannot_be_distilled(inputs, training_set, tmp_path, progress):
    with pytest.raises(DataError, match="no scores to distil"):
        finetune.run(params(DISTIL), inputs | {"training_set": training_set}, tmp_path, progress)
    from repro.retrieval.stages import union

    plain = save_training_set(tmp_path / "plain", [("q0", ["d0"], ["d1"])])
    (tmp_path / "both").mkdir()
    union.run({}, {"training_sets": [inputs["training_set"], plain]}, tmp_path / "both", progress)
    with pytest.raises(DataError, match="some of its rows have scores and some have none"):
        finetune.run(params(DISTIL), inputs | {"training_set": tmp_path / "both"}, tmp_path, progress)


def test_a_pair_longer_than_the_models_positions_is_a_usage_error(inputs, tmp_path, progress):
    with pytest.raises(UsageError, match="65 tokens is more than the model's 64 positions"):
        finetune.run(params(CROSS, passage_length=65), inputs, tmp_path, progress)
