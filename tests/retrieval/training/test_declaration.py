"""What is read of an objective's source is what the class says once it is imported."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from repro.errors import UsageError
from repro.graph import Node
from repro.manifest.papers import load
from repro.retrieval.recipe import Objective
from repro.retrieval.training.declaration import check_options, declaration
from repro.retrieval.training.objective import BatchObjective, SumObjective

COSTA = {"name": "costa", "version": 1, "path": "papers.costa.contrastive_spans:ContrastiveSpans"}
CROSS = {"name": "cross-encoder", "version": 2, "path": "repro.retrieval.nn.cross_encoder:CrossEncoder"}
OFFERED = {"passage_length": 128, "separator": " "}


def objectives() -> list[str]:
    """The paths of all objectives that a paper's modules name."""
    root = Path(importlib.import_module("papers").__path__[0])
    names = [
        ".".join(("papers", *path.relative_to(root).with_suffix("").parts)) for path in root.rglob("*.py")
    ]
    modules = [vars(importlib.import_module(name)) for name in names]
    return sorted({v.path for module in modules for v in module.values() if isinstance(v, Objective)})


def test_the_declaration_of_every_objective_is_that_of_its_class():
    trained = [path for path in objectives() if not path.endswith(":view")]
    assert len(trained) > 15
    for path in trained:
        kind, declared = load(path), declaration(path)
        taken = [p for p in inspect.signature(kind).parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert declared.parameters == {p.name: p.default is p.empty for p in taken}, path
        assert declared.stated == {"name": kind.name, "version": kind.version}, path
        for key in ("token_lengths", "vector_widths"):
            assert getattr(declared, key) == getattr(kind, key, ()), path
        assert not {*declared.token_lengths, *declared.vector_widths} - set(declared.parameters), path
        forms = {
            form
            for form in (SumObjective, BatchObjective)
            for method in ("denominators", "represent")
            if hasattr(form, method) and hasattr(kind, method)
        }
        assert len(forms) == 1, path


def test_a_class_has_the_parameters_of_the_one_it_inherits_from():
    own, parent = (
        declaration(path).parameters
        for path in ("papers.simlm.mlm:PairMaskedLanguageModel", "repro.retrieval.nn.mlm:MaskedLanguageModel")
    )
    assert own == parent | {"unit": own["unit"]} and own["length"]  # that one of its own beside them


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
            "no objective at",
        ),
        ({"objective": CROSS | {"version": 1}, "options": {}}, "has version 2, the recipe says 1; give both"),
        (
            {"objective": CROSS | {"name": "cross"}, "options": {}},
            "has name 'cross-encoder', the recipe says",
        ),
        (
            {"objective": CROSS | {"path": "repro.retrieval.nn.other:Other"}, "options": {}},
            "no module 'repro.retrieval.nn.other'",
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
            "repro.retrieval.nn.distilled_bi_encoder:DistilledBiEncoder",
            {"terms": "blocks"},
            "known: four-blocks, query",
        ),
        (COSTA["path"], {"reduction": "men"}, "no reduction of objective 'o' 'men'"),
        (COSTA["path"], {"temperature": 0}, "temperature is 0, and has to be a number above 0"),
        (COSTA["path"], {"masking": {"rate": 1.5}}, "rate is 1.5, and has to be a number from 0 to 1"),
        (COSTA["path"], {"masking": {"mask": 0.8, "random": 0.3}}, "together they have to be 1 at most"),
    ],
)
def test_options_whose_value_makes_no_sense_are_refused_before_the_objective_is_made(path, options, message):
    declared = declaration(path)
    available = dict.fromkeys(declared.parameters) | options
    objective = {"path": path, **declared.stated}
    stage = "finetune" if "load" in declared.methods else "pretrain"
    with pytest.raises(UsageError, match=message.replace("'o'", repr(declared.stated["name"]))):
        check_options(Node(stage, {"objective": objective, "options": available}))


CHECKED = """
from .beside import WAYS, check_last
from repro.errors import check_known
KINDS = {"a": 1, "b": 2}
class Base:
    def __init__(self, *, kind, other): check_known("kind", kind, other, valid=KINDS)
class Made(Base):
    ways = ("c",)
    def __init__(self, *, kind, other, way, number, last):
        super().__init__(kind=kind, other="a" if other == "x" else other)
        check_known("way", way, valid=self.ways)
        check_known("number", number, valid=WAYS)
        check_last(last)
        if way == "c":
            check_known("last", last, valid=("d",))
"""


def test_only_what_a_class_checks_of_an_option_as_it_is_given_is_read(tmp_path, monkeypatch):
    (tmp_path / "checked_class.py").write_text(CHECKED)
    monkeypatch.syspath_prepend(tmp_path)
    assert declaration("checked_class:Made").choices == {"kind": ("a", "b"), "way": ("c",)}


OBJECTIVE = """
class Made:
    name = "made"
    version = 1

    def __init__(self, model, tokenizer): ...
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
    node = Node(stage, {"objective": {"name": "made", "version": 1, "path": f"{module}:Made"}, "options": {}})
    if missing is None:
        check_options(node)
    else:
        with pytest.raises(UsageError, match=f"has no method '{missing}', which the stage {stage} calls"):
            check_options(node)


def test_an_input_that_an_objective_does_not_take_is_refused():
    options = {name: None for name in declaration(COSTA["path"]).parameters if name not in ("length", "seed")}
    params = {"objective": COSTA, "options": options, "length": 64, "seed": 1}
    check_options(Node("pretrain", params))
    with pytest.raises(UsageError, match="'costa' takes no 'statistics'"):
        check_options(Node("pretrain", params, {"statistics": Node("corpus", {"dataset": "tiny/text"})}))


def test_a_declaration_is_read_without_torch():
    module = "repro.retrieval.training.declaration"
    code = f"from {module} import declaration; declaration({COSTA['path']!r}); import sys"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)
