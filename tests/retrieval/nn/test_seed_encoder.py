import math

import pytest
import torch
from torch.nn.functional import gelu, layer_norm

from repro.retrieval.nn import seed_encoder
from tests.floats import close
from tests.seed_release import (
    CONFIG,
    ENTRIES,
    LINEAR,
    RELEASED,
    head_shapes,
    made_up,
    retrieval_shapes,
    shapes,
    write_release,
)

PREFIX = "seed_encoder.encoder.sentence_encoder."
HEADS, WIDTH = CONFIG["encoder_attention_heads"], CONFIG["encoder_embed_dim"]


@pytest.fixture
def weights():
    return made_up(shapes(CONFIG) | head_shapes(CONFIG))


def by_hand(weights, ids):
    def at(name):
        return weights[PREFIX + name]

    def linear(name, vector):
        return at(f"{name}.weight") @ vector + at(f"{name}.bias")

    def norm(name, vector):
        return layer_norm(vector, (WIDTH,), at(f"{name}.weight"), at(f"{name}.bias"), 1e-5)

    tokens, places = at("embed_tokens.weight")[ids], at("embed_positions.weight")[2:]  # behind the padding's
    states = [norm("emb_layer_norm", t + p) for t, p in zip(tokens, places[: len(ids)], strict=True)]
    size = WIDTH // HEADS
    for layer in range(CONFIG["encoder_layers"]):
        prefix = f"layers.{layer}."
        query, key, value = ([linear(prefix + name, s) for s in states] for name in LINEAR[:3])
        attended = []
        for place in range(len(ids)):
            parts = []
            for head in range(HEADS):
                own = slice(head * size, (head + 1) * size)
                scores = torch.stack([query[place][own] @ k[own] for k in key]) / math.sqrt(size)
                odds = scores.softmax(dim=0)
                parts.append(sum(o * v[own] for o, v in zip(odds, value, strict=True)))
            attended.append(linear(prefix + LINEAR[3], torch.cat(parts)))
        states = [norm(prefix + "self_attn_layer_norm", s + a) for s, a in zip(states, attended, strict=True)]
        states = [
            norm(prefix + "final_layer_norm", s + linear(prefix + "fc2", gelu(linear(prefix + "fc1", s))))
            for s in states
        ]
    return torch.stack(states)


@pytest.fixture
def made(weights, tmp_path):
    return seed_encoder.load(write_release(tmp_path / "seed", weights))


def test_the_converted_model_gives_the_states_of_the_released_equations(made, weights):
    model, tokenizer, _ = made
    encoded = tokenizer(["river bridge of stone", "the"], padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model.eval().base_model(**encoded).last_hidden_state
    for row, ids in enumerate(encoded["input_ids"].tolist()):
        real = [token for token in ids if token != CONFIG["pad_token_id"]]
        close(states[row, : len(real)], by_hand(weights, real))


def test_the_head_predicts_with_the_embeddings_and_its_own_bias(made, weights):
    model, tokenizer, facts = made
    encoded = tokenizer("castle garden", return_tensors="pt")
    with torch.no_grad():
        logits = model.eval()(**encoded).logits[0, 1]
    state = by_hand(weights, encoded["input_ids"][0].tolist())[1]
    inner = gelu(weights["lm_head.dense.weight"] @ state + weights["lm_head.dense.bias"])
    scale, shift = weights["lm_head.layer_norm.weight"], weights["lm_head.layer_norm.bias"]
    expected = (
        weights["lm_head.weight"] @ layer_norm(inner, (WIDTH,), scale, shift, 1e-5) + weights["lm_head.bias"]
    )
    close(logits, expected)
    assert facts == {"converted_from": "seed_encoder", "retrieval_head": "none"}


def test_every_weight_of_the_released_size_has_its_place():
    with torch.device("meta"):
        from transformers import RobertaModel

        config = seed_encoder._config(RELEASED)
        model = RobertaModel(config, add_pooling_layer=False)
        released = {name: torch.empty(shape) for name, shape in shapes(RELEASED).items()}
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    del wanted["embeddings.token_type_embeddings.weight"]
    assert {name: tuple(v.shape) for name, v in seed_encoder._body(released).items()} == wanted
    assert config.layer_norm_eps == 1e-5 and len(released) == 4 + 12 * 16


def test_its_vocabulary_keeps_its_order_and_texts_are_lowered(made):
    _, tokenizer, _ = made
    ids = tokenizer("River BRIDGEs, quux", "the")["input_ids"]
    words = ["[CLS]", "river", "bridge", "##s", ",", "[UNK]", "[SEP]", "the", "[SEP]"]
    assert ids == [ENTRIES.index(word) for word in words]
    assert (tokenizer.pad_token_id, tokenizer.mask_token_id) == (1, len(ENTRIES))
    assert "token_type_ids" not in tokenizer("the")


def test_a_vocabulary_with_the_mask_in_its_last_line_is_the_same(weights, tmp_path, made):
    again = seed_encoder.load(write_release(tmp_path / "again", weights, mask_line=True))[1]
    assert again.get_vocab() == made[1].get_vocab()


@pytest.mark.parametrize("trained", [False, True])
def test_a_retrieval_head_is_left_out_and_tells_whether_it_was_trained(tmp_path, trained):
    weights = made_up(shapes(CONFIG) | retrieval_shapes(CONFIG))
    weights["norm.weight"], weights["norm.bias"] = torch.ones(WIDTH), torch.zeros(WIDTH)
    weights["norm.bias"][3] += 1e-6 * trained
    model, _, facts = seed_encoder.load(write_release(tmp_path / "seed", weights))
    assert facts["retrieval_head"] == ("trained" if trained else "new")
    assert not hasattr(model, "lm_head") and not [n for n in model.state_dict() if "embeddingHead" in n]


def test_what_does_not_fit_is_refused(weights, tmp_path):
    def refused(told, **changes):
        changed = {name: value for name, value in (weights | changes).items() if value is not None}
        with pytest.raises(ValueError, match=told):
            seed_encoder.load(write_release(tmp_path / f"{len(list(tmp_path.iterdir()))}", changed))

    refused("missing or unused", **{PREFIX + "layers.1.fc2.bias": None})
    refused("size mismatch", **{PREFIX + "layers.1.fc2.bias": torch.zeros(3)})
    refused("layers.0.extra.weight has no place", **{PREFIX + "layers.0.extra.weight": torch.zeros(3)})
    folder = write_release(tmp_path / "short", weights)
    (folder / "vocab.txt").write_text("\n".join(ENTRIES[:-1]))
    with pytest.raises(ValueError, match=r"vocab.txt has \d+ entries, and the model \d+"):
        seed_encoder.load(folder)
