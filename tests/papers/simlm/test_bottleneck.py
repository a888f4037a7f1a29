from __future__ import annotations

import torch

from papers.simlm.bottleneck import EncoderDecoder
from tests.floats import close
from tests.papers.simlm.pretraining import DECODER
from tests.tiny_models import tiny_masked_lm


def network(*, layers=3, **changes) -> EncoderDecoder:
    return EncoderDecoder(tiny_masked_lm(layers=layers, dropout=0.0), **(DECODER | changes)).double()


def batch() -> dict[str, torch.Tensor]:
    return {
        "clean_ids": torch.tensor([[2, 20, 3, 21, 22, 23, 3], [2, 30, 31, 3, 0, 0, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]),
        "segments": torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]]),
    }


def test_the_decoder_starts_as_a_copy_of_the_encoders_last_layers():
    made, ids = network(), batch()
    embedded = made.encoder.bert.embeddings(ids["clean_ids"])
    mask = ids["attention_mask"][:, None, None, :].bool()
    expected = embedded
    for layer in made.encoder.bert.encoder.layer[-2:]:
        expected = layer(expected, mask.expand(-1, 1, 7, -1))
    decoded = made.decode(embedded[:, 0], ids["clean_ids"], ids)
    kept = ids["attention_mask"].bool()
    close(decoded[kept], expected[kept])
    with torch.no_grad():
        made.encoder.bert.encoder.layer[-1].output.dense.weight.zero_()
    close(made.decode(embedded[:, 0], ids["clean_ids"], ids), decoded)


def test_the_decoder_is_told_of_segments_as_the_reading_says_and_the_encoder_always():
    ids = batch()
    plain = {**ids, "segments": torch.zeros_like(ids["segments"])}
    for segments, told in (("zeros", False), ("pair", True)):
        made = network(segments=segments)
        hidden = made.encode(ids["clean_ids"], ids)
        assert (hidden[0] != made.encode(ids["clean_ids"], plain)[0]).any()
        decoded = made.decode(hidden[:, 0], ids["clean_ids"], ids)
        assert bool((decoded != made.decode(hidden[:, 0], ids["clean_ids"], plain)).any()) is told


def test_a_separate_head_starts_equal_and_goes_its_own_way():
    made, ids = network(shared_head=False), batch()
    shared = network(shared_head=True)
    hidden = made.encode(ids["clean_ids"], ids)
    close(made.decoder_head(hidden), made.encoder_head(hidden))
    close(
        made.decode(hidden[:, 0], ids["clean_ids"], ids), shared.decode(hidden[:, 0], ids["clean_ids"], ids)
    )
    own = made.decoder_cls.predictions.decoder.weight
    assert own is made.decoder_embeddings.word_embeddings.weight
    assert own is not made.encoder.cls.predictions.decoder.weight
    made.decoder_head(hidden).sum().backward()
    assert made.encoder.cls.predictions.bias.grad is None and own.grad is not None
