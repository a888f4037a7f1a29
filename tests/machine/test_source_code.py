"""The code of a stage: every definition that it reaches, known by what it says and not by where it lies.

It covers source_code, definitions and scopes of repro.machine: only together do they tell code.
"""

import importlib
import sys
import threading
from pathlib import Path

import pytest

import repro
from repro.graph import Node
from repro.machine import source_code
from repro.machine.source_code import code
from repro.progress import Progress
from repro.retrieval.stages import corpus, qrels, queries
from repro.running.engines.inline import run_node
from repro.running.requirements import Machine
from repro.store import Store

STAGE = '''\
"""A docstring."""
import functools
import numpy as np
from made_up.maths import double
from made_up import tables

LIMIT = 3

def unused():
    return 1

@functools.cache
def words() -> "Words":
    return tables.read()

def run(x: "X", double_it=True):
    """Another."""
    from made_up.late import last  # a comment
    local = double(x) + LIMIT if double_it else np.mean(x)
    return last(local, words())
'''
MATHS = "FACTOR = 2\n\ndef double(x):\n    return FACTOR * x\n"
TABLES = """\
from pathlib import Path
from yaml import safe_load

FILE = Path(__file__).with_name("words.yaml")

def read():
    return safe_load(FILE.read_text())
"""
LATE = """\
class Last:
    depth: int = 10

    def of(self, x):
        return x

ADVICE = "try another"

def last(x, y):
    if x is None:
        raise ValueError(f"{x} is nothing; {ADVICE}", 7)
    return Last().of(x), y
"""
FILES = {
    "stage.py": STAGE,
    "maths.py": MATHS,
    "tables.py": TABLES,
    "late.py": LATE,
    "words.yaml": "deeds: [brave, bold]\nthings: {a: 1}\n",
}


@pytest.fixture
def code_of(tmp_path, monkeypatch):
    """``code_of(files, entry=…)``: the code of a package of these files, which are read anew."""
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "made_up"

    def write(files: dict[str, str], *entries: str) -> source_code.Code:
        for path in [p for p in folder.rglob("*") if p.is_file()]:
            path.unlink()
        for name, text in {"__init__.py": "", **files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        importlib.invalidate_caches()
        source_code.sources_of.cache_clear()
        return code.__wrapped__(*(entries or ("made_up.stage",)))

    yield write
    source_code.sources_of.cache_clear()


def changed(before: source_code.Code, after: source_code.Code) -> list[str]:
    """The names of the definitions that are others; one digest must tell the same."""
    names = before.definitions.keys() | after.definitions.keys()
    differing = sorted(n for n in names if before.definitions.get(n) != after.definitions.get(n))
    assert bool(differing) <= (before.digest != after.digest)
    return differing


def with_edit(name: str, old: str, new: str) -> dict[str, str]:
    assert old in FILES[name]
    return FILES | {name: FILES[name].replace(old, new)}


def moved(files: dict[str, str], old: str, new: str) -> dict[str, str]:
    """The files with one of another name, and every import of it rewritten."""
    names = [Path(name).with_suffix("").as_posix().replace("/", ".") for name in (old, new)]
    renamed = {new if name == old else name: text for name, text in files.items()}
    package, _, module = names[1].rpartition(".")
    into = f"from made_up{'.' * bool(package)}{package} import {module} as {names[0]}"
    rewritten = {
        name: text.replace(f"made_up.{names[0]} ", f"made_up.{names[1]} ").replace(
            f"from made_up import {names[0]}\n", f"{into}\n"
        )
        for name, text in renamed.items()
    }
    folders = {f"{Path(new).parent}/__init__.py": ""} if package else {}
    return folders | rewritten


MOVES = {
    "comments, docstrings and layout": with_edit(
        "stage.py", '    """Another."""\n', '    """A third."""\n\n    # more\n'
    ),
    "a module is renamed": moved(FILES, "maths.py", "numbers_of_ours.py"),
    "a module goes into a folder": moved(FILES, "late.py", "inner/deep/latest.py"),
    "a module that data are read beside goes with them": moved(
        moved(FILES, "tables.py", "inner/tables.py"), "words.yaml", "inner/words.yaml"
    ),
    "a function goes to another module": FILES
    | {
        "maths.py": "FACTOR = 2\n",
        "late.py": f"from made_up.maths import FACTOR as BY\n{LATE}\ndef double(x):\n    return BY * x\n",
        "stage.py": STAGE.replace("made_up.maths", "made_up.late"),
    },
    "two modules become one": {
        **{name: text for name, text in FILES.items() if name not in ("maths.py", "late.py")},
        "both.py": f"{MATHS}\n{LATE}",
        "stage.py": STAGE.replace("made_up.maths", "made_up.both").replace("made_up.late", "made_up.both"),
    },
    "what is imported is called by its module": FILES
    | {
        "stage.py": STAGE.replace("from made_up.maths import double", "import made_up.maths as sums").replace(
            "double(x)", "sums.double(x)"
        )
    },
    "imports have other names": FILES
    | {
        "stage.py": STAGE.replace("import double", "import double as twice")
        .replace("double(x)", "twice(x)")
        .replace("import numpy as np", "import numpy")
        .replace("np.mean", "numpy.mean")
    },
    "it is handed on by a package": FILES
    | {
        "__init__.py": "from made_up.maths import double\n",
        "stage.py": STAGE.replace("made_up.maths", "made_up"),
    },
    "annotations of arguments": with_edit("stage.py", 'x: "X"', "x: int"),
    "what an error says": with_edit("late.py", "is nothing; {ADVICE}", "is none"),
    "what an error says by a name": with_edit("late.py", "try another", "try again"),
    "what is not reached": with_edit("stage.py", "return 1", "return 2"),
    "comments and layout of data": with_edit("words.yaml", "deeds: [", "# said of\ndeeds: [ "),
    "the name of the file of data": moved(FILES, "words.yaml", "word-list.yaml")
    | {"tables.py": TABLES.replace("words.yaml", "word-list.yaml")},
}
EDITS = {
    "a constant": (with_edit("maths.py", "FACTOR = 2", "FACTOR = 2.0"), ["FACTOR"]),
    "a function": (with_edit("maths.py", "FACTOR * x", "x * FACTOR"), ["double"]),
    "a method": (with_edit("late.py", "return x\n\n", "return -x\n\n"), ["Last"]),
    "the field of a class": (with_edit("late.py", "depth: int", "depth: float"), ["Last"]),
    "the class of an error": (with_edit("late.py", "raise ValueError", "raise KeyError"), ["last"]),
    "a value that an error carries": (with_edit("late.py", ", 7)", ", 8)"), ["last"]),
    "a default": (with_edit("stage.py", "double_it=True", "double_it=False"), ["run"]),
    "a decorator": (with_edit("stage.py", "functools.cache", "functools.lru_cache(1)"), ["words"]),
    "a function of a library": (with_edit("stage.py", "np.mean", "np.median"), ["run"]),
    "where a name of a library is from": (
        with_edit("tables.py", "from yaml import", "from other import"),
        ["read"],
    ),
    "data": (with_edit("words.yaml", "[brave, bold]", "[bold]"), ["words.yaml"]),
    "the order of data": (with_edit("words.yaml", "[brave, bold]", "[bold, brave]"), ["words.yaml"]),
    "what a module does when it is loaded": (
        FILES | {"maths.py": f"{MATHS}import numpy\nnumpy.seterr(all='raise')\n"},
        ["(statement)"],
    ),
    "what a module that is only imported does": (
        FILES | {"maths.py": f"import made_up.effect\n{MATHS}", "effect.py": "print('loaded')\n"},
        ["(statement)"],
    ),
    "a library that is imported for what that does": (
        FILES | {"maths.py": f"import readline\n{MATHS}"},
        ["(statement)"],
    ),
    "an entry of a table that is made later": (
        FILES | {"maths.py": MATHS.replace("FACTOR = 2", "FACTOR = {}\nFACTOR['two'] = 2")},
        ["(statement)", "FACTOR"],
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_what_says_the_same_is_the_same_code(code_of, move):
    before = code_of(FILES)
    assert MOVES[move] != FILES
    assert code_of(MOVES[move]).digest == before.digest


@pytest.mark.parametrize("edit", EDITS)
def test_what_says_something_else_is_other_code_and_is_named(code_of, edit):
    files, names = EDITS[edit]
    before, after = code_of(FILES), code_of(files)
    assert before.digest != after.digest and changed(before, after) == names


def test_a_move_with_an_edit_is_told_by_the_edit(code_of):
    files = moved(with_edit("maths.py", "FACTOR = 2", "FACTOR = 3"), "maths.py", "inner/maths.py")
    assert changed(code_of(FILES), code_of(files)) == ["FACTOR"]


def test_which_of_two_definitions_of_one_name_is_meant_is_part_of_the_code(code_of):
    both = "from made_up.first import f as {}\nfrom made_up.second import f as {}\n"
    run = "def run(x):\n    return a(x) / b(x + 1)\n"
    files = {"first.py": "def f(x):\n    return x\n", "second.py": "def f(x):\n    return -x\n"}
    before, after = (code_of(files | {"stage.py": both.format(*names) + run}) for names in ("ab", "ba"))
    assert before.digest != after.digest and before.definitions == after.definitions


@pytest.mark.parametrize(
    "run",
    [
        "import made_up.maths as sums\ndef run(name):\n    return getattr(sums, name)\n",
        "from made_up.maths import *\ndef run(x):\n    return double(x)\n",
        "import importlib\ndef run(name):\n    return importlib.import_module('made_up.maths')\n",
        "import importlib\ndef run(name):\n    return importlib.import_module(f'made_up.{name}')\n",
        "WHERE = 'made_up.maths:double'\ndef run():\n    return WHERE\n",
        "import subprocess\ndef run():\n    subprocess.run(['python', '-m', 'made_up.maths'])\n",
        "from made_up import maths\nTABLE = {'a': maths}\ndef run(x):\n    return TABLE[x]\n",
        "from made_up.maths import double\ndef run(x):\n    return globals()['double'](x)\n",
        "from made_up.maths import missing, double\ndef run(x):\n    return missing(x)\n",
        "try:\n    from made_up.maths import double\nexcept OSError:\n    pass\ndef run():\n    double(1)\n",
    ],
)
def test_what_cannot_be_told_from_the_text_counts_as_a_whole(code_of, run):
    before = code_of(FILES | {"stage.py": run})
    assert "FACTOR" in before.definitions and "double" in before.definitions
    after = code_of(FILES | {"stage.py": run, "maths.py": MATHS.replace("= 2", "= 3")})
    assert "FACTOR" in changed(before, after)


@pytest.mark.parametrize(
    "place",
    [
        "Path(__file__).with_suffix('.yaml')",
        "Path(__file__).parent / 'stage.yaml'",
        "Path(__file__).resolve().parents[0].joinpath('stage.yaml')",
        "os.path.join(os.path.dirname(os.path.abspath(__file__)), 'stage.yaml')",
        "importlib.resources.files('made_up') / 'stage.yaml'",
        "importlib.resources.files(__package__).joinpath('stage.yaml')",
        "open(__file__.replace('.py', '.yaml'))",
    ],
)
def test_the_file_that_is_read_is_part_of_the_code_however_its_place_is_said(code_of, place):
    stage = (
        f"import importlib.resources\nimport os\nfrom pathlib import Path\ndef run():\n    return {place}\n"
    )
    before = code_of({"stage.py": stage, "stage.yaml": "a: 1\n", "sub/__init__.py": ""})
    after = code_of({"stage.py": stage, "stage.yaml": "a: 2\n", "sub/__init__.py": ""})
    assert changed(before, after) == ["stage.yaml"]


def test_of_a_folder_that_is_listed_all_files_are_part_of_the_code(code_of):
    stage = "from pathlib import Path\ndef run():\n    folder = Path(__file__).parent\n"
    stage += "    return sorted((folder / 'lists').glob('*'))\n"
    files = {"inner/__init__.py": "", "inner/stage.py": stage, "inner/lists/__init__.py": ""}
    files |= {"inner/lists/a.txt": "one", "inner/lists/b.txt": "two", "inner/elsewhere.txt": "three"}
    before = code_of(files, "made_up.inner.stage")
    assert changed(before, code_of(files | {"inner/lists/b.txt": "2"}, "made_up.inner.stage")) == ["b.txt"]
    assert changed(before, code_of(files | {"inner/elsewhere.txt": "3"}, "made_up.inner.stage")) == []


def test_a_name_that_means_something_else_within_a_function_is_no_reference(code_of):
    imported = "from made_up.maths import double\n"
    stage = "def run(double):\n    return [LIMIT for LIMIT in double]\nLIMIT = 3\n"
    assert set(code_of(FILES | {"stage.py": imported + stage}).definitions) == {"run"}
    used = "def run(xs):\n    [double for double in xs]\n    return double(xs)\n"
    assert {"run", "double", "FACTOR"} <= set(code_of(FILES | {"stage.py": imported + used}).definitions)


def test_an_entry_that_has_moved_is_found_by_its_name_and_one_that_is_nowhere_is_missing(code_of):
    before = code_of(FILES, "made_up.stage:words")
    after = code_of(moved(FILES, "stage.py", "inner/steps.py"), "made_up.stage:words")
    assert after == before and "words" in before.definitions
    assert code_of({"stage.py": "def broken(:\n"}).definitions == {"made_up.stage": "missing"}
    for name in (
        "nowhere.at_all",
        "",
        "repro./etc/passwd",
        "repro.retrieval.stages.mine:nothing_of_the_kind",
    ):
        assert code_of(FILES, name).definitions == {name: "missing"}


def test_what_a_stage_imports_late_or_starts_as_a_process_is_part_of_its_code():
    bm25, scores = code("repro.retrieval.stages.bm25"), code("repro.retrieval.stages.evaluate")
    assert "search" in bm25.definitions and "pyserini" in bm25.libraries
    assert "threads_for" in code("repro.retrieval.stages.encode").definitions
    assert "torch" not in scores.libraries and bm25.digest != scores.digest


def test_every_definition_that_stages_really_call_is_part_of_their_code(tmp_path, monkeypatch):
    store, machine, called = Store(tmp_path), Machine(), {}
    source = machine.resolve(Node("corpus", {"dataset": "tiny/wiki"}))
    judged = machine.resolve(Node("qrels", {"dataset": "tiny/wiki/test"}))
    asked = machine.resolve(Node("queries", {"dataset": "tiny/wiki/test"}))
    for node, stage in ((source, corpus), (judged, qrels), (asked, queries)):
        monkeypatch.setattr(stage, "run", _watched(stage, called))
        run_node(node, store, Progress())
    assert called.keys() == {"corpus", "qrels", "queries"} and all(
        len(names) > 10 for names in called.values()
    )
    for stage, names in called.items():
        reached = {
            name
            for module, name in source_code.sources_of(frozenset(source_code.OURS)).reached(
                source_code.sources_of(frozenset(source_code.OURS)).entry(f"repro.retrieval.stages.{stage}")
            )
            if module
        }
        # the engine hands its bars to a stage; they move no number
        assert names - reached <= {"TimedTasks", "_Task", "Progress"}, stage


def _watched(stage, called: dict[str, set[str]]):
    """The stage's ``run``, which notes the top-level names of ours that are called below it."""
    root, real = str(Path(repro.__file__).parent), stage.run
    names = called.setdefault(stage.__name__.rpartition(".")[2], set())

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(root):
            names.add(frame.f_code.co_qualname.partition(".")[0])

    def run(*given):
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            return real(*given)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    return run


def test_the_commonest_stages_rest_on_less_than_all_of_the_suite():
    assert len(code("repro.retrieval.stages.union").definitions) < 20
    assert not {"corpus", "TerminalProgress"} & code("repro.retrieval.stages.evaluate").definitions.keys()
