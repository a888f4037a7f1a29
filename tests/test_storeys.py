"""The rooms of ``repro`` stand on storeys: a room imports rooms of lower storeys only, lazily or not."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "repro"

# room -> storey; what lies at the top of repro/ is the ground that every room may use
STOREYS = {
    "plugins": 10,  # which import the core, and which the core asks and does not import
    "cli": 9,
    "api": 8,
    "writers": 6,
    "exchange": 7,
    "verdicts": 5,
    "running": 4,
    "retrieval": 3,
    "manifest": 2,
    "store": 1,
    "machine": 0,
}
RETRIEVAL = {"stages": 3, "recipe": 3, "training": 2, "datasets": 1, "nn": 1, "evaluation": 1}
GROUND = ("errors", "progress", "locations", "stage_table", "graph")
# A core that names a plugin: each falls when what it wants is asked for instead.
PLUGINS_NAMED = {
    "api/comparisons.py yours",
    "api/statements.py settings",
    "api/statements.py statements",
    "cli/cell_page.py reports",
    "cli/cell_page.py settings",
    "cli/cell_page.py studies",
    "cli/verbs/audit/claims.py studies",
    "cli/verbs/audit/findings.py statements",
    "cli/verbs/compare.py settings",
    "cli/verbs/compare.py yours",
    "cli/verbs/doctor/smoke.py yours",
    "cli/verbs/export/records.py deposit",
    "cli/verbs/new/value.py reports",
    "cli/verbs/report/figures.py studies",
    "cli/verbs/show/others.py reports",
    "cli/verbs/show/readings.py studies",
    "cli/verbs/show/settings.py settings",
    "cli/verbs/tables.py studies",
    "exchange/run_import.py reports",
    "manifest/papers.py settings",
    "manifest/papers.py statements",
    "manifest/papers.py studies",
    "verdicts/compared.py reports",
    "verdicts/comparison.py reports",
    "verdicts/coverage.py reports",
    "verdicts/coverage.py settings",
    "verdicts/plain_values.py reports",
    "verdicts/plain_values.py studies",
    "writers/drawing.py studies",
    "writers/html/details.py reports",
    "writers/html/details.py settings",
    "writers/html/details.py studies",
    "writers/html/overview.py studies",
    "writers/html/papers.py settings",
    "writers/html/papers.py statements",
    "writers/html/sections.py settings",
    "writers/html/sections.py statements",
    "writers/html/sections.py studies",
    "writers/html/tables.py reports",
    "writers/html/tables.py studies",
    "writers/latex_caption.py reports",
    "writers/latex_caption.py studies",
    "writers/latex_entries.py reports",
    "writers/markdown.py studies",
    "writers/table_files.py studies",
    "writers/table_pages.py reports",
    "writers/terminal.py reports",
}
ENTRIES = 16  # of repro/, besides __init__ and __main__


def _room(module: str, depth: int = 1) -> str:
    return next(iter(module.split(".")[depth : depth + 1]), "")


def _imported(path: Path) -> set[str]:
    """Modules of the suite that a file imports, at its top or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "repro"}


@pytest.mark.parametrize("room", STOREYS)
def test_a_room_imports_only_rooms_below_it(room):
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in _imported(path)
        if (other := _room(name)) in STOREYS and other != room and STOREYS[other] >= STOREYS[room]
        if f"{path.relative_to(ROOT)} {_room(name, 2)}" not in PLUGINS_NAMED
    }
    assert wrong == set()


@pytest.mark.parametrize("room", RETRIEVAL)
def test_a_room_of_retrieval_imports_only_rooms_below_it(room):
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "retrieval" / room).rglob("*.py"))
        for name in _imported(path)
        if _room(name) == "retrieval"
        if (other := _room(name, 2)) != room and RETRIEVAL[other] >= RETRIEVAL[room]
    }
    assert wrong == set()


def test_the_ground_imports_no_room_but_the_machine():
    for name in GROUND:
        for module in _imported(ROOT / f"{name}.py"):
            assert _room(module) in (*GROUND, "machine"), f"{name} imports {module}"


def test_every_room_has_a_storey():
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    modules = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert rooms == set(STOREYS)
    assert modules == set(GROUND)
    assert len(rooms) + len(modules) <= ENTRIES
