from __future__ import annotations

import numpy as np
import torch

from papers.baselines.segments import pair_segments, segments_for
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


def test_segments_are_those_transformers_gives_a_pair():
    tokenizer = tiny_tokenizer()
    for title, text in (("river bridge", "the stone castle"), ("a", "b")):
        expected = tokenizer(title, text)
        assert (
            pair_segments(np.array(expected["input_ids"]), separator=tokenizer.sep_token_id).tolist()
            == expected["token_type_ids"]
        )


def test_a_text_without_a_title_is_of_the_first_segment():
    assert pair_segments(np.array([2, 10, 11, 3]), separator=3).tolist() == [0, 0, 0, 0]


def test_a_model_with_one_type_of_segment_gets_zeros():
    model, segments = tiny_masked_lm(), torch.tensor([[0, 0, 1]])
    assert segments_for(model, segments) is segments
    model.config.type_vocab_size = 1
    assert segments_for(model, segments).tolist() == [[0, 0, 0]]
