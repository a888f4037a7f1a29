"""Small data folders for the tests: a collection of the catalogue's shape but not of its size."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from repro.graph import Node
from repro.retrieval.datasets import catalog, word_lists
from repro.running.requirements import Machine


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def write_lines(path: Path, records: Iterable[dict]) -> Path:
    return write(path, "".join(json.dumps(r) + "\n" for r in records))


def beir_folder(folder: Path) -> Path:
    """Three documents, four queries, splits train (queries 1 and 2) and test (query 3)."""
    documents = [{"_id": f"d{n}", "title": f"T{n}", "text": f"text {n}", "metadata": {}} for n in range(3)]
    queries = [{"_id": str(n), "text": f"query {n}", "metadata": {}} for n in (4, 3, 2, 1)]
    write_lines(folder / "corpus.jsonl", documents)
    write_lines(folder / "queries.jsonl", queries)
    write(folder / "qrels/train.tsv", "query-id\tcorpus-id\tscore\n1\td1\t1\n2\td2\t1\n1\td1\t1\n")
    write(folder / "qrels/test.tsv", "query-id\tcorpus-id\tscore\n3\td0\t2\n3\td1\t0\n")
    return folder


def without_counts(monkeypatch, *ids: str) -> None:
    """Let the catalogue state no counts for ``ids``, so that a made collection can stand for the real one."""
    entries = dict(catalog.catalog())
    for id in ids:
        entries[id] = replace(entries[id], counts={})
    monkeypatch.setattr(catalog, "catalog", lambda: entries)


def word_list(monkeypatch, root: Path, name: str, words: list[str]) -> Path:
    part = {"title": name, "words": len(words), "sha256": word_lists.digest(sorted(words)), "from": "there"}
    monkeypatch.setattr(word_lists, "known_lists", lambda: {name: {**part, "parts": [part]}})
    return write(root / name, "".join(f"{word}\n" for word in words))


def planned(stage: str, root: Path | None = None, *, machine: Machine | None = None, **params) -> dict:
    """Parameters of a stage that reads data or a checkpoint, as a plan with that data folder has them."""
    return dict((machine or Machine(root)).resolve(Node(stage, params)).params)
