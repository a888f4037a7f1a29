"""The digest of code changes with each edit that may change a number, and with no other."""

import pytest

from repro.machine import code_digest
from repro.stage_table import STAGES

FILES = {
    "papers/__init__.py": "",
    "papers/stage.py": (
        '"""Read."""\nfrom typing import TYPE_CHECKING\n'
        "import numpy\nfrom papers import near\nif TYPE_CHECKING:\n    import papers.types\n"
        'def run():\n    """Run."""\n    from papers.late import step\n    return step() + 1  # one\n'
        'FILE = "facts.yaml"\nCHILD = "papers.child"\n'
    ),
    "papers/near.py": "from .far import deep\n",
    "papers/far.py": "deep = 1\n",
    "papers/late.py": "step = int\n",
    "papers/child.py": "print(1)\n",
    "papers/types.py": "",
    "papers/unrelated.py": "",
    "papers/facts.yaml": "a: 1\n",
    "papers/others.yaml": "a: 1\n",
}


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """``digest({file: text})``: the code of papers.stage with these files in place of their own."""
    monkeypatch.setattr(code_digest, "OURS", {"papers": tmp_path})

    def write(changes=()):
        code_digest._module.cache_clear()
        for name, text in (FILES | dict(changes)).items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return code_digest.code.__wrapped__("papers.stage:run")

    yield write
    code_digest._module.cache_clear()


def test_the_modules_are_those_of_the_import_closure_with_child_and_data(digest):
    code = digest()
    expected = {"papers", "papers.stage", "papers.near", "papers.far", "papers.late", "papers.child"}
    assert code.modules.keys() == {*expected, "facts.yaml"}


@pytest.mark.parametrize(
    "name, text",
    [
        ("papers/far.py", "deep = 2\n"),
        ("papers/late.py", "step = float\n"),
        ("papers/child.py", "print(2)\n"),
        ("papers/facts.yaml", "a: 2\n"),
        ("papers/stage.py", FILES["papers/stage.py"].replace("+ 1", "+ 2")),
        ("papers/far.py", 'deep = """\n# a line of a text\n"""\n'),
    ],
)
def test_an_edit_within_the_closure_is_another_digest(digest, name, text):
    assert digest().digest != digest({name: text}).digest


def test_lines_of_a_text_are_no_comments(digest):
    texts = ('deep = """\n# one\n\n"""\n', 'deep = """\n# two\n\n"""\n', 'deep = """\n# one\n"""\n')
    assert len({digest({"papers/far.py": text}).digest for text in texts}) == 3


@pytest.mark.parametrize(
    "name, text",
    [
        ("papers/unrelated.py", "edited = 1\n"),
        ("papers/types.py", "edited = 1\n"),
        ("papers/others.yaml", "a: 2\n"),
        ("papers/far.py", '"""Docs."""\n\n# a comment\ndeep = 1\n'),
        (
            "papers/stage.py",
            FILES["papers/stage.py"].replace('"""Run."""', '"""Run it.\n\n    Twice.\n    """'),
        ),
    ],
)
def test_docstrings_comments_and_files_outside_are_no_part_of_it(digest, name, text):
    assert digest().digest == digest({name: text}).digest


def test_a_longer_docstring_beside_another_text_is_no_part_of_it(digest):
    texts = (f'"""Docs.{more}"""\ndeep = """\n# one\n"""\n' for more in ("", "\n\nMore.\n"))
    assert len({digest({"papers/far.py": text}).digest for text in texts}) == 1


def test_a_missing_module_is_another_digest(digest):
    assert digest().modules["papers.stage"] != "missing"
    assert code_digest.code.__wrapped__("papers.gone").modules["papers.gone"] == "missing"
    assert code_digest.code.__wrapped__("../papers").modules == {"../papers": "missing"}


def test_the_stages_rest_on_what_they_import_and_not_on_the_command_line():
    for stage in STAGES:
        modules = code_digest.code(f"repro.retrieval.stages.{stage}").modules
        assert f"repro.retrieval.stages.{stage}" in modules and "missing" not in modules.values()
        assert not [name for name in modules if name.startswith(("repro.cli", "repro.writers", "repro.api"))]
    assert "repro.retrieval.stages.lucene.__main__" in code_digest.code("repro.retrieval.stages.bm25").modules
