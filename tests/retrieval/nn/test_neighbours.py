import math

import numpy as np
import pytest
import torch

from repro.errors import UsageError
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.nn.objectives import NeighbouringSentences
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

MASKING = {"rate": 0.3, "mask": 0.8, "random": 0.1}
END = tiny_tokenizer().convert_tokens_to_ids(".")


def objective(**changes):
    options = {"masking": MASKING, "sentence_end": ".", "length": 32, "seed": 3} | changes
    return NeighbouringSentences(tiny_masked_lm(dropout=0.0), tiny_tokenizer(), **options)


def rows(*sentences_of, epoch=0):
    generator = np.random.default_rng(1)
    texts = [
        np.concatenate([[*generator.integers(20, 60, 3 + place), END] for place in range(count)])
        for count in sentences_of
    ]
    return [{"input_ids": text, "index": place, "epoch": epoch} for place, text in enumerate(texts)]


def test_the_losses_are_the_equation_written_as_loops():
    made = objective().double()
    batch = made.collate(rows(2, 3, 1, 4))
    out = made.encoder(batch["masked_ids"], attention_mask=batch["attention_mask"], output_hidden_states=True)
    logp, masked = out.logits.log_softmax(-1), []
    for row, labels in enumerate(batch["labels"].tolist()):
        masked += [-logp[row, place, token].item() for place, token in enumerate(labels) if token != IGNORED]
    vectors = out.hidden_states[-1][:, 0].tolist()
    pairs = [(vectors[i], vectors[i + 4]) for i in (0, 1, 3)]
    expected = 0.0
    for first, _ in pairs:
        scores = [math.exp(sum(a * b for a, b in zip(first, other, strict=True))) for _, other in pairs]
        own = scores[[first is f for f, _ in pairs].index(True)]
        expected -= math.log(own / sum(scores)) / len(pairs)
    losses = made(batch)
    close(losses["mlm"], sum(masked) / len(masked))
    close(losses["neighbours"], expected)
    assert set(losses) == {"mlm", "neighbours"}


def test_a_pair_is_two_sentences_that_follow_one_another_and_any_such_pair_is_drawn():
    made, [row] = objective(), rows(4)
    text = row["input_ids"]
    ends = np.flatnonzero(text == END) + 1
    sentences = [text[a:b].tolist() for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    drawn = set()
    for seed in range(40):
        first, second = (part.tolist() for part in made.pair(text, np.random.default_rng(seed)))
        place = sentences.index(first)
        assert second == sentences[place + 1]
        drawn.add(place)
    assert drawn == {0, 1, 2}


def test_a_text_of_one_sentence_has_no_neighbour():
    made, [row] = objective(), rows(1)
    first, second = made.pair(row["input_ids"], np.random.default_rng(0))
    assert first.tolist() == row["input_ids"].tolist() and len(second) == 0
    batch = made.collate(rows(1, 1, 2))
    assert batch["paired"].tolist() == [False, False, True]
    assert "neighbours" not in made(batch)


def test_sentences_change_with_the_epoch_and_only_with_it():
    made = objective()
    ids = [made.collate(rows(8, 8, epoch=epoch))["clean_ids"] for epoch in (0, 0, 1)]
    assert torch.equal(ids[0], ids[1])
    assert ids[0].shape != ids[2].shape or not torch.equal(ids[0], ids[2])


def test_a_sentence_end_that_is_no_token_is_refused():
    with pytest.raises(UsageError, match="not in the model's vocabulary"):
        objective(sentence_end="nowhere")
