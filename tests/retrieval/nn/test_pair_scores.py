from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from datasets import Dataset

from repro.errors import StageError, UsageError
from repro.retrieval.nn import cross_encoder
from repro.retrieval.nn.checkpoint import save_model
from repro.retrieval.nn.cross_encoder import PairScorer, PairTexts, load_cross_encoder, score_pairs
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

HOW = {"length": 20, "separator": ": ", "precision": "fp32"}


@pytest.fixture
def folder(tmp_path):
    save_model(tiny_masked_lm(), tiny_tokenizer(), tmp_path / "start")
    torch.manual_seed(0)
    model = load_cross_encoder(tmp_path / "start")
    for parameter in model.parameters():
        if parameter.dim() == 2:  # a new model's scores are too close to each other
            parameter.data *= 8
    save_model(model, tiny_tokenizer(), tmp_path / "model")
    return tmp_path / "model"


def pairs(tmp_path, count=50):
    generator = np.random.default_rng(0)
    rows = {
        "id": [str(n) for n in range(30)],
        "title": ["" if n % 3 else "king" for n in range(30)],
        "text": [tiny_text(generator, int(words)) for words in generator.integers(1, 30, 30)],
    }
    Dataset.from_dict(rows).save_to_disk(str(tmp_path / "corpus/arrow"))
    places = {"query": generator.integers(0, 4, count), "row": generator.integers(0, 30, count)}
    return PairTexts(["river", "king of music", "the sea", "a"], tmp_path / "corpus", **places), rows, places


class Scoring:
    """A scorer of texts as they are, by a function of N queries and N passages."""

    def __init__(self, function):
        self.function = function

    def prepared(self, queries, passages):
        yield list(range(len(queries))), [(queries, passages)]

    def score(self, batches):
        return self.function(*batches[0])


def test_scores_are_those_of_one_pair_after_another_whatever_the_batches(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(cross_encoder.BATCH, "cpu", 7)
    monkeypatch.setattr(cross_encoder, "BLOCK", 20)
    texts, rows, places = pairs(tmp_path)
    found = score_pairs(
        texts, PairScorer(folder, **HOW), decimals=None, scratch=tmp_path / "s", advance=print
    )
    model = load_cross_encoder(folder).eval()
    for score, query, row in zip(found, places["query"], places["row"], strict=True):
        title = f"{rows['title'][row]}: " if rows["title"][row] else ""
        inputs = tiny_tokenizer()(
            texts.queries[query],
            title + rows["text"][row],
            truncation=True,
            max_length=20,
            return_tensors="pt",
        )
        close(score, model(**inputs).logits.item(), dtype="float32")
    assert found.dtype == np.float32 and found.std() > 0.01


def test_finished_blocks_are_not_scored_again_and_damaged_ones_are(tmp_path, monkeypatch):
    monkeypatch.setattr(cross_encoder, "BLOCK", 20)
    texts, _, _ = pairs(tmp_path)
    calls, advanced = [], []

    def score(queries, passages):
        calls.append(len(queries))
        if len(calls) == 3:
            raise KeyboardInterrupt
        both = zip(queries, passages, strict=True)
        return np.array([len(q) + len(p["text"]) / 1000 for q, p in both], dtype=np.float32)

    how = {"decimals": None, "scratch": tmp_path / "scratch", "advance": advanced.append}
    with pytest.raises(KeyboardInterrupt):
        score_pairs(texts, Scoring(score), **how)
    damaged = next((tmp_path / "scratch").glob("20-*.npy"))
    damaged.write_bytes(damaged.read_bytes()[:-4] + b"xxxx")
    found = score_pairs(texts, Scoring(score), **how)
    assert calls == [20, 20, 10, 20, 10] and sum(advanced) == 40 + 50
    everything = score_pairs(
        texts, Scoring(score), decimals=None, scratch=tmp_path / "other", advance=advanced.append
    )
    assert (found == everything).all()


def test_pairs_are_made_tokens_while_the_model_is_at_those_before(tmp_path, monkeypatch):
    monkeypatch.setattr(cross_encoder, "BLOCK", 20)
    texts, _, _ = pairs(tmp_path, count=40)
    ready, waited, prepared = threading.Event(), [], []

    def score(queries, passages):
        waited.append(ready.wait(timeout=10))  # nobody asks for the second block here
        return np.zeros(len(queries), dtype=np.float32)

    class Ahead(Scoring):
        def prepared(self, queries, passages):
            prepared.append(len(queries))
            if len(prepared) == 2:
                ready.set()
            yield from super().prepared(queries, passages)

    score_pairs(texts, Ahead(score), decimals=None, scratch=tmp_path / "s", advance=print)
    assert waited == [True, True] and prepared == [20, 20]


def test_scores_are_rounded_in_double(tmp_path):
    texts, _, _ = pairs(tmp_path, count=3)
    given = np.float32([1.234567, -0.000004, 2])
    found = score_pairs(texts, Scoring(lambda q, p: given), decimals=5, scratch=tmp_path / "s", advance=print)
    assert found.tolist() == [1.23457, 0.0, 2.0]


def test_nothing_to_score_is_nothing(tmp_path):
    texts, _, _ = pairs(tmp_path, count=0)
    assert len(score_pairs(texts, None, decimals=5, scratch=tmp_path / "s", advance=print)) == 0


def test_a_score_that_is_not_finite_stops_the_stage(folder):
    scorer = PairScorer(folder, **HOW)
    torch.nn.init.constant_(scorer.model.classifier.weight, torch.inf)
    with pytest.raises(StageError, match="not finite"):
        scorer(["king"], [{"title": "", "text": "king"}])


def test_a_length_beyond_the_models_positions_is_a_usage_error(folder):
    with pytest.raises(UsageError, match="65 tokens"):
        PairScorer(folder, **HOW | {"length": 65})
