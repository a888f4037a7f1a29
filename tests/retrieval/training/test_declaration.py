"""The methods and parameters of an objective, and the settings of a training: warm-up, end, precision."""

import pytest

from repro.errors import BlockedError, UsageError
from repro.retrieval.recipe import Objective
from repro.retrieval.training.objective import objective_class
from tests.retrieval.training.settings import settings

OBJECTIVE = """
class Made:
    name = "made"
    version = 1

    def __init__(self, model, tokenizer, *, way, more=1): ...
    def collate(self, examples): ...
    def save(self, folder): ...
"""


@pytest.mark.parametrize(
    ("stage", "methods", "missing"),
    [
        ("pretrain", (), "forward"),
        ("pretrain", ("forward",), "denominators"),
        ("pretrain", ("represent",), "losses"),
        ("pretrain", ("losses",), "represent"),
        ("pretrain", ("represent", "losses"), None),
        ("finetune", ("represent", "losses"), "load"),
        ("finetune", ("forward", "denominators", "load"), None),
    ],
)
def test_an_objective_has_the_methods_that_its_stage_calls(tmp_path, monkeypatch, stage, methods, missing):
    text = OBJECTIVE + "".join(f"    def {name}(self, batch): ...\n" for name in methods)
    module = f"of_{stage}_{'_'.join(methods)}"
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    params = {"objective": Objective("made", 1, f"{module}:Made").identity}
    if missing is None:
        assert objective_class(stage, params).name == "made"
    else:
        with pytest.raises(UsageError, match=f"has no method '{missing}', which the stage {stage} calls"):
            objective_class(stage, params)


def test_a_warm_up_is_a_share_of_the_steps_or_a_number_of_them():
    assert settings().warmup(12) == 3 and settings(warmup_ratio=0.1).warmup(12) == 2
    assert settings(warmup_ratio=None, warmup_steps=7).warmup(12) == 7


def test_what_ends_first_of_epochs_and_steps_ends_the_training():
    assert settings(epochs=2, max_steps=None).steps(10) == 6
    assert settings(epochs=2, max_steps=5).steps(10) == 5
    assert settings(epochs=2, max_steps=100).steps(10) == 6
    assert settings(epochs=0.5, max_steps=None).steps(10) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_steps": None}, "epochs or max_steps"),
        ({"warmup_steps": 3}, "not both"),
        ({"precision": "fp8"}, "no precision 'fp8'"),
    ],
)
def test_settings_that_contradict_themselves_are_a_usage_error(changes, said):
    with pytest.raises(UsageError, match=said):
        settings(**changes)


def test_half_precision_without_a_gpu_is_blocked():
    with pytest.raises(BlockedError, match="run on a GPU, or ask for fp32"):
        settings(precision="fp16")
