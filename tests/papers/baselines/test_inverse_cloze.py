from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from papers.baselines.inverse_cloze import InverseCloze
from papers.baselines.sentences import sentences
from repro.retrieval.training.objective import build
from tests.floats import close
from tests.papers.baselines.tiny_texts import ids, rows, texts
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

MASKING = {"rate": 0.15, "mask": 0.8, "random": 0.1}
OPTIONS = {
    "temperature": 1.0,
    "similarity": "dot",
    "weight": 0.5,
    "keep": 0.1,
    "sentence_ends": list(".,-)?"),
    "query_tokens": 20,
    "short_text": "whole",
    "mlm_on": "context",
    "mlm_reduction": "mean",
    "mlm_head": "checkpoint",
    "masking": MASKING,
    "resample": "epoch",
    "length": 48,
    "seed": 7,
}


def objective(*, dropout=0.0, **changes):
    torch.manual_seed(1)
    return build(InverseCloze, tiny_masked_lm(dropout=dropout), tiny_tokenizer(), OPTIONS | changes)


def vectors(ict, input_ids, attention_mask):
    return (
        ict.encoder.bert(input_ids, attention_mask=attention_mask).last_hidden_state[:, 0].double().tolist()
    )


def cross_entropy(queries, contexts):
    total = 0.0
    for i, query in enumerate(queries):
        products = [sum(x * y for x, y in zip(query, context, strict=True)) for context in contexts]
        total -= products[i] - math.log(sum(math.exp(one) for one in products))
    return total / len(queries)


@pytest.mark.parametrize(("mlm_on", "inputs"), [("context", "masked"), ("text", "context")])
def test_losses_are_those_of_the_equations_over_the_encoded_batch(mlm_on, inputs):
    ict = objective(mlm_on=mlm_on)
    batch = ict.collate(rows())
    losses = ict(batch)
    mask = batch["attention_mask" if mlm_on == "context" else "context_attention_mask"]
    contexts = vectors(ict, batch[f"{inputs}_ids"], mask)
    queries = vectors(ict, batch["query_ids"], batch["query_attention_mask"])
    close(losses["contrastive"], 0.5 * cross_entropy(queries, contexts))
    mlm = ict.encoder(
        batch["masked_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"]
    ).loss
    close(losses["mlm"], mlm)


def test_sentence_and_rest_are_the_text_and_the_whole_is_kept_as_often_as_said():
    ict, kept, several = objective(query_tokens=100), 0, 0
    for index, text in enumerate(texts(3000, words=60)):
        query, context, paired = ict.pair(text, 0, index)
        bounds = sentences(text, ict.ends)
        assert paired and len(query) > 0 and len(context) > 0
        if len(bounds) == 1:
            assert (query == text).all() and (context == text).all()
            continue
        several += 1
        if len(context) == len(text):
            kept += 1
            assert (context == text).all()
            assert any(np.array_equal(text[a:b], query) for a, b in bounds.tolist())
        else:
            rests = [(text[a:b], np.concatenate((text[:a], text[b:]))) for a, b in bounds.tolist()]
            assert any(np.array_equal(query, q) and np.array_equal(context, c) for q, c in rests)
    assert several > 1000 and kept / several == pytest.approx(0.1, abs=0.02)


def test_every_sentence_is_drawn_about_as_often():
    ict = objective(keep=0.0)
    text = ids("king . a queen . the river bridge . castle")
    lengths = [len(ict.pair(text, epoch, 3)[0]) for epoch in range(3000)]
    assert np.bincount(lengths)[1:] / 3000 == pytest.approx([0.25, 0.25, 0.25, 0.25], abs=0.03)


def test_a_long_sentence_is_cut_as_a_query_but_not_left_in_its_context():
    ict = objective(keep=0.0, query_tokens=5, length=30)
    batch = ict.collate(rows(count=20))
    assert batch["query_ids"].shape[1] <= 5 and batch["clean_ids"].shape[1] <= 30
    text = ids("king queen king queen king . river . bridge")
    for epoch in range(20):
        query, context, _ = ict.pair(text, epoch, 0)
        assert len(query) <= 3 and len(context) in (3, 7, 8)
    assert len(objective(query_tokens=1).pair(text, 0, 0)[0]) == 1


def test_texts_of_one_sentence_may_be_left_out_as_query_and_as_negative():
    one = {"input_ids": ids("king queen river"), "index": 9, "epoch": 0}
    ict = objective(short_text="drop")
    batch = ict.collate([*rows(), one])
    assert batch["paired"].tolist() == [True] * 5 + [False]
    alone = ict.collate(rows())
    close(ict(batch)["contrastive"], ict(alone)["contrastive"])
    assert objective(short_text="whole").collate([*rows(), one])["paired"].all()


def test_a_loss_that_nothing_in_the_batch_is_for_is_absent():
    ict = objective(short_text="drop")
    single = [{"input_ids": ids("king queen"), "index": i, "epoch": 0} for i in range(3)]
    assert set(ict(ict.collate(single))) <= {"mlm"}
    assert set(ict(ict.collate(rows(count=1)))) <= {"mlm"}
    unmasked = objective(masking=MASKING | {"rate": 0.0})
    assert set(unmasked(unmasked.collate(rows()))) == {"contrastive"}


def test_a_text_gives_the_same_sentence_and_mask_in_every_batch_and_others_in_other_epochs():
    ict, examples = objective(), rows()
    whole, part = ict.collate(examples), ict.collate(examples[3:4])
    for name in ("masked_ids", "labels", "query_ids"):
        size = part[name].shape[1]
        assert (whole[name][3, :size] == part[name][0]).all()
    for resample, same in (("epoch", False), ("once", True)):
        ict = objective(resample=resample)
        first = [ict.pair(row["input_ids"], 0, row["index"])[0].tolist() for row in examples]
        later = [ict.pair(row["input_ids"], 5, row["index"])[0].tolist() for row in examples]
        assert (first == later) is same
