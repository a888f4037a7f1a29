"""The code of a stage: every module that it imports, known by what its source does."""

import subprocess
import sys

import pytest

from repro.machine import source_code
from repro.machine.source_code import code, digest

LIGHT = [f"repro.stages.{stage}" for stage in ("corpus", "union", "mine", "evaluate", "search", "bm25")]
FIRST = '''\
"""A docstring."""
from repro.graph import walk

def late(x):
    """Another."""
    from . import second  # a comment
    import numpy
    return second.double(x) + 1
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """``package(first=…, second=…)``: write the modules of a package, and look at them anew."""
    folder = tmp_path / "made_up_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    def write(**modules: str) -> dict[str, str]:
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        source_code._source.cache_clear()
        return code("made_up_package.first").modules

    yield write
    source_code._source.cache_clear()


def test_every_module_that_stages_really_import_is_part_of_their_code():
    program = (
        f"import {', '.join(LIGHT)}, sys; print(*(m for m in sys.modules if m.split('.')[0] == 'repro'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert set(LIGHT) < imported
    assert imported <= {*code(*LIGHT).modules, *source_code.WITHOUT_EFFECT}


def test_what_a_stage_imports_late_or_starts_as_a_process_is_part_of_its_code():
    bm25, evaluate = code("repro.stages.bm25"), code("repro.stages.evaluate")
    assert "repro.stages.lucene.__main__" in bm25.modules and "pyserini" in bm25.libraries
    assert "repro.nn.precision" in code("repro.stages.pretrain").modules
    assert not {"repro.stages.search", "repro.stages.lucene.__main__"} & evaluate.modules.keys()
    assert "faiss" not in evaluate.libraries and bm25.digest != evaluate.digest


def test_the_code_has_what_is_imported_in_whatever_way(package):
    found = (
        code("made_up_package.first")
        if package(first=FIRST, second="def double(x): return 2 * x\n")
        else None
    )
    assert {"made_up_package", "made_up_package.first", "made_up_package.second"} <= found.modules.keys()
    assert {"repro.graph", "repro.stage_table"} <= found.modules.keys()
    assert "numpy" in found.libraries and "repro" not in found.modules


def test_comments_docstrings_and_layout_leave_a_digest_and_all_else_changes_it(package):
    before = package(first=FIRST, second="def double(x): return 2 * x\n")
    same = (
        FIRST.replace("Another.", "A third.").replace("  # a comment", "").replace("\n\n", "\n\n\n# more\n\n")
    )
    assert same != FIRST and package(first=same) == before
    after = package(second="def double(x): return 2.0 * x\n")
    assert [name for name in before if after[name] != before[name]] == ["made_up_package.second"]


def test_what_is_no_module_has_no_digest(package):
    package(first="def broken(:\n")
    for name in ("made_up_package.first", "made_up_package.third", "nowhere.at_all", "", "repro./etc/passwd"):
        assert digest(name) is None
    assert digest("repro.stages.mine") == code("repro.stages.mine").modules["repro.stages.mine"]
