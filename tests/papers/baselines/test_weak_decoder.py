from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from papers.baselines.weak_decoder import WeakDecoder
from repro.retrieval.nn.masked_tokens import IGNORED
from repro.retrieval.training.objective import build
from tests.floats import close
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

OPTIONS = {
    "decoder": "slot",
    "decoder_layers": 3,
    "span": 2,
    "sees_bottleneck": True,
    "encoder_input": "masked",
    "decoder_input": "clean",
    "embeddings": "shared",
    "head": "shared",
    "reconstruct_sep": False,
    "weight": 1.0,
    "reduction": "mean",
    "masking": {"rate": 0.3, "mask": 0.8, "random": 0.1},
    "mlm_head": "checkpoint",
    "length": 32,
    "seed": 7,
}

WEIGHTS = torch.linspace(
    -1, 1, 32, dtype=torch.float64
)  # the plain sum of a LayerNorm's output has no gradient


def objective(**changes):
    torch.manual_seed(1)
    return build(WeakDecoder, tiny_masked_lm(dropout=0.0), tiny_tokenizer(), OPTIONS | changes).double()


def rows(count=3):
    generator = np.random.default_rng(5)
    texts = [tiny_text(generator, words) for words in (12, 20, 7)[:count]]
    ids = [tiny_tokenizer()(text, add_special_tokens=False)["input_ids"] for text in texts]
    return [{"input_ids": np.array(text), "index": place, "epoch": 0} for place, text in enumerate(ids)]


def by_loops(seed, batch):
    """Every predicted place on its own: h, the tokens before it, and the token that follows."""
    encoder, total, count = seed.encoder, 0.0, 0
    hidden = encoder.base_model(batch["masked_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    for text in range(len(batch["clean_ids"])):
        ids = batch["clean_ids"][text][: int(batch["attention_mask"][text].sum())]
        embedded = encoder.base_model.embeddings(ids[None])[0]
        states = torch.cat((hidden[text, :1], embedded[1:]))[None]
        decoded = seed.decoder(states, torch.ones(1, len(ids), dtype=torch.long))[0]
        for place in range(len(ids) - 2):  # the last word is predicted from the one before it; [SEP] is not
            logits = encoder.cls(decoded[place][None])[0]
            total -= (logits[ids[place + 1]] - torch.logsumexp(logits, dim=0)).item()
            count += 1
    return total, count


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_reconstruction_is_the_equation_written_as_loops(reduction):
    seed = objective(reduction=reduction, weight=0.5)
    batch = seed.collate(rows())
    total, count = by_loops(seed, batch)
    expected = 0.5 * (total / count if reduction == "mean" else total)
    close(seed(batch)["reconstruction"], expected)
    assert count == sum(len(row["input_ids"]) for row in rows())


def test_every_place_predicts_the_next_token_and_only_words_unless_sep_is_asked_for():
    for reconstruct_sep in (False, True):
        seed = objective(reconstruct_sep=reconstruct_sep)
        batch = seed.collate(rows())
        targets = seed.targets(batch)
        for text, row in enumerate(rows()):
            wanted = targets[text][targets[text] != IGNORED].tolist()
            closing = [tiny_tokenizer().sep_token_id] if reconstruct_sep else []
            assert wanted == row["input_ids"].tolist() + closing
            assert targets[text, 0] == row["input_ids"][0]


def test_without_sight_of_the_bottleneck_the_vector_reaches_its_own_span_only():
    seed = objective(sees_bottleneck=False, decoder_layers=1)
    batch = seed.collate(rows())
    h_cls = torch.randn(3, 32, dtype=torch.float64, requires_grad=True)
    decoded = seed.decoder(seed.inputs(h_cls, batch), batch["attention_mask"])
    assert torch.autograd.grad(decoded[0, 1] @ WEIGHTS, h_cls, retain_graph=True)[0].any()
    assert not torch.autograd.grad(decoded[0, 2] @ WEIGHTS, h_cls)[0].any()


def test_an_own_head_and_own_embeddings_start_as_the_encoders_and_are_trained_apart():
    batch = objective().collate(rows())
    shared, own = objective(), objective(head="own", embeddings="own")
    close(shared(batch)["reconstruction"], own(batch)["reconstruction"])
    own.reconstruction(torch.randn(3, 32, dtype=torch.float64), batch).backward()
    assert own.encoder.base_model.embeddings.word_embeddings.weight.grad is None
    assert own.own_embeddings.word_embeddings.weight.grad.any()


def test_reading_the_masked_text_and_encoding_the_clean_one_change_the_loss():
    batch = objective().collate(rows())
    usual = objective()(batch)["reconstruction"]
    for changes in ({"decoder_input": "masked"}, {"encoder_input": "clean"}):
        assert objective(**changes)(batch)["reconstruction"] != usual


def test_a_batch_without_a_token_has_no_loss_rather_than_one_that_is_no_number():
    empty = [{"input_ids": np.array([], dtype=np.int64), "index": 0, "epoch": 0}]
    for encoder_input in ("masked", "clean"):
        seed = objective(encoder_input=encoder_input)
        assert seed(seed.collate(empty)) == {}
    seed = objective(reconstruct_sep=True)
    assert set(seed(seed.collate(empty))) == {"reconstruction"}


@pytest.mark.parametrize("embeddings", ["shared", "own"])
@pytest.mark.parametrize("head", ["shared", "own"])
def test_what_is_the_decoders_own_is_saved_with_it(tmp_path, embeddings, head):
    seed = objective(embeddings=embeddings, head=head).float()
    with torch.no_grad():
        for parameter in seed.parameters():
            parameter.add_(torch.randn_like(parameter))
    seed.save(tmp_path)
    kept = load_file(tmp_path / "decoder.safetensors")
    assert any(name.startswith("own_embeddings.") for name in kept) is (embeddings == "own")
    assert any(name.startswith("own_head.") for name in kept) is (head == "own")
    for part in ("decoder", "own_embeddings", "own_head"):
        module = getattr(seed, part)
        for name, parameter in () if module is None else module.named_parameters(prefix=part):
            assert any(torch.equal(parameter, there) for there in kept.values()), name
