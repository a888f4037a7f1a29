from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.baselines.whole_words import WholeWords
from papers.simlm.generator import Generator, sampled, starting_generator, vocabulary_head
from papers.simlm.masks import Masks, twice_masked
from repro.errors import DataError, UsageError
from tests.floats import close
from tests.tiny_models import save_tiny_model, tiny_masked_lm, tiny_text, tiny_tokenizer

TOKENIZER = tiny_tokenizer()


def batch(count=6, words=20):
    generator = np.random.default_rng(5)
    texts = [
        np.array(TOKENIZER(tiny_text(generator, words), add_special_tokens=False)["input_ids"])
        for _ in range(count)
    ]
    return twice_masked(
        texts,
        tokenizer=TOKENIZER,
        words=WholeWords.of(TOKENIZER),
        masks=Masks(
            encoder_rate=0.3, decoder_rate=0.5, unit="whole-word", superset="union", mask=1.0, random=0.0
        ),
        generators=[np.random.default_rng((1, place)) for place in range(count)],
    )


def generator(*, training="frozen", dropout=True, draws="independent", model=None) -> Generator:
    return Generator(model or tiny_masked_lm(), training=training, dropout=dropout, draws=draws)


def electra():
    from transformers import ElectraConfig, ElectraForMaskedLM

    config = ElectraConfig(
        vocab_size=len(TOKENIZER),
        embedding_size=16,
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
    )
    return ElectraForMaskedLM(config)


def roberta():
    from transformers import RobertaConfig, RobertaForMaskedLM

    config = RobertaConfig(
        vocab_size=len(TOKENIZER),
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=66,
        type_vocab_size=1,
    )
    return RobertaForMaskedLM(config)


def test_tokens_are_drawn_from_the_softmax_of_the_logits():
    torch.manual_seed(0)
    logits = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, -40.0]], dtype=torch.float64).repeat(20_000, 1)
    drawn = sampled(logits, lambda hidden: hidden).view(-1, 2)
    for place in (0, 1):
        shares = torch.bincount(drawn[:, place], minlength=3) / 20_000
        assert shares.tolist() == pytest.approx(logits[place].softmax(dim=0).tolist(), abs=0.015)


def test_no_more_than_some_rows_of_logits_exist_at_once(monkeypatch):
    sizes = []
    monkeypatch.setattr("papers.simlm.generator.CHUNK", 3)
    drawn = sampled(torch.zeros(8, 5), lambda hidden: sizes.append(len(hidden)) or hidden)
    assert sizes == [3, 3, 2] and drawn.shape == (8,)


@pytest.mark.parametrize("make", [tiny_masked_lm, electra, roberta])
def test_masks_and_nothing_else_are_filled_whatever_the_architecture(make):
    made = batch()
    encoder_ids, decoder_ids, _ = generator(model=make())(made)
    for ids, side in ((encoder_ids, "encoder"), (decoder_ids, "decoder")):
        chosen = made[f"{side}_chosen"]
        assert (ids[~chosen] == made["clean_ids"][~chosen]).all()
        assert (ids[chosen] != TOKENIZER.mask_token_id).float().mean() > 0.9


@pytest.mark.parametrize("make", [tiny_masked_lm, electra, roberta])
def test_the_head_is_the_one_the_model_predicts_with(make):
    model, ids = make().eval(), torch.arange(5, 15).view(1, 10)
    hidden = model.base_model(ids).last_hidden_state
    close(vocabulary_head(model)(hidden), model(ids).logits)


def test_a_model_without_a_masked_language_head_is_refused():
    with pytest.raises(UsageError, match="BertModel has no known masked-language head"):
        vocabulary_head(tiny_masked_lm().bert)


def test_what_is_masked_on_both_sides_is_drawn_once_or_twice_as_the_reading_says():
    made = batch(count=20)
    for draws, same in (("independent", False), ("shared", True)):
        encoder_ids, decoder_ids, _ = generator(draws=draws)(made)
        both = made["encoder_chosen"]
        assert bool((encoder_ids[both] == decoder_ids[both]).all()) is same


def test_dropout_acts_or_not_in_training_as_the_reading_says():
    for dropout in (True, False):
        frozen = generator(dropout=dropout, model=tiny_masked_lm(dropout=0.5)).train()
        assert all(module.training is dropout for module in frozen.model.modules())
        frozen.eval()
        assert not any(module.training for module in frozen.modules())


def test_a_frozen_generator_has_nothing_to_learn_and_no_graph():
    frozen = generator()
    _, _, hidden = frozen(batch())
    assert hidden is None
    assert not any(parameter.requires_grad for parameter in frozen.parameters())


def test_a_joint_generator_learns_from_the_encoders_masks():
    joint, made = generator(training="joint", dropout=False), batch()
    _, _, hidden = joint.eval()(made)
    encoded = joint.model.base_model(made["encoder_ids"], attention_mask=made["attention_mask"])
    close(hidden, encoded.last_hidden_state[made["encoder_chosen"]])
    assert hidden.requires_grad


@pytest.mark.parametrize("training", ["joint", "joint-from-random"])
def test_every_weight_learns_under_autocast_too(training):
    joint, made = generator(training=training), batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, _, hidden = joint(made)
        joint.head(hidden).float().logsumexp(dim=-1).sum().backward()
    assert all(parameter.grad is not None for parameter in joint.parameters())


def test_random_weights_are_others_of_the_same_architecture():
    torch.manual_seed(1)
    model = electra()
    made = generator(training="joint-from-random", model=model).model
    assert type(made) is type(model) and made.config == model.config
    own, given = made.electra.encoder.state_dict(), model.electra.encoder.state_dict()
    assert {name: t.shape for name, t in own.items()} == {name: t.shape for name, t in given.items()}
    assert any((own[name] != given[name]).any() for name in own)


def test_it_starts_from_a_folder_or_from_a_copy_of_the_model(tmp_path):
    model = tiny_masked_lm(seed=3)
    copy = starting_generator(None, model, TOKENIZER, length=64)
    assert copy is not model
    assert (copy.bert.embeddings.word_embeddings.weight == model.cls.predictions.decoder.weight).all()
    save_tiny_model(tmp_path, seed=5)
    found = starting_generator(tmp_path / "model", model, TOKENIZER, length=64)
    expected = tiny_masked_lm(seed=5).state_dict()
    assert all((tensor == expected[name]).all() for name, tensor in found.state_dict().items())


def test_a_generator_that_cannot_serve_is_refused(tmp_path):
    from transformers import BertTokenizer

    save_tiny_model(tmp_path)
    with pytest.raises(UsageError, match="65 tokens is more than the model's 64"):
        starting_generator(tmp_path / "model", tiny_masked_lm(), TOKENIZER, length=65)
    vocabulary = dict(TOKENIZER.get_vocab())
    vocabulary["stone"], vocabulary["castle"] = vocabulary["castle"], vocabulary["stone"]
    BertTokenizer(vocab=vocabulary).save_pretrained(tmp_path / "model")
    with pytest.raises(DataError, match="the vocabulary differs from the model's"):
        starting_generator(tmp_path / "model", tiny_masked_lm(), TOKENIZER, length=64)
