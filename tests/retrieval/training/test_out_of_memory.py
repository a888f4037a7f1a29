import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

from repro.errors import StageError
from repro.progress import Progress
from repro.retrieval.training.batch_order import BatchOrder
from repro.retrieval.training.declaration import USABLE, Execution, StepMemory, step_memory
from repro.retrieval.training.loop import train
from repro.retrieval.training.parts import Parts
from repro.retrieval.training.process_group import rank
from tests.floats import close
from tests.retrieval.nn.parted_objectives import Texts, objective
from tests.retrieval.training.settings import settings
from tests.retrieval.training.test_parts import FIVE_STEPS, trained, weights
from tests.tiny_models import tiny_masked_lm

WORDS = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which"
LATER = [f"halved at step {step}" for step in (3, 4, 5)]
MOMENTS = {"forward": "embedding.default", "backward": "embedding_dense_backward.default"}


class Capacity(TorchDispatchMode):
    """A device that embeds so many texts at a time and raises torch's own error for more."""

    def __init__(self, texts: int, moment: str = "forward", *, after: int = 0):
        super().__init__()
        self.texts, self.name, self.left = texts, MOMENTS[moment], after

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if str(func) == f"aten.{self.name}":
            self._allocate(len(args[1]))  # ids, (N, L), are the second argument of both
        return func(*args, **(kwargs or {}))

    def _allocate(self, texts: int) -> None:
        if texts > self.texts and self.left == 0:
            raise torch.OutOfMemoryError(WORDS)
        self.left = max(0, self.left - 1)


@pytest.fixture(autouse=True)
def padded(monkeypatch):
    monkeypatch.setenv("REPRO_PADDING_FREE", "0")


def same_bits(one, other) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("name", "texts"), [("mlm", 2), ("in-batch", 6)])
def test_a_step_that_does_not_fit_is_made_as_if_smaller_parts_had_been_asked_for(
    tmp_path, monkeypatch, name, texts, moment
):
    with Capacity(texts, moment):
        found, facts = trained(name, tmp_path / "found", dropout=0.3)
    assert (facts["micro_batch"], facts["micro_batch_origin"]) == (2, "halved at step 1")
    monkeypatch.setenv("REPRO_MICRO_BATCH", "2")
    asked, told = trained(name, tmp_path / "asked", dropout=0.3)
    assert told["micro_batch"] == 2 and "micro_batch_origin" not in told
    assert same_bits(found, asked) and facts["losses"] == told["losses"] and facts["flops"] == told["flops"]


@pytest.mark.parametrize("name", ["mlm", "in-batch"])
def test_without_dropout_the_weights_are_those_of_whole_batches_from_whatever_step_on(tmp_path, name):
    whole, facts = trained(name, tmp_path / "whole")
    with Capacity(2 if name == "mlm" else 6, after=12):
        found, told = trained(name, tmp_path / "found")
    assert told["micro_batch"] == 2 and told["micro_batch_origin"] in LATER
    close(weights(found), weights(whole), dtype="float32")
    close(told["losses"], facts["losses"], dtype="float32")
    assert "micro_batch" not in facts


def test_a_training_whose_parts_were_halved_goes_on_with_them_when_it_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_SAVE_STEPS", "1")
    with Capacity(6):
        straight, _ = trained("in-batch", tmp_path / "straight", dropout=0.3)
    with Capacity(6), pytest.raises(KeyboardInterrupt):
        trained("in-batch", tmp_path / "killed", dropout=0.3, fails_at=12)
    resumed, facts = trained("in-batch", tmp_path / "killed", dropout=0.3)
    assert facts["resumed_at"] > 0 and facts["micro_batch_origin"] == "halved at step 1"
    assert same_bits(straight, resumed)


def test_a_size_that_is_asked_for_wins_over_that_of_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_SAVE_STEPS", "1")
    with Capacity(6), pytest.raises(KeyboardInterrupt):
        trained("in-batch", tmp_path, fails_at=12)
    monkeypatch.setenv("REPRO_MICRO_BATCH", "1")
    _, facts = trained("in-batch", tmp_path)
    assert facts["resumed_at"] > 0 and facts["micro_batch"] == 1 and "micro_batch_origin" not in facts


def test_a_single_example_that_does_not_fit_is_a_sentence_that_names_the_variable(tmp_path):
    with Capacity(0), pytest.raises(StageError) as failed:
        trained("mlm", tmp_path)
    sentence = str(failed.value)
    assert "step 1, even one at a time (CUDA out of memory. Tried to allocate 20.00 GiB.)" in sentence
    assert "REPRO_MICRO_BATCH" in sentence


def test_another_error_of_a_step_stays_itself(tmp_path):
    made = objective("mlm")
    made.forward = lambda batch: torch.ones(2) @ torch.ones(3)
    with pytest.raises(RuntimeError, match="size"):
        train(made, Texts("mlm", 10), settings(**FIVE_STEPS), out=tmp_path, progress=Progress())


def two(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPRO_PADDING_FREE", "0")
        for name, texts, moment in [
            (*way, moment) for way in (("mlm", 1), ("in-batch", 3)) for moment in MOMENTS
        ]:
            with Capacity(texts if rank() == 1 else 100, moment):
                made, facts = trained(name, folder / f"{name} {moment}")
            np.savez(folder / f"{name}-{moment}-{rank()}.npz", **weights(made))
            (folder / f"{name}-{moment}-{rank()}.json").write_text(json.dumps(facts))


@pytest.fixture(scope="module")
def shared(tmp_path_factory, in_two_processes):
    folder = tmp_path_factory.mktemp("shares")
    in_two_processes(two, folder)
    return folder


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", ["mlm", "in-batch"])
def test_when_memory_runs_out_in_one_process_all_take_smaller_parts(shared, tmp_path, name, moment):
    whole, _ = trained(name, tmp_path)
    for process in (0, 1):
        facts = json.loads((shared / f"{name}-{moment}-{process}.json").read_text())
        assert (facts["micro_batch"], facts["micro_batch_origin"]) == (1, "halved at step 1")
        found = np.load(shared / f"{name}-{moment}-{process}.npz")
        close(dict(found), weights(whole), dtype="float32")


def test_processes_that_make_batches_learn_of_a_smaller_size():
    parts = Parts(len, Execution())
    batches = iter(DataLoader(range(40), batch_size=4, num_workers=1, collate_fn=parts, prefetch_factor=1))
    assert next(batches) == [4]
    parts.size = 2
    assert list(batches)[-1] == [2, 2]


def test_the_batch_of_any_step_is_the_one_that_the_order_gives_then():
    for process in (0, 1):
        order = BatchOrder(10, batch_size=4, steps=7, seed=3, rank=process, processes=2)
        for step, batch in enumerate(order):
            assert order.at(step) == batch and order.shares(step)[process] == len(batch)


BERT = {"parameters": 110e6, "layers": 12, "hidden": 768, "vocabulary": 30522, "precision": "fp16"}


@pytest.mark.parametrize(
    ("tokens", "examples", "memory", "size"),
    [(144, 2048, 80e9, 683), (150, 16384, 80e9, 863), (512, 64, 80e9, None), (150, 16384, 16e9, 163)],
)
def test_a_step_of_a_base_model_begins_in_equal_parts_that_a_gpu_holds(tokens, examples, memory, size):
    step = StepMemory(tokens=tokens, **BERT)
    assert step.micro_batch(examples, memory) == size
    parts = -(-examples // (size or examples))
    assert 16 * step.parameters + examples / parts * step.example <= USABLE * memory
    if parts > 1:
        assert 16 * step.parameters + examples / (parts - 1) * step.example > USABLE * memory


def test_the_estimate_is_what_torch_keeps_for_the_backward_pass_within_a_half():
    model = tiny_masked_lm(dropout=0.1).train()
    ids, kept = torch.ones(4, 32, dtype=torch.int64), {}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model.base_model(ids).last_hidden_state.sum()
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    found = sum(size for place, size in kept.items() if place not in own) / 4
    params = {"texts_per_batch": 4, "length": 32, "precision": "fp32"}
    memory = step_memory(model, params)
    estimate = memory.example - memory.tokens * 0.15 * memory.vocabulary * 12
    assert 0.5 < found / estimate < 1.5, found / estimate


def test_a_model_without_layers_keeps_its_embeddings():
    sizes = {"parameters": 0, "hidden": 4, "tokens": 8, "vocabulary": 0, "precision": "fp32"}
    none, one = (StepMemory(layers=layers, **sizes) for layers in (0, 1))
    assert none.fitting(1e6) == one.fitting(1e6) < 1000
    assert one.whole(one.fitting(1e6)) <= USABLE * 1e6 < one.whole(one.fitting(1e6) + 1)


def test_on_a_gpu_a_training_begins_with_the_estimate_unless_a_size_was_asked_for(tmp_path, monkeypatch):
    memory = StepMemory(parameters=0, layers=1, hidden=1, tokens=1, vocabulary=0, precision="fp32")
    monkeypatch.setattr("repro.retrieval.training.parts.gpu_memory", lambda: int(3 * memory.example))
    how = {"progress": Progress(), "memory": memory}
    for asked, expected in ((None, (2, "estimated")), (3, (3, None))):
        out = tmp_path / str(asked)
        out.mkdir()
        execution = Execution(micro_batch=asked)
        facts = train(
            objective("mlm"), Texts("mlm", 10), settings(**FIVE_STEPS), out=out, execution=execution, **how
        )
        assert (facts["micro_batch"], facts.get("micro_batch_origin")) == expected
