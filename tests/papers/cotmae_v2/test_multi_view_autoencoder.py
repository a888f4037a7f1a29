from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from repro.retrieval.nn.masked_tokens import IGNORED
from tests.floats import close
from tests.papers.cotmae_v2.pretraining import by_loops, made, rows

LOSSES = [
    "encoder.mlm",
    "auto_encoding.dense",
    "auto_encoding.sparse",
    "auto_regressive.dense",
    "auto_regressive.sparse",
]
SINGLE = 1e-5  # relative, of a loss that a sparse vector in float32 is behind


def sparse_by_loops(objective, hidden, batch, *, cls=False, sep=False) -> torch.Tensor:
    """Eqs. 4-6, one logit after the other: (E, V)."""
    head, rows_of = objective.encoder.cls.predictions, []
    matrix = objective.encoder.base_model.embeddings.word_embeddings.weight
    for n in range(len(hidden)):
        length = int(batch["encoder_attention"][n].sum())
        places = range(0 if cls else 1, length if sep else length - 1)
        states = [hidden[n, i] if objective.plain else head.transform(hidden[n, i]) for i in places]
        row = []
        for j in range(len(matrix)):
            row.append(max(math.log(1 + max(0.0, (h @ matrix[j] + head.bias[j]).item())) for h in states))
        rows_of.append(row)
    return torch.tensor(rows_of, dtype=torch.float64)


@pytest.mark.parametrize("head", ["transform", "plain"])
@pytest.mark.parametrize("positions", [{"cls": False, "sep": False}, {"cls": True, "sep": True}])
def test_the_two_vectors_are_equations_3_to_6_and_11(head, positions):
    objective = made(vocabulary_head=head, sparse_positions=positions)
    with torch.no_grad():
        objective.encoder.cls.predictions.bias.uniform_(-0.1, 0.1)
        batch = objective.collate(rows(2))
        hidden = objective.encode(batch)
        vectors = objective.bottlenecks(hidden, batch)
        spr = sparse_by_loops(objective, hidden, batch, **positions)
    matrix = objective.encoder.base_model.embeddings.word_embeddings.weight.detach()
    expected = torch.stack([sum(spr[n, j] * matrix[j] for j in range(len(matrix))) for n in range(2)])
    assert (spr > 0).any() and (spr == 0).any()
    close(vectors["dense"], hidden[:, 0])
    close(vectors["sparse"].double(), expected)


def test_a_word_replaced_by_a_separator_still_has_a_say_in_the_sparse_vector():
    objective = made()
    batch = objective.collate(rows())
    hidden = objective.encode(batch)
    before = objective.bottlenecks(hidden, batch)["sparse"]
    replaced = {**batch, "encoder_ids": batch["encoder_ids"].clone()}
    replaced["encoder_ids"][:, 1:4] = 3
    assert torch.equal(objective.bottlenecks(hidden, replaced)["sparse"], before)


@pytest.mark.parametrize("slot", ["replace", "prepend"])
@pytest.mark.parametrize("encoded", ["anchor", "both"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_losses_are_equations_9_to_13_written_as_loops(slot, encoded, reduction):
    objective = made(bottleneck_slot=slot, encoded_texts=encoded, token_loss_reduction=reduction)
    batch = objective.collate(rows(3))
    with torch.no_grad():
        losses, bert = objective(batch), objective.encoder
        hidden = objective.encode(batch)
        expected = {"encoder.mlm": by_loops(bert.cls(hidden), batch["encoder_labels"], reduction=reduction)}
        for name in ("auto_encoding", "auto_regressive"):
            for view, vectors in objective.bottlenecks(hidden, batch).items():
                logits = torch.zeros((*batch[f"{name}_labels"].shape, bert.config.vocab_size))
                logits = logits.double()
                for n, ids in enumerate(batch[f"{name}_ids"]):
                    length = int(batch[f"{name}_attention"][n].sum())
                    embedded = bert.base_model.embeddings(ids[None, :length])[0]
                    vector = vectors[batch[f"{name}_sources"][n]][None]
                    tokens = embedded if slot == "prepend" else embedded[1:]
                    states = torch.cat((vector, tokens))[None]
                    out = objective.decoders[name](states, torch.ones(states.shape[:2], dtype=torch.long))
                    logits[n, :length] = bert.cls(out[0, -length:])
                labels = batch[f"{name}_labels"]
                expected[f"{name}.{view}"] = by_loops(logits, labels, reduction=reduction)
    assert list(losses) == LOSSES
    close(losses, expected)


def test_the_auto_regressive_decoder_predicts_sep_unless_it_is_left_out():
    wanted, without = (
        (made(causal_targets=kept).collate(rows())["auto_regressive_labels"] != IGNORED).sum()
        for kept in (True, False)
    )
    assert without == wanted - 4


def test_logits_are_those_of_predicted_tokens_only():
    objective = made(views=["dense"])
    batch, seen = objective.collate(rows()), []
    objective.encoder.cls.register_forward_hook(lambda module, given, out: seen.append(len(out)))
    objective(batch)
    wanted = [(batch[f"{side}_labels"] != IGNORED).sum() for side in ("encoder", *objective.names)]
    assert seen == wanted


def test_several_views_add_up_the_losses_of_each():
    whole = made()
    batch = whole.collate(rows())
    losses = whole(batch)
    for view in ("dense", "sparse"):
        for name, loss in made(views=[view])(batch).items():
            assert loss.item() == losses[name].item()
    for name in whole.names:
        one = made(decoders=[name])
        one.load_state_dict(whole.state_dict(), strict=False)
        alone = one(batch)
        assert any(part.startswith(name) for part in alone)
        for part, loss in alone.items():
            assert loss.item() == losses[part].item()
    halved = made(view_losses="mean")(batch)
    for name, loss in losses.items():
        share = 1.0 if name == "encoder.mlm" else 0.5
        close(halved[name], share * loss.item())
    single = made(views=["dense"], view_losses="mean")(batch)
    assert single["auto_encoding.dense"].item() == losses["auto_encoding.dense"].item()


def test_views_share_the_decoders_or_have_their_own():
    shared, separate = made(), made(decoder_sharing=False)
    assert list(shared.decoders) == ["auto_encoding", "auto_regressive"]
    assert list(separate.decoders) == [
        "auto_encoding_dense",
        "auto_encoding_sparse",
        "auto_regressive_dense",
        "auto_regressive_sparse",
    ]
    separate(separate.collate(rows()))["auto_encoding.sparse"].backward()
    for key, decoder in separate.decoders.items():
        learns = [parameter.grad is not None for parameter in decoder.parameters()]
        assert (all if key == "auto_encoding_sparse" else any)(learns) is (key == "auto_encoding_sparse")


def test_spans_are_no_longer_than_the_model_may_read():
    batch = made(length=12).collate(rows(20))
    for name in ("encoder", "auto_encoding", "auto_regressive"):
        assert batch[f"{name}_ids"].shape[1] <= 12


def test_a_batch_without_a_token_to_predict_has_no_loss_rather_than_one_that_is_no_number():
    unmasked = {"whole_word": False, "mask": 1.0, "random": 0.0}
    objective = made(masking_unit=unmasked, masking_rates={"encoder": 0.0, "decoder": 0.0})
    assert list(objective(objective.collate(rows()))) == LOSSES[3:]
    objective = made(
        masking_unit=unmasked, masking_rates={"encoder": 0.0, "decoder": 0.0}, decoders=["auto_encoding"]
    )
    assert objective(objective.collate(rows())) == {}


def test_vectors_of_clean_texts_do_not_depend_on_what_is_masked_and_the_masked_words_loss_does_not_change():
    objective = made(bottleneck_input="clean", decoders=["auto_regressive"])
    usual = made(decoders=["auto_regressive"])
    batch = objective.collate(rows())
    losses, before = objective(batch), usual(batch)
    hidden = objective.encode(batch | {"encoder_ids": batch["encoder_clean"]})
    vectors = objective.bottlenecks(hidden, batch)
    for view in ("dense", "sparse"):
        states = objective.decode("auto_regressive", view, vectors[view], batch)
        logits = objective.encoder.cls(states)
        expected = by_loops(logits, batch["auto_regressive_labels"])
        close(losses[f"auto_regressive.{view}"], expected)
        assert losses[f"auto_regressive.{view}"] != before[f"auto_regressive.{view}"]
    assert losses["encoder.mlm"] == before["encoder.mlm"]
    again = objective(batch | {"encoder_ids": batch["encoder_clean"].flip(0)})
    assert again["auto_regressive.dense"] == losses["auto_regressive.dense"]
    assert again["encoder.mlm"] != losses["encoder.mlm"]


def test_contexts_are_drawn_anew_for_each_decoder_or_once():
    def contexts(**changes) -> tuple[list, list]:
        batch = made(**changes).collate(rows(12))
        sides = ("auto_encoding", "auto_regressive")
        return tuple([[t for t in row if t] for row in batch[f"{side}_clean"].tolist()] for side in sides)

    first, second = contexts(decoder_contexts="same")
    assert first == second
    first, second = contexts()
    assert np.mean([one == other for one, other in zip(first, second, strict=True)]) < 0.6
