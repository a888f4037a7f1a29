import itertools
import sys

import pytest

from repro.errors import BlockedError, UsageError
from repro.retrieval.recipe import Objective
from repro.retrieval.training.declaration import keywords
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
BASE = """
class Made:
    name, version = "made", 1

    def __init__(self, model, tokenizer, *, way, more=1): ...
"""
NUMBERS = itertools.count()


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
        ({"warmup_steps": 3}, "cannot have both"),
        ({"precision": "fp8"}, "'fp8' is not a known precision"),
    ],
)
def test_settings_that_contradict_themselves_are_a_usage_error(changes, said):
    with pytest.raises(UsageError, match=said):
        settings(**changes)


def test_half_precision_without_a_gpu_is_blocked():
    with pytest.raises(BlockedError, match="run on a GPU, or use fp32"):
        settings(precision="fp16")


def keywords_of(tmp_path, monkeypatch, text: str) -> tuple[dict[str, bool], bool]:
    name = f"made_for_signature_{next(NUMBERS)}"
    (tmp_path / f"{name}_base.py").write_text(BASE)
    (tmp_path / f"{name}.py").write_text(f"from {name}_base import Made\n{text}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return keywords({"name": "made", "version": 1, "path": f"{name}:Own"}), name in sys.modules


@pytest.mark.parametrize(
    "text",
    [
        "class Own(Made): ...",
        "class Between(Made): ...\nclass Own(Between): ...",
        "class Own:\n    def __init__(self, model, tokenizer, *, way, more=None): ...",
        "class Own(Made, dict):\n    def __init__(self, model, tokenizer, *, way, more=None): ...",
    ],
)
def test_a_constructor_that_the_source_shows_is_read_without_an_import(tmp_path, monkeypatch, text):
    assert keywords_of(tmp_path, monkeypatch, text) == ({"way": True, "more": False}, False)


@pytest.mark.parametrize(
    "text",
    [
        "Own = type('Own', (Made,), {})",
        "class Second: ...\nclass Own(Second, Made): ...",
        "@lambda own: Made\nclass Own: ...",
        "class Own: ...\nOwn = Made",
    ],
)
def test_a_class_that_the_source_does_not_show_is_imported(tmp_path, monkeypatch, text):
    assert keywords_of(tmp_path, monkeypatch, text) == ({"way": True, "more": False}, True)


@pytest.mark.parametrize(
    "text",
    [
        "class Own(Made):\n    def __init__(self, model, tokenizer, **others): ...",
        "class Between(Made):\n    def __init__(self, *texts, **others): ...\nclass Own(Between): ...",
        "Own = type('Own', (), {'__init__': lambda self, model, tokenizer, **others: None})",
    ],
)
def test_a_class_with_options_that_it_does_not_name_is_refused(tmp_path, monkeypatch, text):
    message = r"made_for_signature_\d+:Own has \*\*others, but its __init__ must name each option"
    with pytest.raises(UsageError, match=message):
        keywords_of(tmp_path, monkeypatch, text)
