"""The rooms of ``repro`` stand on storeys: a room imports rooms of lower storeys only, lazily or not."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "repro"

# room -> storey; what lies at the top of repro/ is the ground that every room may use
STOREYS = {
    "cli": 9,
    "api": 8,
    "report": 7,
    "exchange": 6,
    "yours": 7,
    "judging": 5,
    "running": 4,
    "stages": 3,
    "recipe": 3,
    "training": 2,
    "manifest": 1,
    "datasets": 1,
    "nn": 1,
    "evaluation": 1,
    "store": 1,
    "machine": 0,
}
GROUND = ("errors", "progress", "locations", "stage_table", "graph")
ENTRIES = 21  # of repro/, besides __init__ and __main__


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


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
