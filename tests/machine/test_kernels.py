"""Kernels pinned before libraries load, in processes that know nothing of what this one was started with."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from repro.machine import kernels, system
from repro.progress import Progress

needs_avx2 = pytest.mark.skipif(not kernels.pins(), reason="this processor has no AVX2")
FACTS = "import json; from repro.machine import kernels; {}; print(json.dumps(kernels.facts()))"


@pytest.fixture
def new_process(unpinned_environment):
    """``new_process(script, NAME=value)``: the output of a process in which nothing else is pinned."""

    def call(script: str, **variables: str) -> str:
        command, environment = [sys.executable, "-c", script], unpinned_environment | variables
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert ended.stderr == ""
        return ended.stdout

    return call


class Notes(Progress):
    def __init__(self):
        self.lines = []

    def note(self, message):
        self.lines.append(message)


@pytest.fixture
def unpinned(monkeypatch):
    monkeypatch.setattr(kernels, "_in_force", None)
    monkeypatch.setattr(kernels, "os", SimpleNamespace(environ={}))
    monkeypatch.setattr(kernels, "sys", SimpleNamespace(modules={}))


@pytest.fixture
def processor(monkeypatch):
    def set_flags(*flags: str) -> None:
        monkeypatch.setattr(system, "_cpu_information", lambda: f"flags\t: {' '.join(flags)}\n")

    return set_flags


@needs_avx2
def test_torch_numpy_and_faiss_take_avx2_whatever_else_the_processor_has(new_process):
    made = json.loads(new_process(FACTS.format("kernels.pin(); import torch")))
    assert made["torch"] == "AVX2" and made["pins"] == kernels.pins()
    steps = "kernels.pin(); import faiss; from numpy._core._multiarray_umath import __cpu_features__ as f"
    wide = "f['X86_V4'], f['AVX512_SPR'], faiss.SIMDConfig.get_level() == faiss.SIMDLevel_AVX2"
    script = f"from repro.machine import kernels; {steps}; print(*({wide}))"
    assert new_process(script) == "False False True\n"


@needs_avx2
def test_without_being_told_to_nothing_is_pinned(new_process):
    assert json.loads(new_process(FACTS.format("import torch")))["pins"] == {}


def test_what_the_user_sets_stays_is_said_and_is_recorded(unpinned, processor):
    processor("avx2", "fma")
    kernels.os.environ["MKL_CBWR"] = "AVX2"
    kernels.pin(notes := Notes())
    assert kernels.os.environ["MKL_CBWR"] == kernels.facts()["pins"]["MKL_CBWR"] == "AVX2"
    assert kernels.os.environ["ATEN_CPU_CAPABILITY"] == "avx2"
    [sentence] = notes.lines
    assert sentence.startswith("MKL_CBWR=AVX2 is set in the environment: results may differ")
    kernels.pin(notes)
    assert len(notes.lines) == 1


@pytest.mark.parametrize("flags", [("sse4_2", "avx"), ("asimd",), ()])
def test_a_processor_without_avx2_is_left_as_it_is_and_that_is_said(flags, unpinned, processor):
    processor(*flags)
    kernels.pin(notes := Notes())
    assert kernels.pins() == kernels.os.environ == kernels.facts()["pins"] == {}
    [sentence] = notes.lines
    assert sentence.startswith("kernels are pinned only on x86-64 with AVX2")


def test_a_library_that_was_loaded_before_is_named_once_and_not_said_to_be_pinned(unpinned, processor):
    processor("avx2", "fma")
    kernels.sys.modules["numpy"] = object()
    with pytest.warns(UserWarning, match="^numpy had been loaded before kernels were pinned"):
        kernels.pin()
    kernels.pin()
    assert "OPENBLAS_CORETYPE" not in kernels.facts()["pins"]
    assert kernels.facts()["pins"]["MKL_CBWR"] == "COMPATIBLE"
    assert kernels.os.environ["OPENBLAS_CORETYPE"] == "Haswell"


SUM_OF_A_LARGE_MODEL = """
from repro.machine import kernels
kernels.pin()
import torch
from torch import nn
from repro.retrieval.nn.precision import is_small, threads_for
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(700, 1500), nn.LayerNorm(1500), nn.Linear(1500, 700))
assert not is_small(model)
with threads_for(model):
    model(torch.randn(300, 700)).pow(2).sum().backward()
print(*(float(p.grad.double().sum()).hex() for p in model.parameters()))
"""


@needs_avx2
def test_the_gradients_of_a_large_model_are_the_same_bits_on_any_number_of_threads(new_process):
    one, three = (new_process(SUM_OF_A_LARGE_MODEL, OMP_NUM_THREADS=n) for n in "13")
    assert one == three


PINNED = dict(kernels._PINNED)


@pytest.mark.parametrize(
    ("pins", "others"),
    [
        (PINNED | {"NPY_DISABLE_CPU_FEATURES": "X86_V4"}, []),
        (PINNED | {"MKL_CBWR": "AVX2"}, ["MKL_CBWR AVX2 (pinned: COMPATIBLE)"]),
        ([PINNED, PINNED | {"MKL_CBWR": "AVX2"}], ["MKL_CBWR AVX2 (pinned: COMPATIBLE)"]),
        ([PINNED, {}], [f"kernels of {name} that were not pinned" for name in ("faiss", "numpy", "torch")]),
    ],
)
def test_kernels_other_than_the_pinned_ones_are_named(pins, others):
    assert kernels.unlike_pinned({"pins": pins}, needed=True) == others


def test_missing_pins_count_only_where_they_are_needed():
    assert kernels.unlike_pinned({"pins": {}}, needed=False) == kernels.unlike_pinned({}, needed=True) == []
