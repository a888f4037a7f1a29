"""Memory that runs out, as torch says it, and batches that are halved until they fit."""

from __future__ import annotations

import pytest
import torch

from repro.errors import StageError
from repro.retrieval.nn.memory import HalvingEncoder, is_out_of_memory

CUDA = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB"


def texts(count: int, length: int = 4) -> dict[str, torch.Tensor]:
    ids = torch.arange(count * length).view(count, length)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


class Small:
    """An encoder on a device that holds so many tokens; ``sizes`` are those of the batches it was given."""

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
