import time

import numpy as np
import pytest
import torch

from repro.errors import BlockedError, DataError, UsageError
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.nn.encoder import saved_projector
from repro.retrieval.stages import pretrain
from repro.retrieval.stages.pretrain import SpanRows, TokenRows
from tests.retrieval.nn import text_contrast
from tests.retrieval.stages.conftest import logged
from tests.stage_inputs import pretraining
from tests.tiny_models import tiny_tokenizer

MLM = {"name": "mlm", "version": 1, "path": "repro.retrieval.nn.objectives:MaskedLanguageModel"}
CONTRAST = {"name": "text-contrast", "version": 1, "path": f"{text_contrast.__name__}:TextContrast"}
MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1}
OPTIONS = {"masking": text_contrast.OPTIONS["masking"]}


def params(*, objective=MLM, options=None, **changes):
    options = options or {"masking": MASKING, "reduction": "mean"}
    return pretraining(**objective, options=options, **{"weight_decay": 0.01} | changes)


def weights(folder) -> bytes:
    return (folder / "model/model.safetensors").read_bytes()


def test_the_loss_falls_and_the_model_loads_with_its_head(model, tokens, tmp_path, progress):
    begun = time.monotonic()
    facts = pretrain.run(
        params(max_steps=60, learning_rate=0.01), {"model": model, "tokens": tokens}, tmp_path, progress
    )
    assert 0 < facts["seconds"] <= time.monotonic() - begun + 0.1
    losses = logged(tmp_path, "mlm")
    assert len(losses) == 60 and np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.1
    assert facts["steps"] == 60 and facts["examples"] == len(TokenRows(tokens))
    assert load_masked_lm(tmp_path / "model").config.vocab_size == len(tiny_tokenizer())


def test_a_new_projector_is_kept_beside_the_encoder(model, tokens, tmp_path, progress):
    given = params(objective=CONTRAST, options=OPTIONS, max_steps=3)
    facts = pretrain.run(given, {"model": model, "tokens": tokens}, tmp_path, progress)
    projector, encodes = saved_projector(tmp_path / "model")
    assert projector.architecture == "nonlinear" and not encodes
    assert set(facts["losses"]) == {"loss", "mlm", "contrastive"}


def test_the_global_generator_has_no_say(model, tokens, tmp_path, progress):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        torch.manual_seed(ord(name))
        np.random.seed(ord(name))
        given = params(objective=CONTRAST, options=OPTIONS, max_steps=2)
        pretrain.run(given, {"model": model, "tokens": tokens}, tmp_path / name, progress)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def test_rows_are_fetched_by_place(tokens):
    from datasets import load_from_disk

    rows, all_ids = TokenRows(tokens), load_from_disk(str(tokens / "arrow"))["input_ids"][:]
    found = rows.__getitems__([(0, 5), (3, 2), (0, 5)])
    assert [(row["epoch"], row["index"]) for row in found] == [(0, 5), (3, 2), (0, 5)]
    assert [row["input_ids"].tolist() for row in found] == [all_ids[5], all_ids[2], all_ids[5]]
    assert np.issubdtype(found[0]["input_ids"].dtype, np.integer)
    assert set(found[0]) == {"input_ids", "epoch", "index"}


@pytest.mark.parametrize("places", [[0], [1, 2], [2, 0, 1]])
def test_rows_of_documents_in_spans_say_where_sentences_and_spans_are(tmp_path, places):
    from datasets import Dataset

    rows = [
        {"document": "a", "chunk": 0, "input_ids": [5, 6, 7], "sentences": [2, 1], "spans": [1, 1]},
        {"document": "b", "chunk": 0, "input_ids": [5, 6, 8, 9], "sentences": [1, 1, 2], "spans": [2, 1]},
        {"document": "c", "chunk": 0, "input_ids": [8, 6, 8, 5], "sentences": [1, 2, 1], "spans": [1, 2]},
    ]
    Dataset.from_list(rows).save_to_disk(str(tmp_path / "arrow"))
    for place, row in zip(places, TokenRows(tmp_path).__getitems__([(4, n) for n in places]), strict=True):
        for name in ("input_ids", "sentences", "spans"):
            assert row[name].tolist() == rows[place][name] and np.issubdtype(row[name].dtype, np.integer)
        assert (row["epoch"], row["index"]) == (4, place) and "document" not in row


def test_every_span_is_an_example_that_has_all_of_its_row_and_says_which_span_it_is(tmp_path):
    from datasets import Dataset

    spans = [[1, 1], [2, 1, 1], [1]]
    rows = [{"input_ids": [5] * sum(of), "sentences": [1] * sum(of), "spans": of} for of in spans]
    Dataset.from_list(rows).save_to_disk(str(tmp_path / "arrow"))
    examples = SpanRows(tmp_path)
    assert len(examples) == 6
    fetched = examples.__getitems__([(2, 5), *((1, index) for index in range(6))])
    assert [row["spans"].tolist() for row in fetched] == [spans[row] for row in (2, 0, 0, 1, 1, 1, 2)]
    assert [row["anchor"] for row in fetched] == [0, 0, 1, 0, 1, 2, 0]
    assert [(row["epoch"], row["index"]) for row in fetched] == [(2, 5), *((1, index) for index in range(6))]


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"objective": MLM | {"version": 2}}, UsageError, "has version 1, the plan says 2"),
        ({"epochs": None, "max_steps": None}, UsageError, "epochs or max_steps"),
        ({"length": 65}, UsageError, "65 tokens is more than the model's 64 positions"),
    ],
)
def test_a_wrong_objective_or_setting_is_refused(model, tokens, tmp_path, progress, changes, error, said):
    with pytest.raises(error, match=said):
        pretrain.run(params(**changes), {"model": model, "tokens": tokens}, tmp_path, progress)


def test_half_precision_without_a_gpu_is_blocked_before_anything_is_read(tmp_path, progress):
    with pytest.raises(BlockedError):
        pretrain.run(params(precision="fp16"), {"model": tmp_path, "tokens": tmp_path}, tmp_path, progress)


def test_a_folder_that_is_no_model_is_a_data_error(tokens, tmp_path, progress):
    with pytest.raises(DataError):
        pretrain.run(params(), {"model": tmp_path, "tokens": tokens}, tmp_path, progress)
