"""CoT-MAE's first version is the objective with one view, one decoder, and both texts encoded."""

from __future__ import annotations

import torch

from repro.retrieval.nn.masked_tokens import IGNORED
from tests.floats import close
from tests.papers.cotmae_v2.pretraining import FIRST_VERSION, by_loops, made, rows


def test_the_losses_are_those_of_the_first_version_written_out():
    """Anchor and context pass the encoder as one batch; two layers rebuild each beside the other's [CLS]."""
    objective = made(**FIRST_VERSION)
    batch, bert = objective.collate(rows()), objective.encoder
    with torch.no_grad():
        losses = objective(batch)
        hidden = bert.bert(batch["encoder_ids"], attention_mask=batch["encoder_attention"]).last_hidden_state
        others = hidden[:, 0]  # rows 0-3 rebuild contexts from anchors' vectors, 4-7 anchors from contexts'
        embedded = bert.bert.embeddings(input_ids=batch["auto_encoding_ids"])
        states = torch.cat((others.unsqueeze(1), embedded[:, 1:]), dim=1)
        mask = batch["auto_encoding_attention"][:, None, None, :].bool()
        for layer in objective.decoders["auto_encoding"].layers:
            states = layer(states, mask.expand(-1, 1, states.shape[1], -1))
        expected = {
            "encoder.mlm": by_loops(bert.cls(hidden), batch["encoder_labels"]),
            "auto_encoding.dense": by_loops(bert.cls(states), batch["auto_encoding_labels"]),
        }
    assert len(objective.decoders["auto_encoding"].layers) == 2
    assert set(losses) == set(expected)
    for name, value in expected.items():
        close(losses[name].item(), value)


def test_each_text_is_encoded_once_and_rebuilt_once_from_the_other():
    batch = made(**FIRST_VERSION | {"windows": "shared"}).collate(rows())
    assert not any(name.startswith("auto_regressive") for name in batch)
    encoded, rebuilt = batch["encoder_clean"], batch["auto_encoding_clean"]
    assert torch.equal(rebuilt, encoded[[4, 5, 6, 7, 0, 1, 2, 3]])
    assert batch["auto_encoding_sources"].tolist() == list(range(8))


def test_each_side_reads_a_window_of_its_own_of_the_same_text():
    """Its collation cuts long texts anew for encoder and decoder; short ones are the same on both sides."""
    batch = made(**FIRST_VERSION, length=8).collate(rows(20))
    encoded, rebuilt = batch["encoder_clean"], batch["auto_encoding_clean"].roll(20, dims=0)
    assert encoded.shape == rebuilt.shape == (40, 8)
    assert 10 < (encoded != rebuilt).any(dim=1).sum() < 40
    assert batch["auto_encoding_sources"].tolist() == list(range(40))


def test_its_masks_take_a_third_and_nearly_half_of_the_tokens():
    batch = made(**FIRST_VERSION, length=62).collate(rows(200))
    for side, rate in (("encoder", 0.30), ("auto_encoding", 0.45)):
        words = batch[f"{side}_attention"].sum() - 2 * len(batch[f"{side}_ids"])
        share = ((batch[f"{side}_labels"] != IGNORED).sum() / words).item()
        assert abs(share - rate) < 0.02
