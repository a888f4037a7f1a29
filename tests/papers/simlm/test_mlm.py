from __future__ import annotations

import torch

from papers.simlm.mlm import PairMaskedLanguageModel
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.nn.objectives import MaskedLanguageModel
from tests.floats import close
from tests.papers.simlm.pretraining import loops, made, rows

PLAIN = {"masking": {"rate": 0.3, "mask": 0.8, "random": 0.1}, "reduction": "mean", "length": 48, "seed": 7}
OPTIONS = PLAIN | {"unit": "bernoulli"}


def objective(**changes) -> PairMaskedLanguageModel:
    return made(PairMaskedLanguageModel, OPTIONS, **changes)


def test_the_loss_is_of_masked_tokens_that_know_their_segment():
    mlm = objective()
    batch = mlm.collate(rows())
    hidden = mlm.encoder.bert(
        batch["masked_ids"], attention_mask=batch["attention_mask"], token_type_ids=batch["segments"]
    ).last_hidden_state
    expected = loops(mlm.encoder.cls(hidden), batch["clean_ids"], batch["labels"] != IGNORED)
    close(mlm(batch)["mlm"], expected)


def test_masks_are_those_without_segments_and_the_loss_is_another():
    pair, plain = objective(), made(MaskedLanguageModel, PLAIN)
    batch, without = pair.collate(rows()), plain.collate(rows())
    assert all(torch.equal(batch[name], value) for name, value in without.items())
    assert abs(pair(batch)["mlm"] - plain(without)["mlm"]) > 1e-6
    assert pair(pair.collate(rows(titles=False)))["mlm"] == plain(plain.collate(rows(titles=False)))["mlm"]


def test_whole_words_are_masked_up_to_a_quota_and_hidden_as_they_are_told_to_be():
    mlm = objective(unit="whole-word", masking={"rate": 0.3, "mask": 1.0, "random": 0.0})
    batch = mlm.collate(rows(20))
    for ids, labels, masked, attended in zip(
        batch["clean_ids"], batch["labels"], batch["masked_ids"], batch["attention_mask"], strict=True
    ):
        n, chosen = int(attended.sum()), (labels != IGNORED).numpy()
        words = mlm.words.numbers(ids.numpy()[:n])
        assert 1 <= chosen.sum() <= max(1, round(0.3 * n)) and not chosen[n:].any()
        hidden = set(words[chosen[:n]])
        assert all(chosen[:n][words == word].all() for word in hidden) and -1 not in hidden
        assert (masked[chosen] == mlm.tokenizer.mask_token_id).all() and (labels[chosen] == ids[chosen]).all()
        assert (masked[~chosen] == ids[~chosen]).all()
    assert torch.equal(mlm.collate(rows(20))["labels"], batch["labels"])
    assert not torch.equal(objective().collate(rows(20))["labels"], batch["labels"])


def test_single_tokens_are_drawn_each_by_itself_or_counted():
    counted = objective(masking=PLAIN["masking"] | {"draw": "count"}).collate(rows(20))
    chosen = (counted["labels"] != IGNORED).sum(dim=1)
    assert chosen.tolist() == [max(1, round(0.3 * int(n))) for n in counted["attention_mask"].sum(dim=1)]
    each = objective().collate(rows(20))["labels"]
    assert (each != IGNORED).sum(dim=1).tolist() != chosen.tolist()
