"""``import repro``: its names, types, documentation and imports."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import repro
from repro import errors
from repro.hooks import ask, merged

ROOT = Path(repro.__file__).parent
OFFERED = set(dir(repro)) - {"errors", "__version__"}


def test_what_is_offered_is_there_documented_and_typed():
    assert dir(repro) == repro.__all__ == sorted([*OFFERED, "errors", "__version__"])
    for name in OFFERED:
        offered = getattr(repro, name)
        assert ">>> " in inspect.getdoc(offered) and "repro." in inspect.getdoc(offered), name
        if inspect.isfunction(offered):
            parameters = inspect.signature(offered).parameters.values()
            assert all(p.annotation is not p.empty for p in parameters), name
            assert "return" in offered.__annotations__, name
    assert (ROOT / "py.typed").is_file()


@pytest.mark.needs_plugins
def test_all_that_is_offered_has_a_place_in_the_reference():
    page = (ROOT.parent / "docs/reference/api.md").read_text().splitlines()
    offered = {name: f"repro.{name}" for name in OFFERED} | merged(ask().public_names())
    places = {name: target.replace(":", ".") for name, target in offered.items()}
    assert [place for place in places.values() if f"::: {place}" not in page] == []


def test_examples_are_calls_that_exist():
    for name in OFFERED:
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(getattr(repro, name))):
            called = re.findall(r"repro\.(\w+)(\.\w+)?\(", example.source)
            assert called and all(hasattr(repro, function) for function, _ in called), example.source
            compile(example.source, name, "eval")


def test_what_is_not_offered_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'papr'"):
        _ = repro.papr


def test_importing_the_suite_loads_nothing_heavy_and_a_submodule_no_api():
    code = (
        "import sys, repro\nfrom repro.retrieval import recipe\n"
        "assert 'repro.api' not in sys.modules\n"
        "repro.papers()\n"
        "repro.measure\n"  # kernels are pinned before their libraries load
        "heavy = {'torch', 'numpy', 'faiss', 'pandas', 'ranx', 'matplotlib', 'transformers', 'scipy'}\n"
        "print(set(sys.modules) & heavy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT.parent)
    assert done.stdout == "set()\n", done.stderr


@pytest.mark.needs_plugins
def test_mistakes_are_errors_of_the_suite_in_one_sentence():
    for call, sentence in (
        (lambda: repro.paper("nobody"), "'nobody' is not a known paper"),
        (lambda: repro.table("costa"), "A table is named PAPER/NUMBER"),
        (lambda: repro.table("costa/99"), "costa has no table 99"),
        (lambda: repro.compare("costa", scale="huge"), "'huge' is not a known scale"),
        (lambda: repro.compare("costa/1/x"), "is not the name of a cell"),
        (lambda: repro.compare(yours="x.run"), "name a table, e.g. PAPER/1"),
        (lambda: repro.compare(yours="x.run", dataset="beir/scifact/test"), "there is no run file 'x.run'"),
    ):
        with pytest.raises(errors.UsageError, match=sentence):
            call()
