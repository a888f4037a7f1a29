"""Fixtures that run the command line in this process or in one of its own."""

import gc
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import islice, takewhile, zip_longest
from pathlib import Path

import pytest
from rich.console import Console

from repro.api import select
from repro.cli import main
from repro.manifest import papers as at_hand
from repro.plugins.reports.reports import _ordered, reports
from repro.store import Store
from repro.store.results import _digest
from repro.writers.sheet import UNLIMITED
from tests.once import made_once, take_what_is_finished

CELL = "costa/1/sparse.bm25/dev.rr10"  # the cheapest cell that goes through every kind of stage but training


@dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        assert self.out == "", self.out
        [line] = self.err.splitlines()
        assert line.startswith("repro: "), line
        return line.removeprefix("repro: ")

    @property
    def refusal(self) -> str:
        assert self.status == 2, self
        return self.sentence

    @property
    def json(self):
        return json.loads(self.out)


def cells_of_line(line: str) -> list[str]:
    """The non-empty cells of a printed row, which two spaces or more separate."""
    return re.split(r" {2,}", line.strip())


def rows_of_table(out: str, first: str) -> list[list[str]]:
    """The rows of a printed table with a head that begins with ``first``, empty cells included."""
    lines = iter(out.splitlines())
    head = next(line for line in lines if cells_of_line(line)[0] == first)
    starts = [name.start() for name in re.finditer(r"\S+( \S+)*", head)]
    rows = takewhile(str.strip, islice(lines, 1, None))
    return [[row[start:end].strip() for start, end in zip_longest(starts, starts[1:])] for row in rows]


@pytest.fixture
def folders(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("REPRO_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("REPRO_RESULTS", str(tmp_path / "results"))
    return tmp_path


@pytest.fixture
def repro(folders, monkeypatch, capsys):
    """``repro("show costa", *arguments)`` in this process, as ``main`` runs it."""

    def call(*arguments) -> Said:
        words = [word for text in arguments[:1] for word in text.split()]
        monkeypatch.setattr(sys, "argv", ["repro", *words, *map(str, arguments[1:])])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        gc.enable()  # which a brief verb leaves off: its process ends
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err, said.err
        return Said(left.value.code, said.out, said.err)

    return call


@pytest.fixture
def narrow(repro, monkeypatch):
    """``narrow(*arguments)`` runs a verb on 60 columns, and prints the same tables on 80, 100 and 120 columns."""
    drawn, draw = [], Console.print
    monkeypatch.setattr(
        Console, "print", lambda *call, **options: drawn.append(call[1]) or draw(*call, **options)
    )

    def words_of(text: str) -> set[str]:
        return {word.removesuffix(":") for word in text.replace("─", "").split()}

    def at(width: int) -> str:
        console = Console(file=io.StringIO(), width=width, highlight=False)
        for renderable in drawn:
            draw(console, renderable, crop=False)
        return console.file.getvalue()

    def call(*arguments) -> None:
        words = words_of(repro(*arguments).out)
        drawn.clear()
        with monkeypatch.context() as narrowed:
            narrowed.setenv("COLUMNS", "60")
            shown = [(60, words, repro(*arguments).out)]
        shown += [(width, words_of(at(UNLIMITED)), at(width)) for width in (80, 100, 120)]
        for width, words, text in shown:
            long = [line for line in text.splitlines() if len(line) > width and " " in line.strip()]
            assert len(words) > 10 and (words - words_of(text), long) == (set(), []), width

    return call


@pytest.fixture
def start(folders):
    started = []

    def call(*arguments, **options) -> subprocess.Popen:
        command = [sys.executable, "-m", "repro", *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        started.append(subprocess.Popen(command, **pipes))
        return started[-1]

    yield call
    for child in started:
        child.kill()
        child.wait()
        for pipe in (child.stdout, child.stderr):
            if pipe:
                pipe.close()


@pytest.fixture(scope="session")
def measured_once(tmp_path_factory) -> Path:
    selection = (CELL, "--scale", "tiny")

    def make(root: Path) -> None:
        take_what_is_finished(select(CELL, scale="tiny").plan().nodes, Store(root / "store"))
        places = ["--store", str(root / "store"), "--results", str(root / "results")]
        command = [sys.executable, "-m", "repro", "run", *selection, *places]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "measured", make)


@pytest.fixture
def measured(measured_once, folders) -> Path:
    import shutil

    for name in ("store", "results"):
        shutil.copytree(measured_once / name, folders / name)
    return folders


def rewrite_record(path: Path, **fields) -> None:
    """Change fields of the only record of a file and seal it again."""
    record = json.loads(path.read_text()) | fields
    del record["sha256"]
    path.write_text(json.dumps(record | {"sha256": _digest(record)}) + "\n")


@pytest.fixture
def refuse(monkeypatch):
    """``refuse(folder, number)``: later writes below the folder fail with that errno."""

    def guard(folder: Path, number: int) -> None:
        def guarded(real, writes):
            def call(path, *args, **kwargs):
                inside = isinstance(path, str | os.PathLike) and Path(path).is_relative_to(folder)
                if inside and writes(*args, **kwargs):
                    raise OSError(number, os.strerror(number), str(path))
                return real(path, *args, **kwargs)

            return call

        def by_mode(mode="r", *args, **kwargs):
            return bool(set(mode) & set("wax+"))

        def by_flags(flags, *args, **kwargs):
            return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))

        for name in ("mkdir", "rename", "replace", "unlink", "rmdir"):
            monkeypatch.setattr(os, name, guarded(getattr(os, name), lambda *args, **kwargs: True))
        monkeypatch.setattr(os, "open", guarded(os.open, by_flags))
        monkeypatch.setattr(io, "open", guarded(io.open, by_mode))

    return guard


TOY = """\
paper: toy
title: A toy
tables:
- id: "1"
  about: one system
  marks: {"*": {means: significant, over: [other]}}
  columns:
  - {id: dev, dataset: msmarco-passage/dev/small, measure: RR@10}
  - {id: dl, dataset: msmarco-passage/trec-dl-2019/judged, measure: nDCG@10}
  rows:
  - {id: bm25, label: BM25, recipe: words, with: {depth: 10}, cells: ["0.1", "0.2*"]}
  - {id: other, label: Other, cells: ["0.1", "-"]}
"""
RECIPES = """\
from repro.retrieval import recipe


def words(request, *, depth):
    documents, topics = recipe.corpus(request.collection), recipe.queries(request.dataset)
    return recipe.bm25(documents, topics, k1=0.9, b=0.4, multifield=False, depth=depth)
"""


@pytest.fixture
def papers_in(monkeypatch):
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "papers"}

    def use(root: Path) -> None:
        monkeypatch.setattr(at_hand, "ROOT", root)
        at_hand.papers.cache_clear()

    yield use
    for name in [name for name in sys.modules if name.split(".")[0] == "papers"]:
        del sys.modules[name]
    sys.modules.update(kept)
    at_hand.papers.cache_clear()


@pytest.fixture
def toy(tmp_path, papers_in) -> Path:
    root = tmp_path / "papers"
    (root / "toy").mkdir(parents=True)
    for name, text in (("__init__.py", ""), ("toy/__init__.py", ""), ("toy/recipes.py", RECIPES)):
        (root / name).write_text(text)
    (root / "toy/cells.yaml").write_text(TOY)
    papers_in(root)
    return root / "toy/cells.yaml"


@pytest.fixture
def report(toy):
    def write(cell: str, *values: str) -> None:
        entry = "\n- {cells: [%s], unit: fraction, measure: a measure, dataset: a set, source: a, value: '%s'"
        entries = [entry % (cell, value) + ", how: {start: checkpoint}}" for value in values]
        toy.with_name("others.yaml").write_text(f"{SOURCES}values:{''.join(entries)}\n")
        reports.cache_clear(), _ordered.cache_clear()

    return write


SOURCES = """\
sources:
  a: {who: toolkit, name: A toolkit, repository: a/b, issue: 1, date: "2024-01-01"}
"""
