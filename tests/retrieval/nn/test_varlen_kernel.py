import pytest
import torch

from repro.retrieval.nn import padding_free
from repro.retrieval.nn.packed_texts import PackedTexts
from repro.retrieval.nn.padding_free import Layout, by_kernel, text_by_text
from repro.retrieval.training.flop_count import Flops
from tests import varlen_kernel
from tests.floats import close
from tests.retrieval.nn import test_padding_free as packed_texts
from tests.retrieval.nn.parted_objectives import COUNT, batch_in_parts, cached_is_uncached, objective
from tests.retrieval.nn.test_padding_free import held_against_the_padded, in_float64

calls = varlen_kernel.calls
ASKS = {"precision": "bf16"}


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("name", packed_texts.MODELS)
def test_vectors_of_the_kernel_are_those_of_the_padded_model_with_its_positions(calls, name, pooling):
    model, inputs = packed_texts.made(name), packed_texts.texts(name)
    vectors = PackedTexts(model, pooling=pooling)(inputs)
    expected = torch.from_numpy(packed_texts.padded(model, inputs, pooling))
    close(vectors, expected)
    asked = len(packed_texts.LENGTHS) if pooling != "mean" else sum(packed_texts.LENGTHS)
    assert calls == [sum(packed_texts.LENGTHS)] * (len(model.encoder.layer) - 1) + [asked]


@pytest.mark.parametrize("name", ["mlm", "in-batch", "views"])
def test_a_training_by_the_kernel_has_the_losses_and_gradient_of_the_padded_batch(calls, name):
    made = objective(name).double()
    [batch] = batch_in_parts(made, name, COUNT)
    held_against_the_padded(made, in_float64(batch))
    assert calls


@pytest.mark.parametrize("name", ["in-batch", "views"])
def test_a_cached_gradient_by_the_kernel_is_the_uncached_one_of_the_same_dropout(calls, name):
    cached_is_uncached(name, padding_free.padding_free)
    assert calls


@pytest.mark.parametrize("name", ["mlm", "in-batch"])
def test_a_training_drops_out_of_attention_in_the_kernel_what_the_model_says(calls, monkeypatch, name):
    kernel, dropped = padding_free.flash_attention, []

    def noted(*given):
        dropped.append(given[7])
        return kernel(*given)

    monkeypatch.setattr(padding_free, "flash_attention", noted)
    made = objective(name, dropout=0.3).double().train()
    [batch] = batch_in_parts(made, name, COUNT)
    with padding_free.padding_free(made, True):
        made(in_float64(batch))
        made.eval()(in_float64(batch))
    half = len(dropped) // 2
    assert dropped == [0.3] * half + [0.0] * half and calls


def test_the_kernel_takes_its_arguments_in_the_order_in_which_it_is_given_them():
    names = [argument.name for argument in padding_free.flash_attention.default._schema.arguments]
    given = ["query", "key", "value", "cum_seq_q", "cum_seq_k", "max_q", "max_k"]
    assert names[:10] == [*given, "dropout_p", "is_causal", "return_debug_mask"]


class OnGpu:
    is_cuda, device = True, "h100"

    def __init__(self, dtype=torch.bfloat16, head=64):
        self.dtype, self.shape = dtype, (12, 2, head)


def test_a_kernel_is_asked_for_on_a_gpu_in_half_precision_alone(monkeypatch):
    capability = {"a100": (8, 0), "v100": (7, 0), "h100": (9, 0)}
    monkeypatch.setattr(torch.cuda, "get_device_capability", capability.get)
    rule = padding_free.has_kernel
    assert rule(OnGpu()) and rule(OnGpu(torch.float16))
    assert not rule(OnGpu(torch.float32))
    assert not rule(OnGpu(head=20)) and not rule(OnGpu(head=264))
    assert not rule(torch.zeros(1, 1, 64, dtype=torch.bfloat16))
    for gpu, has in (("v100", False), ("a100", True)):
        monkeypatch.setattr(OnGpu, "device", gpu)
        assert rule(OnGpu()) is has


def test_the_kernels_operations_are_counted_as_those_of_its_texts():
    layout, counted = Layout([3, 4, 4], torch.device("meta")), Flops()
    rows = torch.empty(11, 2, 8, dtype=torch.bfloat16, device="meta")
    with counted.step():
        by_kernel(rows, rows, rows, layout)
    assert counted.counted == [2 * 2 * 2 * 8 * 3 * 4 * 4]  # two products of texts as long as the longest


def gpu(monkeypatch, *, capability=(9, 0), kernel=varlen_kernel.attention) -> None:
    class Named:
        type = "cuda"

    monkeypatch.setenv("REPRO_PADDING_FREE", "1")
    monkeypatch.setattr(padding_free, "device", Named)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda where: capability)
    fault = padding_free._fault
    cpu = torch.device("cpu")
    monkeypatch.setattr(padding_free, "_fault", lambda where, *others: fault(cpu, *others))
    monkeypatch.setattr(padding_free, "flash_attention", kernel)


def reversed_values(query, key, value, *others):
    return varlen_kernel.attention(query, key, value.flip(0), *others)


def refused(*given):
    raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.\nat line 1")


SAID = {
    "fp32": ({}, {"precision": "fp32"}, "in fp16 and bf16, not in fp32"),
    "an old GPU": ({"capability": (7, 5)}, {}, "capability is below 8.0"),
    "a kernel that errs": ({"kernel": reversed_values}, {}, "differs from that of single texts"),
    "a kernel that refuses": (
        {"kernel": refused},
        {},
        "(FlashAttention only supports Ampere GPUs or newer.)",
    ),
}


def large_heads() -> torch.nn.Module:
    return packed_texts.hf.BertModel(packed_texts.hf.BertConfig(**packed_texts.SIZES)).eval()


@pytest.mark.parametrize("name", SAID)
def test_what_stands_in_the_kernels_way_is_told_once_and_texts_stay_padded(monkeypatch, name):
    machine, changes, words = SAID[name]
    gpu(monkeypatch, **machine)
    told = []
    assert not padding_free.packs(large_heads(), say=told.append, **ASKS | changes)
    [line] = told
    assert line.startswith("texts are encoded with padding although REPRO_PADDING_FREE is 1: ")
    assert words in line and "\n" not in line
    asks = ASKS | changes
    monkeypatch.delenv("REPRO_PADDING_FREE")
    assert not padding_free.packs(large_heads(), say=pytest.fail, **asks)
    assert not padding_free.trains_faster(large_heads(), asks["precision"])


def test_the_oldest_gpu_that_the_kernel_takes_is_one(monkeypatch):
    gpu(monkeypatch, capability=padding_free.KERNEL_FROM)
    assert padding_free.packs(large_heads(), say=pytest.fail, **ASKS)


def test_models_that_the_kernel_does_not_fit_are_told(monkeypatch):
    gpu(monkeypatch)
    told = []
    sizes = packed_texts.SIZES | {"hidden_size": 24}
    odd = packed_texts.hf.BertModel(packed_texts.hf.BertConfig(**sizes))
    assert not padding_free.packs(odd, say=told.append, **ASKS)
    assert not padding_free.packs(torch.nn.Linear(1, 1), say=told.append, **ASKS)
    assert "the model's is 12" in told[0] and "not built as BERT" in told[1]


def test_the_kernel_is_taken_where_it_computes_what_it_should_and_nothing_is_said(monkeypatch):
    told = []
    assert not padding_free.packs(large_heads(), say=told.append, **ASKS)
    gpu(monkeypatch)
    for precision in ("fp16", "bf16"):
        assert padding_free.packs(large_heads(), say=told.append, precision=precision)
        assert padding_free.trains_faster(large_heads(), precision)
    monkeypatch.delenv("REPRO_PADDING_FREE")
    assert padding_free.packs(large_heads(), say=told.append, **ASKS)
    monkeypatch.setenv("REPRO_PADDING_FREE", "0")
    assert not padding_free.packs(large_heads(), say=told.append, **ASKS)
    assert not told


def test_attention_by_the_kernel_is_attention_text_by_text(calls):
    layout = Layout([4, 0, 2, 2, 1], torch.device("cpu"))
    query, key, value = torch.randn(3, 9, 2, 8, generator=torch.Generator().manual_seed(0))
    for asked in (query, query[:4]):
        close(by_kernel(asked, key, value, layout), text_by_text(asked, key, value, layout))
