from __future__ import annotations

import torch

from repro.nn import token_batches as batches


def made(lengths):
    mask = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    return {"attention_mask": mask, "input_ids": torch.arange(mask.numel()).view_as(mask)}


def test_every_text_is_in_one_batch_without_needless_padding(monkeypatch):
    monkeypatch.setitem(batches.TOKENS, "cpu", 12)
    monkeypatch.setitem(batches.TOKENS, "cuda", 12)
    inputs = made([3, 30, 4, 4, 6, 1, 2, 3, 5])
    found = list(batches.token_batches(inputs))
    assert [rows for rows, _ in found] == [[1], [4, 8], [2, 3, 0], [7, 6, 5]]
    for rows, batch in found:
        longest = int(inputs["attention_mask"][rows].sum(1).max())
        for name, values in batch.items():
            torch.testing.assert_close(values, inputs[name][rows, :longest])
        assert batch["input_ids"].numel() <= 12 or len(rows) == 1


def test_texts_are_tokenised_together_by_their_length_in_characters(monkeypatch):
    monkeypatch.setattr(batches, "TOGETHER", 2)
    texts = [("", "abc"), ("ab", "abc"), ("", ""), ("abcd", ""), ("abc", "")]
    assert list(batches.tokenised_together(texts)) == [[1, 3], [0, 4], [2]]
