"""A store of made-up vectors, with searches, minings and evaluations by the real stages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from repro.graph import Node, walk
from repro.progress import Progress
from repro.running.engines.inline import run_node
from repro.store import Store
from repro.store.disk import RECORD
from repro.store.seal import seal

QUERIES, PASSAGES, SIZE = 6, 50, 8


def vector_store(root: Path) -> tuple[Store, dict[str, Node]]:
    """The store and its nodes by name: passages, queries, qrels, search, mine, evaluate."""
    store, generator = Store(root), np.random.default_rng(4)
    model, text = Node("initialise", {"seed": 1}), Node("corpus", {"dataset": "made-up"})
    nodes = {
        kind: Node("encode", {"kind": kind, "precision": "fp32"}, {"model": model, "texts": text})
        for kind in ("passages", "queries")
    }
    nodes["qrels"] = Node("qrels", {"dataset": "made-up"})
    nodes["search"] = Node("search", {"depth": 20}, {k: nodes[k] for k in ("passages", "queries")})
    judged = {"run": nodes["search"], "qrels": nodes["qrels"]}
    nodes["mine"] = Node("mine", {"depth": 20, "per_query": 5, "seed": 42}, judged)
    measures = {"measures": ["RR@10", "nDCG@10"], "ignore_identical_ids": False, "judgements": "qrels"}
    nodes["evaluate"] = Node("evaluate", measures, judged)
    store.remember(walk(nodes.values()))

    def vectors(prefix: str, count: int):
        def work(out: Path) -> None:
            np.save(out / "vectors.npy", generator.normal(size=(count, SIZE)).astype(np.float32))
            (out / "ids.txt").write_text("".join(f"{prefix}{row}\n" for row in range(count)))

        return work

    def judgements(out: Path) -> None:
        lines = (f"q{query} 0 d{7 * query + place} 1\n" for query in range(QUERIES) for place in range(3))
        (out / "qrels.trec").write_text("".join(lines))

    for name, work in (
        ("passages", vectors("d", PASSAGES)),
        ("queries", vectors("q", QUERIES)),
        ("qrels", judgements),
    ):
        store.build(nodes[name], work)
    for name in ("search", "mine", "evaluate"):
        run_node(nodes[name], store, Progress())
    return store, nodes


def forge(store: Store, node: Node, name: str, text: str) -> None:
    """Change a file of an artefact together with the checksums that vouch for it."""
    folder = store.path(node)
    (folder / name).write_text(text)
    record = json.loads((folder / RECORD).read_text())
    seal(folder, node, record["facts"])
