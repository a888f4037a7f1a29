from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from papers.baselines.contrastive_term_distribution import contrastive_term_scores
from papers.baselines.contrastive_term_words import ContrastiveTermWords
from papers.baselines.function_words import FUNCTION_WORDS
from repro.progress import Progress
from repro.retrieval.nn.checkpoint import load_masked_lm
from repro.retrieval.stages import pretrain, term_statistics
from repro.retrieval.training.objective import build
from tests.killed import check_killed_and_continued
from tests.papers.baselines.tiny_texts import ids, rows, texts, written
from tests.stage_inputs import pretraining, texts_and_model
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

OPTIONS = {
    "pairs": 5,
    "set_size_mean": 3.0,
    "set_size": "positive",
    "set_most_tokens": 16,
    "repeats": False,
    "ties": "again",
    "resample": "epoch",
    "pieces": "sum",
    "saturation": 0.01,
    "contrast": "cross-entropy",
    "temperature": 1.0,
    "collection": "collection-frequency",
    "word_counts": "rarest-piece",
    "similarity": "dot",
    "scores": "pair-softmax",
    "margin": 1.0,
    "weight": 1.0,
    "contrastive_input": "masked",
    "mlm_reduction": "mean",
    "masking": {"rate": 0.15, "mask": 0.8, "random": 0.1, "unit": "whole-word", "most": 60},
    "stop_words": list(FUNCTION_WORDS),
    "set_words": "letters",
    "normalise_over": "drawable",
    "skip_share": 0.0,
    "skip_below": 0,
    "fewest_words": 0,
    "length": 48,
    "seed": 7,
}


def objective(statistics, *, dropout=0.0, **changes):
    torch.manual_seed(1)
    options = OPTIONS | {"statistics": statistics} | changes
    return build(ContrastiveTermWords, tiny_masked_lm(dropout=dropout, layers=2), tiny_tokenizer(), options)


def scores_by_word(b_prop, batch, n):
    attention = b_prop.cls_attention(batch["clean_ids"], batch["attention_mask"])[n].tolist()
    row = batch["clean_ids"][n].numpy()
    size = int(batch["attention_mask"][n].sum()) - 2
    sums, shares = {}, {}
    for first, end in (b_prop.words.spans(row[1 : size + 1]) + 1).tolist():
        pieces = range(first, end if b_prop.pieces == "sum" else first + 1)
        word = written(row[first:end])
        sums[word] = sums.get(word, 0.0) + sum(attention[place] for place in pieces)
        shares[word] = b_prop.collection.probabilities([row[first:end]])[0]
    both = (torch.tensor([list(one.values())], dtype=torch.float64) for one in (sums, shares))
    how = {"saturation": b_prop.saturation, "contrast": b_prop.contrast}
    c = contrastive_term_scores(*both, torch.ones(1, len(sums), dtype=torch.bool), **how)
    return dict(zip(sums, c[0].tolist(), strict=True))


@pytest.mark.parametrize(
    "changes", [{}, {"pieces": "first"}, {"contrast": "difference"}, {"saturation": None}]
)
def test_sets_are_of_the_texts_words_and_the_preferred_one_scores_higher(statistics, changes):
    b_prop = objective(statistics, set_most_tokens=100, **changes)
    batch = b_prop.collate(rows(count=12))
    found = b_prop.word_sets(batch)
    assert found["pair_mask"].float().mean() > 0.8
    for n, pairs in enumerate(found["set_ids"].view(12, 5, 2, -1)):
        c = scores_by_word(b_prop, batch, n)
        for pair in pairs[found["pair_mask"][n]]:
            words = [written(row[row > 4].tolist()).split() for row in pair]
            preferred, other = ([c[word] for word in one] for one in words)
            assert len(preferred) == len(other) and sum(preferred) >= sum(other) - 1e-6
            assert all(len(set(one)) == len(one) for one in words)


def test_words_are_drawn_by_the_softmax_of_their_scores(statistics):
    b_prop = objective(statistics, pairs=4000, set_size_mean=1e-9, set_size="plus-one", temperature=0.1)
    batch = b_prop.collate([{"input_ids": ids("kings and a queen by the river"), "index": 0, "epoch": 0}])
    c = scores_by_word(b_prop, batch, 0)
    found = b_prop.word_sets(batch)
    names = [written(row[row > 4].tolist()) for row in found["set_ids"]]
    weights = torch.tensor(list(c.values())).div(0.1).softmax(dim=0)
    expected = weights * (1 - weights) / (weights * (1 - weights)).sum()
    shares = [names.count(word) / sum(names.count(one) for one in c) for word in c]
    assert shares == pytest.approx(expected.tolist(), abs=0.02) and max(shares) > 0.35


def test_the_starting_model_draws_the_sets_however_far_the_training_is(statistics):
    b_prop = objective(statistics)
    batch = b_prop.collate(rows())
    before = b_prop.word_sets(batch)
    with torch.no_grad():
        for parameter in b_prop.parameters():
            parameter.mul_(1.5)
    b_prop.train()
    after = b_prop.word_sets(batch)
    assert all(torch.equal(before[name], after[name]) for name in before)
    own = tiny_masked_lm(layers=2)
    assert {id(p) for p in b_prop.parameters()} == {id(p) for p in b_prop.encoder.parameters()}
    assert set(b_prop.state_dict()) == {f"encoder.{name}" for name in own.state_dict()}


def test_sets_depend_on_the_text_its_index_and_the_epoch(statistics):
    for resample, same in (("once", True), ("epoch", False)):
        b_prop = objective(statistics, resample=resample)
        first = b_prop.word_sets(b_prop.collate(rows()))
        later = b_prop.word_sets(b_prop.collate(rows(epoch=3)))
        part = b_prop.word_sets(b_prop.collate(rows()[3:4]))
        assert torch.equal(first["set_ids"], later["set_ids"]) is same
        size = part["set_ids"].shape[1]
        assert torch.equal(first["set_ids"].view(5, 10, -1)[3, :, :size], part["set_ids"])


def test_texts_without_words_have_no_pairs(statistics):
    b_prop = objective(statistics, masking=OPTIONS["masking"] | {"rate": 0.0, "unit": "bernoulli"})
    empty = {"input_ids": ids("the of , and ."), "index": 0, "epoch": 0}
    assert b_prop(b_prop.collate([empty, empty])) == {}
    mixed = b_prop.collate([empty, rows(count=2)[1]])
    assert b_prop.word_sets(mixed)["pair_mask"].any(dim=1).tolist() == [False, True]
    assert b_prop(mixed)["preference"] > 0


@pytest.mark.parametrize("over", ["all", "drawable"])
@pytest.mark.parametrize(("fewest_words", "is_read"), [(4, True), (5, False)])
def test_a_text_of_too_few_distinct_words_to_draw_is_passed_over(statistics, over, fewest_words, is_read):
    text = {"input_ids": ids("kings of the castle , kings and king , the queen ."), "index": 0, "epoch": 0}
    batch = objective(statistics, fewest_words=fewest_words, normalise_over=over).collate([text])
    assert batch["read"].tolist() == [is_read]


@pytest.mark.nightly
def test_killed_and_resumed_it_ends_in_the_stage_with_the_same_bytes(tmp_path):
    inputs = texts_and_model(tmp_path, [{"input_ids": text} for text in texts(60, seed=3)], layers=2)
    (tmp_path / "statistics").mkdir()
    term_statistics.run({}, inputs, tmp_path / "statistics", Progress())
    path = "papers.baselines.contrastive_term_words:ContrastiveTermWords"
    given = {"texts_per_batch": 16, "max_steps": 40, "learning_rate": 5e-3, "length": 48}
    inputs |= {"statistics": tmp_path / "statistics"}
    check_killed_and_continued(
        pretrain, pretraining("b-prop", path, OPTIONS, version=2, **given), inputs, tmp_path
    )
    log = [json.loads(line) for line in (tmp_path / "straight/train_log.jsonl").read_text().splitlines()]
    for name in ("mlm", "preference"):
        assert np.mean([line[name] for line in log[-10:]]) < np.mean([line[name] for line in log[:10]])
    assert load_masked_lm(tmp_path / "straight/model").config.vocab_size == len(tiny_tokenizer())
