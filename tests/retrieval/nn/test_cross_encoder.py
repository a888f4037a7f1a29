import math
import threading

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset

from repro.errors import StageError, UsageError
from repro.retrieval.nn import cross_encoder
from repro.retrieval.nn.checkpoint import save_model
from repro.retrieval.nn.contrastive import listwise
from repro.retrieval.nn.cross_encoder import (
    CrossEncoder,
    PairScorer,
    PairTexts,
    hardest,
    load_cross_encoder,
    score_pairs,
)
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {"trained_passages": 2, "regulariser": "none", "passage_length": 14, "separator": ": "}
WORDS = {"king": ["ship", "stone", "music", "glass"], "river": ["sailor", "battle", "storm", "light"]}
EXAMPLES = [
    {
        "query": f"who was {query}",
        "passages": [
            {"title": "" if n % 2 else word, "text": f"the {word} {query}"} for n, word in enumerate(words)
        ],
    }
    for query, words in WORDS.items()
]
HOW = {"length": 20, "separator": ": ", "precision": "fp32"}


def objective(start, *, dropout=0.0, **changes):
    torch.manual_seed(3)
    model = load_cross_encoder(start)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    return CrossEncoder(model, tiny_tokenizer(), **OPTIONS | changes).train()


def test_query_and_passage_are_a_pair_of_segments(start):
    batch = objective(start).collate(EXAMPLES)
    assert batch["input_ids"].shape[:2] == (2, 4)
    tokens = tiny_tokenizer().convert_ids_to_tokens(batch["input_ids"][0, 0])
    assert " ".join(tokens).split(" [PAD]")[0] == "[CLS] [UNK] was king [SEP] ship [UNK] the ship king [SEP]"
    untitled = tiny_tokenizer().convert_ids_to_tokens(batch["input_ids"][0, 1])
    assert " ".join(untitled).split(" [PAD]")[0] == "[CLS] [UNK] was king [SEP] the stone king [SEP]"
    assert batch["token_type_ids"][0, 0].tolist()[:5] == [0] * 5 and batch["token_type_ids"][0, 0, 5] == 1


def test_the_listwise_loss_is_equation_4_written_as_loops():
    scores = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = -sum(math.log(math.exp(row[0]) / sum(map(math.exp, row))) for row in scores.tolist()) / 5
    close(listwise(scores), expected)
    close(listwise(scores[:, [0, 3, 1, 2]] + 5), expected)


def test_the_positive_and_the_hardest_negatives_are_kept():
    scores = torch.tensor([[-9.0, 1.0, 3.0, 2.0], [5.0, 0.0, -1.0, 4.0]])
    assert hardest(scores, count=3).tolist() == [[0, 2, 3], [0, 3, 1]]
    assert hardest(scores, count=2).tolist() == [[0, 2], [0, 3]]


def test_only_the_hardest_are_trained_on(start):
    cross_encoder = objective(start)
    batch = cross_encoder.collate(EXAMPLES)
    scores = cross_encoder._scores(batch)
    chosen = scores.gather(1, hardest(scores, count=2))
    loss = cross_encoder(batch)["listwise"]
    close(loss, listwise(chosen))
    assert loss != listwise(scores)
    whole = objective(start, trained_passages=64)
    close(whole(batch)["listwise"], listwise(scores))


def test_the_selection_knows_no_dropout_and_the_training_does(start):
    cross_encoder = objective(start, dropout=0.5)
    batch = cross_encoder.collate(EXAMPLES)
    scores = cross_encoder.eval()._scores(batch)
    cross_encoder.train()
    torch.manual_seed(0)
    chosen = hardest(scores, count=2)
    rows = torch.arange(2).unsqueeze(1)
    expected = listwise(cross_encoder._scores({name: value[rows, chosen] for name, value in batch.items()}))
    torch.manual_seed(0)
    assert cross_encoder(batch)["listwise"] == expected
    assert cross_encoder.model.training


def test_in_half_precision_every_weight_still_gets_its_gradient_after_the_selection(start):
    cross_encoder = objective(start, regulariser="r-drop")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = cross_encoder(cross_encoder.collate(EXAMPLES))
    assert losses["listwise"].dtype == torch.float32
    sum(losses.values()).backward()
    assert all(parameter.grad is not None for parameter in cross_encoder.parameters())


def test_r_drop_is_both_divergences_between_two_passes_halved(start):
    cross_encoder = objective(start, dropout=0.3, regulariser="r-drop", trained_passages=4)
    cross_encoder.model.classifier.weight.data *= 100  # a new head's scores are too close to each other
    batch = cross_encoder.collate(EXAMPLES)
    torch.manual_seed(1)
    losses = cross_encoder(batch)
    torch.manual_seed(1)
    both = {name: torch.cat((value, value)) for name, value in batch.items()}
    twice = cross_encoder._scores(both).double()
    total = 0.0
    for one, two in zip(twice[:2].tolist(), twice[2:].tolist(), strict=True):
        p, q = ([math.exp(x) / sum(map(math.exp, row)) for x in row] for row in (one, two))
        total += sum(a * math.log(a / b) + b * math.log(b / a) for a, b in zip(p, q, strict=True))
    close(losses["r_drop"], total / 2 / 2)
    expected = (listwise(twice[:2]) + listwise(twice[2:])) / 2
    close(losses["listwise"], expected.item())
    assert losses["r_drop"] > 0.01


def test_without_dropout_or_out_of_training_texts_are_read_once(start):
    cross_encoder = objective(start, regulariser="r-drop")
    batch = cross_encoder.collate(EXAMPLES)
    assert cross_encoder(batch) == objective(start)(batch)
    dropping = objective(start, regulariser="r-drop", dropout=0.3)
    assert set(dropping(batch)) == {"listwise", "r_drop"}
    assert set(dropping.eval()(batch)) == {"listwise"}


def test_a_saved_cross_encoder_is_read_by_transformers(start, tmp_path):
    cross_encoder = objective(start).eval()
    cross_encoder.save(tmp_path / "tuned")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned").eval()
    batch = cross_encoder.collate(EXAMPLES)
    logits = theirs(**{name: value.flatten(0, 1) for name, value in batch.items()}).logits
    assert logits.shape == (8, 1)
    close(logits.view(2, 4), cross_encoder._scores(batch))


def test_an_electra_discriminator_gets_electras_head(tmp_path):
    config = transformers.ElectraConfig(
        vocab_size=len(tiny_tokenizer()),
        embedding_size=16,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    save_model(transformers.ElectraForPreTraining(config), tiny_tokenizer(), tmp_path / "electra")
    cross_encoder = objective(tmp_path / "electra")
    assert type(cross_encoder.model.classifier).__name__ == "ElectraClassificationHead"
    assert cross_encoder(cross_encoder.collate(EXAMPLES))["listwise"].isfinite()


def test_a_new_head_depends_on_the_seed_only(start):
    heads = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        heads.append(load_cross_encoder(start).classifier.weight)
    assert (heads[0] == heads[1]).all() and (heads[0] != heads[2]).any()


def test_one_trained_passage_is_refused(start):
    with pytest.raises(UsageError, match="trained_passages is 1, and has to be at least 2"):
        objective(start, trained_passages=1)


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
    how = {"decimals": None, "scratch": tmp_path / "s", "advance": print}
    found = score_pairs(texts, PairScorer(folder, **HOW), **how)
    model = load_cross_encoder(folder).eval()
    for score, query, row in zip(found, places["query"], places["row"], strict=True):
        title = f"{rows['title'][row]}: " if rows["title"][row] else ""
        pair = texts.queries[query], title + rows["text"][row]
        inputs = tiny_tokenizer()(*pair, truncation=True, max_length=20, return_tensors="pt")
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
    damaged = tmp_path / "scratch/20.npy"
    damaged.write_bytes(damaged.read_bytes()[:-4] + b"xxxx")
    found = score_pairs(texts, Scoring(score), **how)
    assert calls == [20, 20, 10, 20, 10] and sum(advanced) == 40 + 50
    assert (found == score_pairs(texts, Scoring(score), **how | {"scratch": tmp_path / "other"})).all()


def test_pairs_are_made_tokens_while_the_model_is_at_those_before(tmp_path, monkeypatch):
    monkeypatch.setattr(cross_encoder, "BLOCK", 20)
    texts, _, _ = pairs(tmp_path, count=40)
    ready, waited, prepared = threading.Event(), [], []

    def score(queries, passages):
        waited.append(ready.wait(timeout=10))
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
    [(_, batches)] = scorer.prepared(["king"], [{"title": "", "text": "king"}])
    with pytest.raises(StageError, match="not finite"):
        scorer.score(batches)


def test_a_length_beyond_the_models_positions_is_a_usage_error(folder):
    with pytest.raises(UsageError, match="65 tokens"):
        PairScorer(folder, **HOW | {"length": 65})
