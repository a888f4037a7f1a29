"""Each room of ``repro`` imports only rooms of lower storeys."""

import ast
from functools import cache
from pathlib import Path

import pytest

from repro.hooks import PLUGINS
from tests.trees import nodes

ROOT = Path(__file__).resolve().parent.parent / "repro"

# room -> storey; what lies at the top of repro/ is the ground that every room may use
STOREYS = {
    "plugins": 10,  # which import the core, and which the core calls and does not import
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
GROUND = ("errors", "progress", "locations", "stage_table", "graph", "hooks", "version")
SAY_WHAT_PLUGINS_ARE = ("hooks.py",)  # by the types of rooms above them
ENTRIES = 18  # of repro/, besides __init__ and __main__
LONGEST_CYCLE = 2  # modules that import each other


def _room(module: str, depth: int = 1) -> str:
    return next(iter(module.split(".")[depth : depth + 1]), "")


@cache
def _imported(path: Path, *, types: bool | None = None) -> set[str]:
    """Modules of the suite that a file imports, at its top or inside a function, and for ``types`` alone."""
    names = set()
    types = path.name not in SAY_WHAT_PLUGINS_ARE if types is None else types
    apart = [] if types else [node for node in nodes(path) if _is_for_types(node)]
    for_types = {id(n) for node in apart for n in ast.walk(node)}
    for node in (node for node in nodes(path) if id(node) not in for_types):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "repro"}


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@pytest.mark.parametrize("room", STOREYS)
def test_a_room_imports_only_rooms_below_it(room):
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in _imported(path)
        if (other := _room(name)) in STOREYS and other != room and STOREYS[other] >= STOREYS[room]
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


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_imports_no_other_plugin(plugin):
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "plugins" / plugin).rglob("*.py"))
        for name in _imported(path)
        if _room(name) == "plugins" and _room(name, 2) != plugin
    }
    assert wrong == set()


def test_every_folder_of_plugins_is_in_the_table_of_plugins():
    folders = {path.parent.name for path in (ROOT / "plugins").glob("*/__init__.py")}
    assert folders == set(PLUGINS)


def test_the_ground_imports_no_room_but_the_machine():
    for name in GROUND:
        for module in _imported(ROOT / f"{name}.py"):
            assert _room(module) in (*GROUND, "machine"), f"{name} imports {module}"


def _import_graph() -> dict[str, set[str]]:
    paths = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path for path in ROOT.rglob("*.py")
    }
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {
        module: {name if name in paths else name.rpartition(".")[0] for name in _imported(path, types=False)}
        & paths.keys() - {module}
        for module, path in paths.items()
    }


def _cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Sets of modules each of which imports all others of its set, directly or by way of others."""

    def below(module: str) -> set[str]:
        found, waiting = set(), [*graph[module]]
        while waiting:
            if (name := waiting.pop()) not in found:
                found.add(name)
                waiting += graph[name]
        return found

    reached = {module: below(module) for module in graph}
    return {frozenset(n for n in names if m in reached[n]) for m, names in reached.items()} - {frozenset()}


def test_cycles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a", "d"}}
    assert _cycles(graph) == {frozenset("abc"), frozenset("de")}


def test_no_cycle_of_imports_has_more_than_two_modules():
    graph = _import_graph()
    assert {"repro.graph", "repro.store"} <= graph["repro.running.plan"]
    assert [sorted(cycle) for cycle in _cycles(graph) if len(cycle) > LONGEST_CYCLE] == []


def test_every_room_has_a_storey():
    rooms = {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/**/*.*") if path.suffix != ".pyc"}
    modules = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert rooms == set(STOREYS)
    assert modules == set(GROUND)
    assert len(rooms) + len(modules) <= ENTRIES
