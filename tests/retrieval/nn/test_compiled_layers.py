"""Compiled layers: on every push with torch's graphs run as they are, at night by its compiler of a CPU."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch._functorch.config
import torch._inductor.config
import transformers as hf
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.compile_fx import compile_fx
from torch._inductor.graph import GraphLowering
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from repro.errors import BlockedError
from repro.progress import Progress
from repro.retrieval.nn import compiled_layers as compiling
from repro.retrieval.nn import padding_free as packing
from repro.retrieval.nn.compiled_layers import compiled_layers
from repro.retrieval.nn.padding_free import padding_free
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.loop import train
from tests.floats import close
from tests.retrieval.nn.parted_objectives import COUNT, Texts, batch_in_parts, cached_is_uncached, objective
from tests.retrieval.nn.test_padding_free import NAMES, SIZES, in_float64, made
from tests.retrieval.training.settings import settings
from tests.retrieval.training.test_parts import FIVE_STEPS, failing

MODELS = {
    "bert": lambda: hf.BertModel(hf.BertConfig(**SIZES)),
    "xlm-roberta": lambda: hf.XLMRobertaModel(hf.XLMRobertaConfig(**SIZES, pad_token_id=1)),
}
BATCHES = [[2] * 8, [9, 4], [3, 5, 7], [17], [11, 10, 9, 8, 7, 2], [8, 6], [12] * 5, [2, 3]]
assert sum(BATCHES[0]) == SIZES["hidden_size"]  # which torch would take for the same
STEPS = FIVE_STEPS | {"max_steps": 7}  # operations of the first three are counted


@pytest.fixture
def graphs(monkeypatch) -> list:
    """The graphs that torch hands to its compiler, which are then run as they are."""
    found: list = []

    def as_it_is(graph, inputs):
        found.append(graph)
        return graph.forward

    monkeypatch.setattr(compiling, "BACKEND", as_it_is)
    return found


def gradients(made: torch.nn.Module, batch: dict, wanted: bool) -> dict[str, torch.Tensor]:
    """Losses and gradients of one batch without padding, and whether anything was compiled among them."""
    made.zero_grad()
    torch.manual_seed(1)
    with compiled_layers(wanted) as compiler, padding_free(made, True, compiler):
        losses = made(batch)
        sum(losses.values()).backward()
    assert compiler.used == wanted
    return losses | {name: p.grad.clone() for name, p in made.named_parameters() if p.grad is not None}


def same(some: dict, others: dict) -> bool:
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


@pytest.mark.parametrize("name", NAMES)
def test_losses_and_gradient_are_those_of_layers_that_are_not_compiled(graphs, name):
    made = objective(name).double()
    [batch] = batch_in_parts(made, name, COUNT)
    close(*(gradients(made, in_float64(batch), wanted) for wanted in (True, False)))
    assert graphs


@contextlib.contextmanager
def encoded(made: torch.nn.Module, wanted: bool):
    """Encode by compiled layers, or with padding."""
    with compiled_layers(wanted) as compiler, padding_free(made, wanted, compiler):
        yield


@pytest.mark.parametrize("name", ["in-batch", "views"])
def test_a_cached_gradient_of_compiled_layers_is_the_uncached_one_of_the_same_dropout(graphs, name):
    cached_is_uncached(name, encoded)
    assert graphs


def inputs_of(lengths: list[int]) -> dict[str, torch.Tensor]:
    mask = (torch.arange(max(lengths) + 1) < torch.tensor(lengths).unsqueeze(1)).long()
    return {"input_ids": (7 * mask).clamp_min(1), "attention_mask": mask}


@pytest.mark.parametrize("half", [False, True])
def test_batches_of_all_sizes_and_all_layers_share_a_few_graphs(graphs, half):
    models = [MODELS["bert"](), MODELS["xlm-roberta"]()]
    precision = torch.autocast("cpu", torch.bfloat16) if half else contextlib.nullcontext()
    assert len(set(map(sum, BATCHES))) == len(BATCHES)
    with precision, compiled_layers(True) as compiler:
        for lengths in BATCHES:
            for model in models:
                with padding_free(model, True, compiler):
                    model(**inputs_of(lengths)).last_hidden_state.pow(3).sum().backward()
    assert len(graphs) == 2  # one of each class


class NotRun(Exception):
    pass


class Code:
    @staticmethod
    def call(inputs):
        raise NotRun


def launches(function) -> list[int]:
    """How many kernels, and operators of a library, the code for a function calls forward and backward.

    That is what torch would compile for a CPU without vectors; here it is not.
    """
    found: list[str] = []

    def generated(graph):
        found.append(graph.codegen()[0].value)
        return Code

    with (
        mock.patch.object(GraphLowering, "compile_to_module", generated),
        mock.patch("torch._inductor.cpu_vec_isa.valid_vec_isa_list", list),
        torch._inductor.config.patch(force_disable_caches=True, compile_threads=1),
        torch._functorch.config.patch(force_non_lazy_backward_lowering=True),
        pytest.raises(NotRun),
    ):
        function()
    call = r"^ +(?:\w+ = )?(cpp_fused|extern_kernels|torch\.ops\.aten)[\w.]+\("
    return [len(re.findall(call, code, re.MULTILINE)) for code in found]


class Operations(TorchDispatchMode):
    """Counts the operators that compute something."""

    VIEWS = ("view", "t", "transpose", "expand", "detach", "empty_like")
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func._opname not in self.VIEWS
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("half", "operations", "most"), [(False, 91, [16, 27]), (True, 163, [14, 20])])
def test_a_compiled_layer_launches_fewer_kernels_than_it_has_operations(half, operations, most, monkeypatch):
    """As it is padded on a CPU, and in half precision with the kernel that a GPU has."""
    monkeypatch.setattr(compiling, "has_kernel", lambda query: half)
    model = MODELS["bert"]().train()
    layers, layout = model.encoder.layer[:1], packing.Layout([9, 11], torch.device("cpu"))
    hidden = torch.randn(20, SIZES["hidden_size"], requires_grad=True)
    precision = torch.autocast("cpu", torch.bfloat16) if half else contextlib.nullcontext()
    with precision, compiled_layers(True) as compiler:
        with Operations() as counted:
            output = compiler(layers, hidden, layout, firsts=False)
            torch.autograd.grad(output.float().sum(), [hidden, *layers.parameters()])
        found = launches(lambda: compiler(layers, hidden, layout, firsts=False))
    assert counted.count == operations
    assert all(count <= limit for count, limit in zip(found, most, strict=True)), found


def test_a_gpus_graph_has_the_kernel_of_attention_and_its_gradient_in_it(monkeypatch):
    """By what torch declares of the kernel, which itself needs a GPU; no number of a tensor is read."""
    found = []

    def traced(graph, inputs):
        def noted(part, given):
            found.append([str(node.target) for node in part.graph.nodes])
            return Code.call if len(found) == 2 else part.forward

        return aot_autograd(fw_compiler=noted, bw_compiler=noted)(graph, inputs)

    monkeypatch.setattr(compiling, "BACKEND", traced)
    monkeypatch.setattr(compiling, "has_kernel", lambda query: query.dtype == torch.bfloat16)
    model = MODELS["bert"]().train()
    lazy = torch._functorch.config.patch(force_non_lazy_backward_lowering=True)
    with torch.autocast("cpu", torch.bfloat16), lazy, compiled_layers(True) as compiler:
        with (
            padding_free(model, True, compiler),
            pytest.raises(NotImplementedError, match="_flash_attention"),
        ):
            model(**inputs_of([3, 5]))
    forward, backward = found
    layers = len(model.encoder.layer)
    assert forward.count("aten._flash_attention_forward.default") == layers
    assert backward.count("aten._flash_attention_backward.default") == layers
    assert not any("attend" in name or "_local_scalar" in name for name in forward + backward)


@pytest.mark.parametrize("kernel", [True, False])
def test_a_gpus_graph_holds_no_tensor_of_the_host_and_reads_no_number(kernel):
    """The forward pass alone, as torch's fakes of a GPU have no gradient where it is built without one."""
    with torch.device("meta"):
        layers = MODELS["bert"]().encoder.layer
    with FakeTensorMode(), torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        for module in layers.modules():
            for name, weights in list(module.named_parameters(recurse=False)):
                setattr(module, name, torch.nn.Parameter(torch.empty(weights.shape, device="cuda:0")))
        hidden = torch.empty(20, SIZES["hidden_size"], device="cuda:0")
        bounds = torch.empty(4, dtype=torch.int32, device="cuda:0")
        output = compiling._layers(layers, hidden, bounds, 9, False, kernel)
    assert output.device.type == "cuda" and output.shape == hidden.shape


def trained(folder: Path, *, fails_at=None, name="in-batch", dropout=0.3, **how):
    """A training in parts of two examples, without padding: its weights and facts."""
    folder.mkdir(exist_ok=True)
    made = objective(name, dropout=dropout)
    if fails_at is not None:
        made.losses = failing(made.losses, fails_at)
    execution = Execution(**{"padding_free": 1, "micro_batch": 2, "save_steps": 1} | how)
    facts = train(
        made, Texts(name, 10), settings(**STEPS), out=folder, progress=Progress(), execution=execution
    )
    return dict(made.named_parameters()), facts


def test_a_training_compiles_its_layers_behind_the_steps_whose_operations_are_counted(graphs, tmp_path):
    _, facts = trained(tmp_path / "plain", dropout=0.0)
    assert not graphs and "compiled" not in facts
    _, told = trained(tmp_path / "compiled", dropout=0.0, compiled=1)
    assert told["compiled"] == 1 and told["flops"] == facts["flops"]
    close(told["losses"], facts["losses"])
    assert len(graphs) == 2  # with a gradient and without


def test_a_step_that_runs_out_of_memory_is_made_again_in_parts_without_another_graph(
    graphs, tmp_path, monkeypatch
):
    counts, embed = [], packing.embed

    def full(model, inputs, places):
        counts.append(len(graphs))
        if len(counts) > 4 and len(inputs["input_ids"]) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return embed(model, inputs, places)

    monkeypatch.setattr(packing, "embed", full)
    _, facts = trained(tmp_path, compiled=1, name="mlm", micro_batch=None)
    assert facts["micro_batch"] == 2 and facts["micro_batch_origin"].startswith("halved at step")
    assert facts["compiled"] == 1 and counts[4] == counts[-1] == len(graphs) == 1


def test_a_machine_that_cannot_compile_is_told_in_a_sentence():
    without = torch._inductor.config.patch({"cpp.cxx": (None, "no-such-compiler")})
    sentence = "REPRO_COMPILE is 1, and torch cannot compile here (No working C++ compiler found"
    model = MODELS["bert"]()
    with compiled_layers(True) as compiler, padding_free(model, True, compiler), without:
        with pytest.raises(BlockedError, match=re.escape(sentence)):
            model(**inputs_of([3, 5]))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["in-batch", "mlm"])
def test_torchs_compiler_gives_the_same_losses_and_gradients(name):
    made = objective(name).double()
    [batch] = batch_in_parts(made, name, COUNT)
    close(*(gradients(made, in_float64(batch), wanted) for wanted in (True, False)))


@pytest.mark.nightly
def test_torchs_compiler_draws_the_same_dropout_with_a_gradient_and_without():
    cached_is_uncached("in-batch", encoded)


@pytest.mark.nightly
@pytest.mark.parametrize("name", MODELS)
def test_torchs_compiler_gives_the_same_states_for_all_sizes_from_one_graph(name, monkeypatch):
    model, graphs = made(name), []

    def counted(graph, inputs):
        graphs.append(graph)
        return compile_fx(graph, inputs)

    monkeypatch.setattr(compiling, "BACKEND", counted)
    with compiled_layers(True) as compiler, padding_free(model, True, compiler):
        found = [model(**inputs_of(lengths)).last_hidden_state.detach() for lengths in BATCHES]
    assert compiler.used and len(graphs) == 1
    with padding_free(model, True):
        for states, lengths in zip(found, BATCHES, strict=True):
            close(states, model(**inputs_of(lengths)).last_hidden_state.detach())


@pytest.mark.nightly
def test_a_killed_training_ends_with_the_bits_of_its_compiled_kernels(tmp_path):
    """Its first compiled batch is another one, and dropout falls otherwise than in layers as they are."""
    straight, facts = trained(tmp_path / "straight", compiled=1)
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", compiled=1, fails_at=6)
    again, told = trained(tmp_path / "killed", compiled=1)
    assert told["resumed_at"] == 5 and told["losses"] == facts["losses"]
    assert same(again, straight) and not same(straight, trained(tmp_path / "plain")[0])
