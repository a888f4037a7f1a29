import numpy as np
import pytest

from repro.errors import DataError
from repro.retrieval.nn.checkpoint import load_encoder
from repro.retrieval.nn.encoder import Projector, saved_projector
from repro.retrieval.stages import finetune
from repro.retrieval.stages.finetune import Groups, next_window
from tests.retrieval.stages.conftest import logged, save_training_set, texts_of
from tests.stage_inputs import fine_tuning
from tests.tiny_models import save_tiny_model, tiny_tokenizer

CONTRASTIVE = {"name": "contrastive", "path": "repro.retrieval.nn.bi_encoder:BiEncoderContrastive"}
OPTIONS = {"temperature": 1.0, "similarity": "dot", "negatives": "in-batch"}
OPTIONS |= {"projector": "none", "projector_start": "pre-trained"}


def params(*, options=OPTIONS, **changes):
    return fine_tuning(**CONTRASTIVE, options=options, **changes)


@pytest.fixture
def inputs(judged_training):
    return judged_training


def groups(inputs, **changes):
    options = {"passages": 4, "seed": 42} | changes
    return Groups(inputs["training_set"], inputs["corpus"], inputs["queries"], **options)


def test_batches_made_by_other_processes_change_nothing(inputs, tmp_path, progress, monkeypatch):
    from repro.retrieval.training import parts

    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    tiny_tokenizer()(["the king"] * 100)  # threads in this process, which a forked one does not have
    for name, workers in (("none", 0), ("two", 2)):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(parts, "collating_processes", lambda gpu, number=workers: number)
        finetune.run(params(max_steps=4), inputs, tmp_path / name, progress)
    one, other = ((tmp_path / name / "model/model.safetensors").read_bytes() for name in ("none", "two"))
    assert one == other


def test_the_loss_falls(inputs, tmp_path, progress):
    options = params()["options"] | {"similarity": "cosine", "temperature": 0.1}
    given = params(epochs=20, learning_rate=0.005, pooling="mean", options=options)
    finetune.run(given, inputs, tmp_path, progress)
    losses = logged(tmp_path, "contrastive")
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.3
    assert load_encoder(tmp_path / "model").config.hidden_size == 32


def test_a_group_is_the_querys_text_with_the_passages_that_negatives_chooses(inputs):
    from datasets import load_from_disk

    corpus = {
        row["id"]: {"title": row["title"], "text": row["text"]}
        for row in load_from_disk(str(inputs["corpus"] / "arrow"))
    }
    texts = texts_of(inputs["queries"])
    found = groups(inputs).__getitems__([(0, 3), (2, 7)])
    for example, (epoch, index) in zip(found, [(0, 3), (2, 7)], strict=True):
        assert (example["epoch"], example["index"], example["query"]) == (epoch, index, texts[index])
        negatives = [f"d{index + other}" for other in range(1, 11)]
        chosen = next_window([f"d{index}"], negatives, passages=4, seed=42, index=index, epoch=epoch)
        assert example["passages"] == [corpus[name] for name in chosen]
        assert example["passages"][0] == corpus[f"d{index}"]


def test_queries_without_a_negative_or_positive_are_left_out_and_counted(inputs, tmp_path, progress):
    rows = [("q0", ["d0"], []), ("q1", ["d1"], ["d2"]), ("q2", [], ["d3"])]
    rows += [("q3", ["d3", "d4"], ["d5", "d6"])]
    inputs = inputs | {"training_set": save_training_set(tmp_path / "set", rows)}
    found = groups(inputs)
    assert len(found) == 2 and found.left_out == 2
    assert [example["index"] for example in found.__getitems__([(0, 0), (0, 1)])] == [1, 3]
    assert len(groups(inputs, passages=1)) == 3
    facts = finetune.run(params(max_steps=2), inputs, tmp_path, progress)
    assert facts["queries_left_out"] == 2 and facts["examples"] == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("q0", ["d0"], ["d99"])], "document 'd99' is not in the corpus"),
        ([("q77", ["d0"], ["d1"])], "query 'q77' is not among the queries"),
        ([("q0", ["d0"], [])], "no query has both a positive and a negative"),
    ],
)
def test_a_training_set_that_names_what_is_not_there_is_a_data_error(inputs, tmp_path, progress, rows, said):
    inputs = inputs | {"training_set": save_training_set(tmp_path / "set", rows)}
    with pytest.raises(DataError, match=said):
        finetune.run(params(), inputs, tmp_path, progress)


def test_a_pre_trained_projector_is_trained_on_if_asked_for(inputs, tmp_path, progress):
    save_tiny_model(tmp_path / "start")
    Projector(32, architecture="nonlinear", layers=1, initializer_range=0.5).save(
        tmp_path / "start/model", encodes=False
    )
    inputs = inputs | {"model": tmp_path / "start"}
    for projector in ("nonlinear", "none"):
        (tmp_path / projector).mkdir()
        given = params(max_steps=2, options=params()["options"] | {"projector": projector})
        finetune.run(given, inputs, tmp_path / projector, progress)
    kept, encodes = saved_projector(tmp_path / "nonlinear/model")
    assert encodes and kept.dense.weight.std().item() == pytest.approx(0.5, rel=0.2)
    assert saved_projector(tmp_path / "none/model") is None
