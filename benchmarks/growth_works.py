"""Works of any size, for ``growth.py``: each makes its inputs in a folder and gives what is measured."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

Tools = dict[str, Callable[[], object]]
WIDTH, QUERIES, DEPTH = 64, 100, 100  # of a search
SMALL = argparse.Namespace(hidden=32, layers=1, length=16, precision="fp32", pooling="cls")  # a model
CHAIN = 10  # artefacts that are made one from the other


def encode(folder: Path, size: int) -> Tools:
    """Short texts by a model of one layer, so that what is done for each text counts."""
    from datasets import Dataset
    from encode import prepared, theirs

    from repro.progress import Progress
    from repro.retrieval.stages import encode as stage

    words = ["red", "green", "blue", "large", "small", "old", "new", "first", "last", "other"]
    model, _ = prepared([{"title": "", "text": word} for word in words], folder, SMALL)
    drawn = np.random.default_rng(0).integers(len(words), size=(size, 6)).tolist()
    texts = [" ".join(words[place] for place in row) for row in drawn]
    columns = {"id": [str(n) for n in range(size)], "title": [""] * size, "text": texts}
    Dataset.from_dict(columns).save_to_disk(str(folder / "passages/arrow"))
    params = {"kind": "passages", "length": SMALL.length, "separator": " ", "pooling": SMALL.pooling}
    params |= {"normalize": False, "precision": SMALL.precision}
    inputs, out = {"model": model, "texts": folder / "passages"}, folder / "out"

    def ours() -> None:
        out.mkdir()
        stage.run(dict(params), inputs, out, Progress())
        shutil.rmtree(out)

    return {"encode": ours, "sentence-transformers": theirs(model, folder / "passages", out, SMALL, 32)}


def search(folder: Path, size: int) -> Tools:
    """The first 100 of so many vectors of 64 numbers, for 100 queries."""
    import faiss
    from search import made

    from repro.progress import Progress
    from repro.retrieval.stages import search as stage

    made(folder / "passages", "d", size, WIDTH)
    made(folder / "queries", "q", QUERIES, WIDTH)
    inputs = {name: folder / name for name in ("passages", "queries")}
    depth, out = min(DEPTH, size), folder / "run"

    def ours() -> None:
        out.mkdir()
        stage.run({"depth": depth}, inputs, out, Progress())
        shutil.rmtree(out)

    def flat() -> object:
        index = faiss.IndexFlatIP(WIDTH)
        index.add(np.load(folder / "passages/vectors.npy"))
        return index.search(np.load(folder / "queries/vectors.npy"), depth)

    return {"search": ours, "faiss, flat index": flat}


def scoring(folder: Path, size: int) -> Tools:
    """Reading and scoring a run of so many lines, up to 1,000 a query."""
    from scoring import made, ours, pytrec, read

    made(folder, max(1, size // 1000), min(size, 1000))
    path, qrels = read(folder)
    return {"scoring": lambda: ours(path, qrels), "pytrec_eval": lambda: pytrec(path, qrels)}


def mining(folder: Path, size: int) -> Tools:
    """Negatives of the queries of a run of so many lines."""
    from scoring import made

    from repro.progress import Progress
    from repro.retrieval.stages import mine

    made(folder, max(1, size // 1000), min(size, 1000))
    qrels = json.loads((folder / "qrels.json").read_text())
    lines = (f"{query} 0 {d} 1\n" for query, judged in qrels.items() for d in judged)
    (folder / "qrels.trec").write_text("".join(lines))
    params = {"depth": 200, "per_query": 30, "seed": 42}
    inputs, folders = {"run": folder, "qrels": folder}, iter(range(10**6))

    def ours() -> None:
        out = folder / f"mined{next(folders)}"
        out.mkdir()
        mine.run(params, inputs, out, Progress())

    def in_a_loop() -> None:
        ranked, drawn = defaultdict(list), random.Random(42)
        with (folder / "run.trec").open() as run:
            for line in run:
                query, _, document, *_ = line.split()
                ranked[query].append(document)
        with (folder / "negatives.tsv").open("w") as file:
            for query, documents in ranked.items():
                left = [d for d in documents[: params["depth"]] if d not in qrels[query]]
                some = drawn.sample(left, min(params["per_query"], len(left)))
                file.writelines(f"{query}\t{document}\n" for document in some)

    return {"mining": ours, "a loop over lines": in_a_loop}


def planning(folder: Path, size: int) -> Tools:
    """So many rows of an ablation, each of which pre-trains at a temperature of its own."""
    from dataclasses import replace

    from repro.manifest.cells import select
    from repro.running.plan import plan
    from repro.running.requirements import Machine
    from repro.running.scale import scale

    one = next(c for c in select(("costa",), tables=("7",), rows=(), cells=()) if "temperature" in c.options)
    rows = [
        one.row.model_copy(update={"id": f"row{n}", "with_": {**one.row.with_, "temperature": 1 + n / size}})
        for n in range(size)
    ]
    cells = [replace(one, row=row) for row in rows]
    return {"planning": lambda: len(plan(cells, scale=scale("full"), machine=Machine()).nodes)}


def store(folder: Path, size: int) -> Tools:
    """So many artefacts, ten made one from the other; half of them are needed by nothing."""
    from repro.cli import cli
    from repro.graph import Node
    from repro.store import Store
    from repro.store.leftovers import leftovers, remove_leftovers

    nodes: list[Node] = []
    opened = Store(folder / "store")

    def write(directory: Path) -> None:
        (directory / "file").write_text("made")

    nothing = mock.Mock()
    with mock.patch("repro.store.disk.sync", nothing), mock.patch("repro.store.sync", nothing):
        for number in range(size):
            below = (nodes[-1],) if number % CHAIN else ()
            nodes.append(Node("union", {"number": number}, {"training_sets": below}))
            opened.build(nodes[-1], write)
    needed = {node.fingerprint for node in nodes[: size // 2]}
    words = [
        "store",
        "verify",
        "--store",
        str(folder / "store"),
        "--results",
        str(folder / "results"),
        "--format",
        "json",
    ]

    def read() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            cli.main(words, standalone_mode=False)

    def unneeded() -> list:
        return leftovers(opened, needed, keep_days=-1)

    def removed() -> None:
        items = unneeded()
        locks = [item for item in items if item.kind == "lock"]
        remove_leftovers(opened, [*locks, *items[: size // 10]])

    def files() -> list[str]:
        return [os.path.join(place, name) for place, _, names in os.walk(opened.root) for name in names]

    return {
        "store: status": lambda: [opened.state(node) for node in nodes],
        "store: gc, looking": unneeded,
        "store: verify": read,
        "store: stat of each file": lambda: [os.stat(path) for path in files()],
        "store: sha256 of each file": lambda: [hashlib.file_digest(open(p, "rb"), "sha256") for p in files()],
        "store: gc, removing a tenth": removed,  # last, as it changes the store
    }
