from __future__ import annotations

import torch

from papers.simlm.autoencoder import AutoEncoder
from tests.floats import close
from tests.papers.simlm.pretraining import DECODER, TOKEN_LOSS, loops, made, rows
from tests.tiny_models import tiny_tokenizer

OPTIONS = {"decoder": DECODER, "token_loss": TOKEN_LOSS, "length": 48}


def objective(**changes) -> AutoEncoder:
    return made(AutoEncoder, OPTIONS, **changes)


def test_the_decoder_predicts_the_text_from_its_vector_and_masks():
    autoencoder = objective()
    batch = autoencoder.collate(rows())
    network, tokens = autoencoder.network, batch["clean_ids"]
    h_cls = network.encode(tokens, batch)[:, 0]
    masks = torch.full_like(tokens, tiny_tokenizer().mask_token_id)
    decoded = network.decode(h_cls, masks, batch)
    losses = autoencoder(batch)
    assert set(losses) == {"decoder"}
    expected = loops(network.encoder.cls(decoded), tokens, ~batch["special"])
    close(losses["decoder"], expected)


def test_a_batch_is_the_mean_of_the_means_of_so_many_texts_loss_and_gradient():
    texts = [row for count in (2, 1) for row in rows(count, words=4 + 12 * (count == 1))]
    texts += rows(2, words=20, titles=False)
    grouped = objective(token_loss=TOKEN_LOSS | {"per": 2})
    found = grouped(grouped.collate(texts))["decoder"]
    found.backward()
    plain, losses = objective(), []
    for first, end in ((0, 2), (2, 4), (4, 5)):
        losses.append(plain(plain.collate(texts[first:end]))["decoder"])
    expected = sum(losses) / 3
    expected.backward()
    close(found, expected)
    close(*({k: p.grad for k, p in o.named_parameters() if p.grad is not None} for o in (grouped, plain)))
    assert abs(plain(plain.collate(texts))["decoder"].item() - expected.item()) > 1e-4
