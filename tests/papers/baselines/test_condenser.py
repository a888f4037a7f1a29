from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.baselines.condenser import Condenser
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.training.objective import build
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {
    "masking": {"rate": 0.3, "mask": 0.8, "random": 0.1},
    "unit": "whole-word",
    "quota": "text",
    "head_layers": 2,
    "early_share": 0.5,
    "late": True,
    "length": 48,
    "seed": 7,
}


def objective(*, layers=4, **changes) -> Condenser:
    torch.manual_seed(1)
    model = tiny_masked_lm(dropout=0.0, layers=layers)
    return build(Condenser, model, tiny_tokenizer(), OPTIONS | changes)


def rows(count=4, words=16, epoch=0):
    generator, tokenizer = np.random.default_rng(5), tiny_tokenizer()
    texts = [f"stone bridge[SEP]{tiny_text(generator, words + n)}" for n in range(count)]
    encoded = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return [{"input_ids": np.array(ids), "epoch": epoch, "index": n} for n, ids in enumerate(encoded)]


def loops(logits, labels) -> float:
    losses = [
        torch.logsumexp(logits[n, i], 0) - logits[n, i, labels[n, i]]
        for n, i in (labels != IGNORED).nonzero().tolist()
    ]
    return (sum(losses) / len(losses)).item()


def test_the_losses_are_those_of_the_head_and_of_the_last_layer():
    condenser = objective().double()
    batch = condenser.collate(rows())
    bert, mask = condenser.encoder, batch["attention_mask"]
    out = bert(
        batch["masked_ids"], attention_mask=mask, token_type_ids=batch["segments"], output_hidden_states=True
    )
    assert len(out.hidden_states) == 5
    mixed = torch.cat((out.hidden_states[4][:, :1], out.hidden_states[2][:, 1:]), dim=1)
    losses = condenser(batch)
    close(losses["head"], loops(bert.cls(condenser.head(mixed, mask)), batch["labels"]))
    close(losses["late"], loops(out.logits, batch["labels"]))
    assert set(objective(late=False)(batch)) == {"head"}


@pytest.mark.parametrize(("layers", "share", "early"), [(12, 0.5, 6), (4, 0.5, 2), (1, 0.5, 0), (2, 0, 0)])
def test_the_early_layer_lies_at_a_share_of_the_depth(layers, share, early):
    assert objective(layers=layers, early_share=share).early == early
