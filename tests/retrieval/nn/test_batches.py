import threading

import pytest
import torch

from repro.errors import StageError
from repro.retrieval.nn import batches as batches
from repro.retrieval.nn.batches import HalvingEncoder, in_background, is_out_of_memory
from repro.retrieval.nn.tokens import TokenRows

CUDA = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB"


def texts(count: int, length: int = 4) -> dict[str, torch.Tensor]:
    ids = torch.arange(count * length).view(count, length)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


class Small:
    def __init__(self, tokens: int, error=torch.OutOfMemoryError):
        self.tokens, self.error, self.sizes = tokens, error, []

    def __call__(self, inputs):
        self.sizes.append(len(inputs["input_ids"]))
        if inputs["input_ids"].numel() > self.tokens:
            raise self.error(CUDA)
        return {"vectors": inputs["input_ids"].float().mean(dim=1), "rows": inputs["input_ids"]}


def test_an_allocation_that_the_cpu_refuses_is_out_of_memory_and_other_errors_are_not():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(refused.value)
    assert is_out_of_memory(torch.OutOfMemoryError(CUDA))
    assert is_out_of_memory(
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`")
    )
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("out of memory"))


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_a_batch_that_does_not_fit_is_encoded_in_halves_and_so_are_those_after_it(error):
    small = Small(3 * 4, error)
    halved = HalvingEncoder(small)
    whole = Small(10**6)(texts(10))
    for name, rows in halved(texts(10)).items():
        assert torch.equal(rows, whole[name])
    assert small.sizes == [10, 5, 3, 3, 3, 1]
    halved(texts(7))
    assert small.sizes[6:] == [3, 3, 1]
    assert halved.facts() == {"tokens_at_once": 12}
    halved(texts(7, length=2))
    assert small.sizes[9:] == [6, 1]


def test_what_fits_is_encoded_at_once_and_tells_nothing():
    small = Small(100)
    halved = HalvingEncoder(small)
    halved(texts(10))
    assert small.sizes == [10] and halved.facts() == {}


def test_a_text_that_does_not_fit_is_a_sentence_and_another_error_stays_itself():
    with pytest.raises(
        StageError, match=r"one text of 4 tokens \(CUDA out of memory. Tried to .* 20.00 GiB.\)"
    ):
        HalvingEncoder(Small(3))(texts(4))

    def broken(inputs):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        HalvingEncoder(broken)(texts(4))


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


def test_items_come_in_order_from_another_thread():
    def items():
        for number in range(20):
            yield number, threading.current_thread()

    with in_background(items(), ahead=3) as made:
        numbers, threads = zip(*made, strict=True)
    assert numbers == tuple(range(20)) and set(threads).isdisjoint(threading.enumerate())


def test_no_more_lies_ready_than_was_asked_for():
    made, asked = threading.Semaphore(0), []

    def items():
        for number in range(10):
            asked.append(number)
            made.release()
            yield number

    with in_background(items(), ahead=2) as ready:
        assert next(ready) == 0
        for _ in range(3):  # the item that was handed out, and two ahead of it
            assert made.acquire(timeout=10)
        assert not made.acquire(timeout=0.2) and asked == [0, 1, 2]
        assert list(ready) == list(range(1, 10))


def test_an_error_is_raised_where_its_item_would_have_come():
    def items():
        yield 1
        raise ValueError("no more")

    with in_background(items(), ahead=2) as made:
        assert next(made) == 1
        with pytest.raises(ValueError, match="no more"):
            next(made)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit])
def test_an_early_end_stops_the_thread_and_closes_the_generator(kind):
    closed, before = threading.Event(), threading.active_count()

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.set()

    with pytest.raises(kind), in_background(items(), ahead=2) as made:
        next(made)
        raise kind
    assert closed.is_set() and threading.active_count() == before


def test_what_comes_next_is_made_while_the_caller_is_busy():
    second = threading.Event()

    def items():
        yield 1
        second.set()
        yield 2

    with in_background(items(), ahead=1) as made:
        assert next(made) == 1
        assert second.wait(timeout=10)
