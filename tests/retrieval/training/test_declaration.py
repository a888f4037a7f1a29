"""A plan checks the options of a training against the class of its objective, without importing it.

Of the settings of a training: their warm-up, their end, and what is refused.
"""

import importlib
import inspect
from pathlib import Path

import pytest

from papers.baselines.two_stage import RERANKER
from papers.costa import recipes
from repro.errors import BlockedError, UsageError
from repro.graph import Node
from repro.manifest.papers import load
from repro.retrieval.recipe import Objective
from repro.retrieval.training.declaration import check_options, declared, names_in
from repro.retrieval.training.objective import objective_class
from tests.retrieval.training.settings import settings

COSTA, CROSS = recipes.COSTA.identity, RERANKER.identity
OFFERED = {"passage_length": 128, "separator": " "}


def objectives() -> list[Objective]:
    """The objectives that a paper's modules declare."""
    root = Path(importlib.import_module("papers").__path__[0])
    names = [
        ".".join(("papers", *path.relative_to(root).with_suffix("").parts)) for path in root.rglob("*.py")
    ]
    modules = [vars(importlib.import_module(name)) for name in [*names, "repro.retrieval.recipe"]]
    found = {v.path: v for module in modules for v in module.values() if isinstance(v, Objective)}
    return [found[path] for path in sorted(found)]


def test_every_objective_can_be_trained_as_it_is_declared():
    root, trained = (
        Path(__file__).parents[3],
        [each for each in objectives() if not each.path.endswith(":view")],
    )
    assert len(trained) > 15
    for objective in trained:
        stage = "finetune" if hasattr(load(objective.path), "load") else "pretrain"
        kind = objective_class(stage, {"objective": objective.identity})
        taken = [p for p in inspect.signature(kind).parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert objective.parameters == {p.name: p.default is p.empty for p in taken}
        with_choices = {word.partition("=")[0] for word in objective.choices.split()}
        shrunk = {*objective.token_lengths, *objective.vector_widths}
        assert not (shrunk | with_choices) - set(objective.parameters)
        assert objective.own_parts == hasattr(load(objective.path), "part_size"), objective.path
        assert objective.name in names_in((root / "papers", root / "repro/retrieval/recipe"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"options": {"trained_passages": 2, "regulariser": "none", "depth": 3}},
            "takes no 'depth'; it takes",
        ),
        ({"options": {"regulariser": "none"}}, "needs 'trained_passages'; the recipe gives none"),
        (
            {"objective": CROSS | {"path": "repro.retrieval.nn.cross_encoder:Other"}, "options": {}},
            "no recipe declares an objective at",
        ),
        (
            {"objective": Objective("o", 1, "repro.retrieval.nn.other:Other").identity, "options": {}},
            "there is no objective at 'repro.retrieval.nn.other:Other'",
        ),
    ],
)
def test_options_that_an_objective_does_not_take_are_refused_before_it_is_made(params, message):
    with pytest.raises(UsageError, match=message):
        check_options(Node("finetune", {"objective": CROSS, **OFFERED, **params}))


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (
            "repro.retrieval.nn.cross_encoder:CrossEncoder",
            {"regulariser": "rdrop"},
            "no regulariser of objective 'o' 'rdr",
        ),
        (
            "repro.retrieval.nn.bi_encoder:BiEncoderContrastive",
            {"similarity": "dat"},
            r"did you mean 'dot'\?",
        ),
        (
            "repro.retrieval.nn.bi_encoder:BiEncoderContrastive",
            {"projector": "lineal"},
            r"did you mean 'linear'\?",
        ),
        (
            "repro.retrieval.nn.bi_encoder:DistilledBiEncoder",
            {"terms": "blocks"},
            "known: four-blocks, query, printed",
        ),
        (COSTA["path"], {"reduction": "men"}, "no reduction of objective 'o' 'men'"),
        (COSTA["path"], {"temperature": 0}, "temperature is 0, and has to be a number above 0"),
        (COSTA["path"], {"masking": {"rate": 1.5}}, "rate is 1.5, and has to be a number from 0 to 1"),
        (COSTA["path"], {"masking": {"mask": 0.8, "random": 0.3}}, "together they have to be 1 at most"),
    ],
)
def test_options_whose_value_makes_no_sense_are_refused_before_the_objective_is_made(path, options, message):
    objective = declared({"path": path})
    available = dict.fromkeys(objective.parameters) | options
    with pytest.raises(UsageError, match=message.replace("'o'", repr(objective.name))):
        check_options(Node("pretrain", {"objective": objective.identity, "options": available}))


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


def test_an_input_that_an_objective_does_not_take_is_refused():
    options = {name: None for name in declared(COSTA).parameters if name not in ("length", "seed")}
    params = {"objective": COSTA, "options": options, "length": 64, "seed": 1}
    check_options(Node("pretrain", params))
    with pytest.raises(UsageError, match="'costa' takes no 'statistics'"):
        check_options(Node("pretrain", params, {"statistics": Node("corpus", {"dataset": "tiny/text"})}))


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
