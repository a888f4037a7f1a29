"""Pages and docstrings name files and definitions that there are."""

import ast
import pkgutil
import re
from pathlib import Path

from tests.trees import nodes

ROOT = Path(__file__).resolve().parents[1]
CODE = ("repro", "papers", "tests", "benchmarks", "docs", "oracles", ".ci")
FILE = re.compile(r"[\w./<>*-]*[\w>*]\.py\b(?!\.\w)")
DOTTED = re.compile(r"``(repro(?:\.\w+)+)``")
OF_OTHERS = {"train.py", "train_msmarco_v3.py", "tevatron/data.py"}
OF_OTHERS |= {"engine.py", "deepspeed/runtime/lr_schedules.py"}
TO_COME = {"halves_contrast.py", "test_halves_contrast.py", "papers/fifth/halves_contrast.py"}
TO_COME |= {"a/papers/fifth/recipes.py", "b/papers/fifth/recipes.py", "solution.py", "test_solution.py"}
IGNORED = (ROOT / ".gitignore").read_text().split()  # pages that are written for the site, not committed
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(path: Path) -> str:
    documented = (n for n in nodes(path) if isinstance(n, DOCUMENTED))
    return "\n".join(filter(None, map(ast.get_docstring, documented)))


def is_there(name: str, files: list[str]) -> bool:
    pattern = re.compile("(.*/)?" + re.sub("<[^>]*>|[*]", "[^/]*", name.replace(".", "[.]")))
    return name in OF_OTHERS | TO_COME or any(map(pattern.fullmatch, files))


def is_ignored(page: Path) -> bool:
    name = "/" + str(page.relative_to(ROOT))
    return any(name.startswith("/" + line.lstrip("/")) for line in IGNORED if "docs/" in line)


def test_pages_and_docstrings_name_no_file_or_definition_that_is_gone():
    files = [str(path.relative_to(ROOT)) for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = {path: path.read_text() for path in pages if not is_ignored(path)}
    texts |= {ROOT / file: docstrings(ROOT / file) for file in files if file.startswith(CODE[:3])}
    named = [(path, name) for path, text in texts.items() for name in FILE.findall(text)]
    gone = {name for name in dict(map(reversed, named)) if not is_there(name, files)}
    assert len(named) > 100 and not [pair for pair in named if pair[1] in gone]
    dotted = {name for text in texts.values() for name in DOTTED.findall(text)} - {"repro.json"}
    assert len(dotted) >= 15 and all(pkgutil.resolve_name(name) is not None for name in dotted)
