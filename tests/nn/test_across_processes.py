from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import distributed, multiprocessing, nn

from repro.nn.across_processes import gathered, processes
from repro.nn.four_block import four_block_contrastive

SETTINGS = {"terms": "four-blocks", "temperature": 0.1}


def made():
    """An encoder, 6 queries and 3 passages for each of them."""
    generator = torch.Generator().manual_seed(0)
    encoder = nn.Linear(7, 5, dtype=torch.float64)
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, generator=generator)
    queries = torch.randn(6, 7, dtype=torch.float64, generator=generator)
    return encoder, queries, torch.randn(18, 7, dtype=torch.float64, generator=generator)


def half(rank: int, folder: str) -> None:
    """One process of two: loss and gradients over its half of the batch, as a training would have them."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    encoder, queries, passages = made()
    own = queries[3 * rank : 3 * rank + 3], passages[9 * rank : 9 * rank + 9]
    vectors = [gathered(encoder(texts)) for texts in own]
    loss = four_block_contrastive(*vectors, **SETTINGS) * processes()
    loss.backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in encoder.parameters()])
    distributed.all_reduce(gradient)
    np.savez(f"{folder}/{rank}.npz", loss=loss.item() / 2, gradient=gradient.numpy() / 2)
    distributed.destroy_process_group()


def test_one_process_has_what_it_gave():
    vectors = torch.ones(2, 3)
    assert processes() == 1 and gathered(vectors) is vectors


@pytest.mark.skipif(not distributed.is_available(), reason="this torch has no distributed training")
def test_two_processes_have_the_loss_and_gradient_of_one_with_the_whole_batch(tmp_path):
    multiprocessing.start_processes(half, args=(str(tmp_path),), nprocs=2, start_method="spawn")
    encoder, queries, passages = made()
    loss = four_block_contrastive(encoder(queries), encoder(passages), **SETTINGS)
    loss.backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in encoder.parameters()])
    for rank in (0, 1):
        found = np.load(tmp_path / f"{rank}.npz")
        assert found["loss"] == pytest.approx(loss.item(), rel=1e-12)
        np.testing.assert_allclose(found["gradient"], gradient.numpy(), rtol=1e-10)
