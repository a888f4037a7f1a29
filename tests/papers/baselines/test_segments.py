from __future__ import annotations

import numpy as np
import torch

from papers.baselines.segments import pair_segments, segments_for
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


def segments(ids: list[int], *, separator: int) -> list[int]:
    return pair_segments(np.array(ids), np.array([len(ids)]), separator=separator).tolist()


def test_segments_are_those_transformers_gives_a_pair():
    tokenizer = tiny_tokenizer()
    for title, text in (("river bridge", "the stone castle"), ("a", "b")):
        expected = tokenizer(title, text)
        assert segments(expected["input_ids"], separator=tokenizer.sep_token_id) == expected["token_type_ids"]


def test_a_text_without_a_title_is_of_the_first_segment():
    assert segments([2, 10, 11, 3], separator=3) == [0, 0, 0, 0]


def test_texts_end_to_end_have_the_segments_that_each_has_alone():
    texts = [[2, 10, 3, 11, 3], [2, 10, 3], [2, 3], [2, 3, 9, 3, 8, 3], [2, 3, 7, 3]]
    together = pair_segments(np.concatenate(texts), np.array([len(ids) for ids in texts]), separator=3)
    assert together.tolist() == [segment for ids in texts for segment in segments(ids, separator=3)]


def test_a_model_with_one_type_of_segment_gets_zeros():
    model, segments = tiny_masked_lm(), torch.tensor([[0, 0, 1]])
    assert segments_for(model, segments) is segments
    model.config.type_vocab_size = 1
    assert segments_for(model, segments).tolist() == [[0, 0, 0]]
