"""A paper, a collection and a stage so small that a command takes milliseconds."""

import contextlib
import functools
import hashlib
import importlib.metadata
import itertools
import json
import os
import shutil
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from repro.errors import StoreError
from repro.machine import code_digest, versions
from repro.manifest import papers as at_hand
from repro.manifest.cells import select
from repro.retrieval.datasets import catalog, digests
from repro.running import measurement, provenance
from repro.running.plan import plan
from repro.running.runner import prepare
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.stage_table import STAGES, StageSpec
from tests.end_to_end.commands import Moments, forget
from tests.end_to_end.fresh_scores import measured_anew, scored_anew

CATALOG = """\
collections:
- {id: toy, title: Toy, licence: none, source: none, how: write it, splits: {test: {}}}
"""
PAPERS = ("toy", "twin")  # of equal tables, so that a cell of one has its scores in common with the other
LISTED = {"toy/test": ("RR@2", "RR@3", "R@2", "Success@2", "nDCG@3")}
CELLS = """\
paper: {paper}
title: A toy
tables:
- id: "1"
  about: two measures and their mean
  unit: {unit}
  columns:
  - {{id: rr, dataset: toy/test, measure: {rr}}}
  - {{id: recall, dataset: toy/test, measure: R@2}}
  - {{id: mean, mean_of: [rr, recall]}}
  rows: [{{id: letters, label: Letters, role: rerun, recipe: letters, cells: ["0.5", "0.5", "0.5"]}}]
- id: "2"
  about: the same ranking by another measure
  unit: percent
  columns: [{{id: gain, dataset: toy/test, measure: {gain}}}]
  rows:
  - {{id: letters, label: Letters, role: rerun, recipe: letters, cells: ["50.0"]}}
  - {{id: theirs, label: Of others, cells: ["40.0"], not_measurable: nobody has it but they}}
"""
READINGS = """\
- id: recall
  kind: silence
  where: here
  paper: does not say whether a second relevant text counts
  choices: {every: R@2, any: Success@2}
  default: every
- id: counts
  kind: silence
  where: here
  paper: does not say whether counts are squared
  choices: {plain: 1, squared: 2}
  default: plain
"""
RECIPES = """\
from repro.retrieval import recipe
from repro.graph import Node


def letters(request):
    request.measure_as("R@2", request.reading("recall"))
    params = {"power": request.reading("counts"), "seed": request.seed_or(0)}
    texts = (recipe.corpus(request.collection), recipe.queries(request.dataset))
    return recipe.search(*(Node("embed", params, {"texts": text}) for text in texts), depth=5)
"""
STAGE = '''\
"""Stage ``embed`` of the toy: how often each letter occurs, weighted."""

import json

import numpy as np

from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.stages.vectors import write_ids

CODE = {code}


def run(params, inputs, out, progress):
    if (inputs["texts"] / "arrow").is_dir():
        rows = list(read_rows(inputs["texts"]))
    else:
        rows = list(map(json.loads, (inputs["texts"] / "queries.jsonl").read_text().splitlines()))
    step = 3 * CODE + 5 * params["seed"] + 2
    weights = [1 + place * step % 7 for place in range(4)]
    counts = np.array([[row["text"].count(letter) for letter in "abcd"] for row in rows])
    (out / "code.txt").write_text(str(CODE))
    np.save(out / "vectors.npy", (counts ** params["power"] * weights).astype(np.float32))
    write_ids((row["id"] for row in rows), out, inputs["texts"])
'''
# Two states of every file of the collection, equally long.
DOCUMENTS = tuple(
    {"d1": "abddd", "d2": "abbd", "d3": "aab", "d4": "ccd", "d5": "aaac", "d6": sixth, "d7": "accd"}
    for sixth in ("abbcc", "aabcd")
)
QUERIES = tuple({"q1": first, "q2": "bbc", "q3": "abd", "q4": "abd", "q5": "bcd"} for first in ("aad", "bdd"))
QRELS = tuple(
    f"q1 d2 3;q1 d4 1;q1 d6 3;q2 d3 1;q2 d4 1;q2 d7 2;q3 d4 1;q3 d6 1;q3 d7 3;q4 d1 {grade};q4 d4 3;q4 d6 0;"
    "q5 d3 0;q5 d6 2;q5 d7 3".split(";")
    for grade in (2, 0)
)
# Two runs of others, each the same for every query.
RUNS = {"one.run": ["d6", "d7", "d2", "d4", "d3"], "two.run": ["d4", "d3", "d1", "d7", "d2"]}
COLUMNS = ("rr", "recall", "gain")
FILES = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")


def content(file: str, state: int) -> bytes:
    if file == "qrels/test.tsv":
        lines = ["query-id\tcorpus-id\tscore", *(row.replace(" ", "\t") for row in QRELS[state])]
    else:
        texts = {"corpus.jsonl": DOCUMENTS, "queries.jsonl": QUERIES}[file][state]
        lines = [json.dumps({"_id": name, "text": text}) for name, text in texts.items()]
    return "".join(f"{line}\n" for line in lines).encode()


class ToyWorld:
    """Folders of one user; ``codes`` has every code that was at work under a version."""

    def __init__(self, root: Path, moments: Moments):
        self.root, self.moments = root, moments
        for path in root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.store, self.results, self.data = (root / name for name in ("store", "results", "data"))
        self.manifest = {"rr": "RR@2", "recall": "R@2", "gain": "nDCG@3"}
        for name, text in (("readings.yaml", READINGS), ("recipes.py", RECIPES), ("__init__.py", "")):
            for paper in PAPERS:
                self._write(root / "papers" / paper / name, text.encode())
        self._write(root / "papers/__init__.py", b"")
        self.change_manifest("unit", "fraction")
        self.states = dict.fromkeys(FILES, 0)
        for file in FILES:
            self._write(self.data / "toy" / file, content(file, 0))
        self.version, self.codes = 1, {}
        STAGES["embed"] = replace(STAGES["embed"], version=1)
        self.write_code(1)

    @staticmethod
    def _write(path: Path, text: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)

    def change_manifest(self, key: str, value: str) -> None:
        self.manifest[key] = value
        for paper in PAPERS:
            text = CELLS.format(paper=paper, **self.manifest)
            self._write(self.root / "papers" / paper / "cells.yaml", text.encode())

    def write_code(self, code: int) -> None:
        self.code = code
        self.codes.setdefault(self.version, set()).add(code)
        path = self.root / "repro/retrieval/stages/embed.py"
        self._write(path, STAGE.format(code=code).encode())
        sys.modules["repro.retrieval.stages.embed"] = module = types.ModuleType(
            "repro.retrieval.stages.embed"
        )
        module.__file__ = str(path)
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)

    def raise_version(self) -> None:
        self.version += 1
        STAGES["embed"] = replace(STAGES["embed"], version=self.version)

    def edit(self, file: str, keep_time: bool) -> None:
        """Put a file of the collection into its other state; its size stays, and its time if so wished."""
        path = self.data / "toy" / file
        if self.is_absent():
            return
        before = path.stat()
        self.states[file] = 1 - self.states[file]
        while True:
            path.write_bytes(content(file, self.states[file]))
            if keep_time:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            if path.stat().st_ctime_ns != before.st_ctime_ns:  # two edits within a tick of the clock are one
                return

    def move(self, file: str) -> None:
        path = self.data / "toy" / file
        aside = path.with_name(f"{path.name}.aside")
        os.rename(*((aside, path) if aside.exists() else (path, aside)))

    def is_absent(self) -> bool:
        return not all((self.data / "toy" / file).exists() for file in FILES)

    def anew(self, readings: dict[str, str], seeds: tuple[int, ...]) -> dict[tuple, set[float]]:
        """The values that a cell may truly have. Several where the code changed and its version did not."""
        cells = {}
        for some in range(len(seeds or (None,))):
            for chosen in itertools.combinations(seeds or (None,), some + 1):
                values = {c: self._means(c, readings, chosen) for c in COLUMNS}
                values["mean"] = _averages([values["rr"], values["recall"]])
                for column, of_column in values.items():
                    cells[column, chosen] = {value * self.factor(column) for value in of_column}
        return cells

    def run_of_others(self, name: str) -> Path:
        ranks = [(query, d, rank) for query in QUERIES[0] for rank, d in enumerate(RUNS[name], 1)]
        lines = [f"{query} Q0 {d} {rank} {9 - rank} theirs\n" for query, d, rank in ranks]
        self._write(self.root / name, "".join(lines).encode())
        return self.root / name

    def anew_of_others(self, name: str) -> float:
        judgements = (self.data / "toy/qrels/test.tsv").read_bytes()
        rankings = dict.fromkeys(QUERIES[0], RUNS[name])
        return scored_anew(judgements, self.manifest["gain"], rankings) * self.factor("gain")

    def made_by_other_code(self) -> set[str]:
        """The toy's stored artefacts that another code made than the one here, as they are printed."""
        made = self.store.glob(f"embed/{'?' * 64}/code.txt")
        return {f"embed/{p.parent.name[:12]}" for p in made if p.read_bytes() != str(self.code).encode()}

    def stored(self, column: str, readings: dict[str, str], fingerprints: list[str]) -> float | None:
        """The value of a cell by the scores that lie in the store; None unless all lie there, unharmed."""
        means = []
        for fingerprint in fingerprints:
            folder = self.store / "evaluate" / fingerprint
            try:
                text = (folder / "scores.json").read_bytes()
                facts = json.loads((folder / "artefact.json").read_text())["files"]["scores.json"]
            except (OSError, ValueError, KeyError):
                return None
            if hashlib.sha256(text).hexdigest() != facts["sha256"]:
                return None
            scores = json.loads(text)["measures"][self._measure(column, readings)]
            means.append(sum(scores) / len(scores))
        return sum(means) / len(means) * self.factor(column)

    def _measure(self, column: str, readings: dict[str, str]) -> str:
        measure = self.manifest[column]
        return "Success@2" if (measure, readings.get("recall")) == ("R@2", "any") else measure

    def factor(self, column: str) -> int:
        return 100 if column == "gain" or self.manifest["unit"] == "percent" else 1

    def _means(self, column: str, readings: dict[str, str], seeds: tuple[int | None, ...]) -> set[float]:
        if self.is_absent():
            return set()
        measure = self._measure(column, readings)
        files = tuple((self.data / "toy" / file).read_bytes() for file in FILES)
        power = 2 if readings.get("counts") == "squared" else 1
        of_seed = []
        for seed in seeds:
            how = {"power": power, "seed": seed or 0}
            pairs = itertools.product(self.codes[self.version], repeat=2)
            of_seed.append({measured_anew(files, measure, codes=codes, **how) for codes in pairs})
        return _averages(of_seed)

    def queue(self, readings: dict[str, str], seeds: tuple[int, ...]) -> list[str]:
        """Fingerprints of what an engine would hand out now, inputs first; none of a store it refuses."""
        forget()
        workspace, cells = Workspace.open(), select(("toy",), tables=(), rows=(), cells=())
        how = {"scale": scale("full"), "machine": workspace.machine, "seeds": seeds, "overrides": readings}
        try:
            nodes = prepare(plan(cells, **how).ends, workspace.store)
        except StoreError:
            return []
        return [n.fingerprint for n in nodes]


def _averages(values: list[set[float]]) -> set[float]:
    return {sum(some) / len(some) for some in itertools.product(*values)}


@contextlib.contextmanager
def patched(root: Path) -> Iterator[Moments]:
    (root / "world").mkdir()
    (root / "catalog.yaml").write_text(CATALOG)
    moments = Moments()
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "papers"}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("store", "results", "data"):
            patch.setenv(f"REPRO_{name.upper()}", str(root / "world" / name))
        for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, str(root / "user"))
        patch.setattr(at_hand, "ROOT", root / "world/papers")
        patch.setattr(versions, "_git", functools.cache(versions._git))
        # the suite's own modules, which no walk changes, are not found, and the one that changes is read anew
        patch.setattr(code_digest, "OURS", dict.fromkeys(code_digest.OURS, root / "world"))
        patch.setattr(code_digest, "_module", code_digest._module.__wrapped__)
        patch.setattr(provenance, "code", code_digest.code.__wrapped__)
        patch.setattr(provenance, "_code_of_all", provenance._code_of_all.__wrapped__)
        patch.setattr(digests, "SETTLED", 0)  # an edit waits for the next tick of the clock itself
        patch.setattr(catalog, "FILE", root / "catalog.yaml")
        patch.setattr(measurement, "listed_measures", lambda dataset: LISTED.get(dataset, ()))
        patch.setattr(importlib.metadata, "entry_points", lambda **_: importlib.metadata.EntryPoints())
        patch.setitem(STAGES, "embed", StageSpec({"texts": "corpus|queries"}, "embeddings"))
        patch.setitem(sys.modules, "repro.retrieval.stages.embed", None)
        for name in ("fsync", "rename", "replace", "unlink"):
            patch.setattr(os, name, moments.patched(name))
        try:
            forget(everything=True)
            yield moments
        finally:
            forget(everything=True)
            for name in [name for name in sys.modules if name.split(".")[0] == "papers"]:
                del sys.modules[name]
            sys.modules.update(kept)
