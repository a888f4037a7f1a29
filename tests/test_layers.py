"""The runner imports no paper, and papers do not import each other."""

import ast
import re
from collections import Counter
from pathlib import Path

from repro.manifest.papers import papers
from tests.trees import imports, tree

ROOT = Path(__file__).resolve().parent.parent
RUNNER = sorted((ROOT / "repro").rglob("*.py"))
PAPERS = sorted((ROOT / "papers").rglob("*.py"))


def test_no_three_modules_have_one_name():
    names = Counter(path.stem for path in RUNNER if path.stem != "__init__")
    assert {name: count for name, count in names.items() if count > 2} == {}


def test_the_runner_imports_no_paper():
    found = {str(p.relative_to(ROOT)): i for p in RUNNER for i in imports(p) if i.split(".")[0] == "papers"}
    assert found == {}


def _names():
    """Coined titles of papers' pages, with and without hyphen, and their folders; others may be any word."""
    for name, source in papers().items():
        page = (source.folder / "README.md").read_text(encoding="utf-8")
        title = re.sub(r" v\d+$", "", page.partition("\n")[0].removeprefix("# "))
        if len(re.findall("[A-Z]", title)) > 1:
            yield from (name, title, title.replace("-", ""))
        elif "_" in name:
            yield name


def test_the_names_of_papers_are_those_of_their_pages():
    known = {name.lower() for name in _names()}
    assert {"costa", "cpdae", "simlm", "cotmae", "cot-mae", "cotmae_v2", "head_to_head"} <= known


def test_the_runner_contains_no_paper_name():
    every = rf"\bpapers[./]({'|'.join(papers())})\b"  # a new paper may be called by any word
    names = re.compile(rf"\b({'|'.join(map(re.escape, _names()))})\b|{every}", re.IGNORECASE)
    systems = "public_runs.yaml"  # of others, any of which may have a paper here
    files = [p for p in (ROOT / "repro").rglob("*") if p.suffix in (".py", ".yaml") and p.name != systems]
    found = {str(p.relative_to(ROOT)): m.group() for p in files if (m := names.search(p.read_text()))}
    assert found == {}


def test_a_paper_imports_no_other_paper():
    for path in PAPERS:
        own = path.relative_to(ROOT / "papers").parts[0]
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "papers" and len(parts) > 1:
                assert parts[1] in (own, "baselines"), f"{path} imports {name}"


def test_nothing_imports_a_module_of_the_tests():
    for path in [*RUNNER, *PAPERS]:
        assert not any(name.split(".")[0] == "tests" for name in imports(path)), path


def test_no_test_of_the_core_imports_a_paper():
    of_papers = [ROOT / "tests" / folder for folder in ("papers", "end_to_end", "oracles")]
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "tests").rglob("*.py")
        if not any(path.is_relative_to(folder) for folder in of_papers)
        for name in imports(path)
        if re.match(r"(tests\.)?papers\b", name)
    }
    assert found == set()


def test_every_stage_has_a_module_with_run():
    from repro.stage_table import STAGES

    for name in STAGES:
        body = tree(ROOT / "repro" / "retrieval" / "stages" / f"{name}.py").body
        assert "run" in {n.name for n in body if isinstance(n, ast.FunctionDef)}, name
