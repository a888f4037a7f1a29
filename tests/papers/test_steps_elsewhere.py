"""Every training step and encoding on a device: ``waits.json`` says how often it waits, and may only fall."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
import torch

from papers.baselines.cls_attention import ClsAttention
from repro.retrieval.nn.encoder import Encoder
from repro.retrieval.nn.objectives import set_dropout
from repro.retrieval.nn.packed_texts import PackedTexts
from repro.retrieval.nn.padding_free import padding_free
from tests.elsewhere import Device, Elsewhere, moved, there_from
from tests.papers import pretraining_in_parts as pretraining
from tests.retrieval.nn import parted_objectives as parted
from tests.tiny_models import tiny_masked_lm

TABLE = json.loads(Path(__file__).with_name("waits.json").read_text(encoding="utf-8"))
WAYS = ("padded", "packed", "bf16")


def objective(name: str, folder: Path) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    is_pretraining = name in pretraining.CASES
    made = pretraining.objective(name, folder) if is_pretraining else parted.objective(name)
    batch = batch_of(name, made)
    set_dropout(made, 0.1)
    for apart in vars(made).values():  # which is no part of the objective and follows its inputs
        if isinstance(apart, ClsAttention):
            moved(apart.below.float())
            moved(apart.last.float())
    there = {k: there_from(v.float() if v.is_floating_point() else v) for k, v in batch.items()}
    moved(made.float().train())
    with Device() as device:  # processes that collate are forked, and would die where a parameter is touched
        again = batch_of(name, made)
    assert again.keys() == batch.keys() and not device.waits
    assert not any(isinstance(values, Elsewhere) for values in again.values())
    return made, there


def batch_of(name: str, made: torch.nn.Module) -> dict[str, torch.Tensor]:
    if name in pretraining.CASES:
        [batch] = pretraining.batches(made, ((0, pretraining.COUNT),))
    else:
        [batch] = parted.batch_in_parts(made, name, parted.COUNT)
    return batch


@pytest.mark.parametrize("name", [*pretraining.CASES, *parted.NAMES])
def test_a_step_leaves_nothing_on_the_host_and_waits_as_seldom_as_is_written(name, tmp_path):
    made, batch = objective(name, tmp_path)
    for way, most in zip(WAYS, TABLE[name], strict=True):
        precision = torch.autocast("cpu", torch.bfloat16) if way == "bf16" else contextlib.nullcontext()
        made.zero_grad()
        with Device() as device, padding_free(made, way == "packed"):
            with precision:
                losses = made(batch)
            sum(loss.float() for loss in losses.values()).backward()
        gradients = [p.grad for p in made.parameters() if p.grad is not None]
        assert gradients and all(isinstance(gradient, Elsewhere) for gradient in gradients)
        waits = device.waits
        assert waits.total() == most, f"{way}: {dict(waits)}; a number in waits.json may fall, not rise"


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_texts_are_encoded_end_to_end_without_a_wait_and_with_one_for_the_mask_where_padded(pooling):
    model = moved(tiny_masked_lm(layers=2).bert.eval())
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    inputs = {"input_ids": mask * 7, "attention_mask": mask}
    there = {name: Elsewhere(rows) for name, rows in inputs.items()}
    packed = PackedTexts(model, pooling=pooling)
    with Device() as device, torch.no_grad():
        assert isinstance(PackedTexts.forward.__wrapped__(packed, inputs), Elsewhere)
        assert not device.waits
        assert isinstance(Encoder(model, pooling=pooling, projector=None)(there), Elsewhere)
        assert device.waits.total() == 1


def test_a_tensor_of_the_host_is_refused_and_what_waits_is_counted():
    with Device() as device:
        here = Elsewhere(torch.arange(3.0))
        with pytest.raises(RuntimeError, match=r"aten::add.Tensor meets \(3,\) numbers that lie on the host"):
            here + torch.arange(3)
        there = here + torch.arange(3, device=here.device) + torch.tensor(1)
        there[there > 2] = 0.0  # of one number: without a wait
        assert not device.waits
        for wait in (
            lambda: there.sum().item(),
            lambda: bool(there.any()),
            lambda: there.tolist(),
            lambda: there[there > 0],
            lambda: there.nonzero(),
            lambda: there[[0, 1]],
            lambda: torch.ones(2).to(there.device),
        ):
            device.waits.clear()
            wait()
            assert device.waits.total() == 1
