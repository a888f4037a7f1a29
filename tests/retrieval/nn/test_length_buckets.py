from __future__ import annotations

import pytest
import torch

from repro.retrieval.nn import length_buckets as batches
from repro.retrieval.nn.length_buckets import in_buckets, length_buckets
from repro.retrieval.nn.token_rows import TokenRows
from tests.floats import close
from tests.retrieval.nn.parted_objectives import COUNT, batch_in_parts, cached_is_uncached, objective

NAMES = ("in-batch", "own", "four blocks", "distillation", "views", "cross-encoder")


def trained(name: str, buckets: int) -> tuple[dict, dict, list[tuple[int, int]]]:
    """Losses, gradients in float64, and the shapes that the model read."""
    made = objective(name).double()
    [batch] = batch_in_parts(made, name, COUNT)
    read = []
    embeddings = next(layer for name, layer in made.named_modules() if name.endswith("word_embeddings"))
    embeddings.register_forward_hook(lambda layer, given, out: read.append(tuple(given[0].shape)))
    with length_buckets(buckets):
        losses = made({name: v.double() if v.is_floating_point() else v for name, v in batch.items()})
    sum(losses.values()).backward()
    found = {name: p.grad.numpy() for name, p in made.named_parameters() if p.grad is not None}
    return {name: loss.item() for name, loss in losses.items()}, found, read


@pytest.mark.parametrize("buckets", [3, 100])
@pytest.mark.parametrize("name", NAMES)
def test_losses_and_gradient_are_those_of_the_batch_as_it_is_from_fewer_tokens(name, buckets):
    losses, gradients, read = trained(name, 1)
    found_losses, found, found_read = trained(name, buckets)
    assert max(abs(value).max() for value in gradients.values()) > 1e-2
    close(found_losses | found, losses | gradients, dtype="float32")  # as a cross-encoder's logits are
    assert sum(rows for rows, _ in found_read) == sum(rows for rows, _ in read)
    assert sum(rows * long for rows, long in found_read) < sum(rows * long for rows, long in read)


@pytest.mark.parametrize("buckets", [1, 2, 7, 50])
def test_rows_keep_their_order_and_a_group_is_as_long_as_its_longest(buckets):
    lengths = torch.tensor([3, 9, 1, 9, 4, 2, 6])
    mask = (torch.arange(10) < lengths.unsqueeze(1)).long()
    inputs = {"attention_mask": mask, "input_ids": torch.arange(7).unsqueeze(1).expand(7, 10)}
    read = []

    def encode(some):
        read.append((tuple(some["input_ids"].shape), int(some["attention_mask"].sum(dim=1).max())))
        return {"row": some["input_ids"][:, 0], "length": some["attention_mask"].sum(dim=1)}

    with length_buckets(buckets):
        found = in_buckets(encode, inputs)
    assert found["row"].tolist() == list(range(7)) and torch.equal(found["length"], lengths)
    assert len(read) == min(buckets, 7)
    if buckets > 1:
        assert all(shape[1] == longest for shape, longest in read)
    else:
        assert read == [((7, 10), 9)]


def test_buckets_end_with_their_context_even_by_an_error():
    seen = []
    inputs = {"attention_mask": torch.ones(4, 2, dtype=torch.long)}
    with pytest.raises(RuntimeError), length_buckets(2):
        in_buckets(lambda some: seen.append(len(some["attention_mask"])) or torch.zeros(2), inputs)
        raise RuntimeError
    in_buckets(lambda some: seen.append(len(some["attention_mask"])), inputs)
    assert seen == [2, 2, 4]


@pytest.mark.parametrize("name", ["in-batch", "four blocks", "distillation", "views"])
def test_a_cached_gradient_in_buckets_is_the_uncached_one_of_the_same_dropout(name):
    cached_is_uncached(name, lambda made, grouped: length_buckets(2 if grouped else 1))


def test_every_text_is_in_one_batch_without_needless_padding(monkeypatch):
    monkeypatch.setitem(batches.TOKENS, "cpu", 12)
    monkeypatch.setitem(batches.TOKENS, "cuda", 12)
    texts = [[10 * n + m for m in range(size)] for n, size in enumerate([3, 30, 4, 4, 6, 1, 2, 3, 5])]
    found = list(batches.token_batches(TokenRows.of(texts, padding=-1)))
    assert [places for places, _ in found] == [[1], [4, 8], [2, 3, 0], [7, 6, 5]]
    for places, batch in found:
        longest = max(len(texts[place]) for place in places)
        ids = [texts[place] + [-1] * (longest - len(texts[place])) for place in places]
        assert batch["input_ids"].tolist() == ids
        assert batch["attention_mask"].sum(1).tolist() == [len(texts[place]) for place in places]
        assert batch["input_ids"].numel() <= 12 or len(places) == 1


def test_texts_are_tokenised_together_by_their_length_in_characters(monkeypatch):
    monkeypatch.setattr(batches, "TOGETHER", 2)
    texts = [("", "abc"), ("ab", "abc"), ("", ""), ("abcd", ""), ("abc", "")]
    assert list(batches.tokenised_together(texts)) == [[1, 3], [0, 4], [2]]
