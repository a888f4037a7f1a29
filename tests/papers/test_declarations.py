"""Declarations of objectives in recipes against their classes."""

import importlib
import inspect
from pathlib import Path

import pytest

from papers.baselines.two_stage import RERANKER
from papers.costa import recipes
from repro.errors import UsageError
from repro.graph import Node
from repro.manifest.papers import load
from repro.retrieval.recipe import Objective
from repro.retrieval.training.declaration import check_options, declared, names_in
from repro.retrieval.training.objective import objective_class

COSTA, CROSS = recipes.COSTA.identity, RERANKER.identity
OFFERED = {"passage_length": 128, "separator": " "}


def objectives() -> list[Objective]:
    root = Path(importlib.import_module("papers").__path__[0])
    names = [
        ".".join(("papers", *path.relative_to(root).with_suffix("").parts)) for path in root.rglob("*.py")
    ]
    modules = [vars(importlib.import_module(name)) for name in [*names, "repro.retrieval.recipe"]]
    found = {v.path: v for module in modules for v in module.values() if isinstance(v, Objective)}
    return [found[path] for path in sorted(found)]


def test_every_objective_can_be_trained_as_it_is_declared():
    root, trained = (
        Path(__file__).parents[2],
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
        assert objective.name in names_in((root / "papers", root / "repro/retrieval/recipe"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"options": {"trained_passages": 2, "regulariser": "none", "depth": 3}},
            "takes no 'depth'. Its options: 'passage_length'",
        ),
        ({"options": {"regulariser": "none"}}, "needs 'trained_passages', missing in the recipe"),
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
            "'rdrop' is not a known regulariser of objective 'o'",
        ),
        ("repro.retrieval.nn.bi_encoder:BiEncoderContrastive", {"similarity": "dat"}, r"Did you mean dot\?"),
        (
            "repro.retrieval.nn.bi_encoder:BiEncoderContrastive",
            {"projector": "lineal"},
            r"Did you mean linear\?",
        ),
        (
            "repro.retrieval.nn.bi_encoder:DistilledBiEncoder",
            {"terms": "blocks"},
            "Known: four-blocks, query, printed",
        ),
        (COSTA["path"], {"reduction": "men"}, "'men' is not a known reduction of objective 'o'"),
        (COSTA["path"], {"temperature": 0}, "temperature is 0, but must be a number above 0"),
        (COSTA["path"], {"masking": {"rate": 1.5}}, "rate is 1.5, but must be a number from 0 to 1"),
        (COSTA["path"], {"masking": {"mask": 0.8, "random": 0.3}}, "their sum may be 1 at most"),
    ],
)
def test_options_whose_value_makes_no_sense_are_refused_before_the_objective_is_made(path, options, message):
    objective = declared({"path": path})
    available = dict.fromkeys(objective.parameters) | options
    with pytest.raises(UsageError, match=message.replace("'o'", repr(objective.name))):
        check_options(Node("pretrain", {"objective": objective.identity, "options": available}))


def test_an_input_that_an_objective_does_not_take_is_refused():
    options = {name: None for name in declared(COSTA).parameters if name not in ("length", "seed")}
    params = {"objective": COSTA, "options": options, "length": 64, "seed": 1}
    check_options(Node("pretrain", params))
    with pytest.raises(UsageError, match="'costa' takes no 'statistics'"):
        check_options(Node("pretrain", params, {"statistics": Node("corpus", {"dataset": "tiny/text"})}))
