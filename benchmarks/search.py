"""Exact search with its second scoring: beside faiss and torch in one process, and ``--big``: more vectors
than memory. All of them write a TREC run. Ours prints the shortest decimals, the others six decimals.

``--big`` writes an index of 3.4 GB to disk, searches it in a child process whose data segment the system
limits to 1 GB (address space, of which threads reserve some beside what they use), and compares every rank of
a sample of queries with products in float64. Coordinates are multiples of 1/64, so that products are exact in
float32 too and ties are real.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import Beside, child, peak
from report import write

from repro.progress import Progress
from repro.retrieval.stages import search
from repro.retrieval.stages.vectors import VectorFile, Views
from repro.retrieval.stages.vectors.search_memory import VARIABLE, MemoryNeeds

LIMIT, MADE = 10**9, 20_000  # bytes; rows at a time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--big", action="store_true")
    parser.add_argument("--passages", type=int, nargs="+", help="of each index")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--size", type=int, default=768)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--sample", type=int, default=25, help="queries compared with float64")
    parser.add_argument("--memory", nargs="*", default=["400MB", "30MB"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the index is written for the time being")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return told_by_child(Path(asked.child), asked.depth)
    rows: list[dict] = []
    compared: list[Beside] = []
    for count in asked.passages or ([1_100_000] if asked.big else [500_000, 50_000]):
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            made(Path(folder) / "passages", "d", count, asked.size)
            made(Path(folder) / "queries", "q", asked.queries, asked.size)
            more, quotients = (big if asked.big else beside)(Path(folder), asked)
        rows, compared = rows + more, compared + quotients
    title = "Search within 1 GB of memory" if asked.big else "Search beside faiss and torch"
    write(title, rows, beside=compared)


def made(folder: Path, prefix: str, count: int, size: int) -> None:
    folder.mkdir()
    random = np.random.default_rng(len(prefix) + count)
    array = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (count, size))
    for first in range(0, count, MADE):
        some = array[first : first + MADE]
        some[:] = random.integers(-256, 257, some.shape, dtype=np.int16) / np.float32(64)
    array.flush()
    (folder / "ids.txt").write_text("".join(f"{prefix}{row}\n" for row in range(count)))


def big(folder: Path, asked: argparse.Namespace) -> tuple[list[dict], list[Beside]]:
    expected, rows = brute_force(folder, asked), []
    for memory in asked.memory:
        out = folder / memory  # a search goes on with what its folder has
        out.mkdir()
        words = ["--child", str(out), "--depth", str(asked.depth)]
        facts = child(__file__, words, {VARIABLE: memory}, empty=True)
        ranked: dict[str, list] = {}
        with open(out / "run.trec") as file:
            for line in file:
                topic, _, document, *_ = line.split()
                ranked.setdefault(topic, []).append(document)
        equal = sum(ranked[topic] == documents for topic, documents in expected.items())
        assert equal == len(expected), f"{equal} of {len(expected)} rankings are those of float64"
        size = (folder / "passages/vectors.npy").stat().st_size
        rows.append(
            {
                "index": f"{size / 1e9:.2f} GB",
                VARIABLE: memory,
                "limit of the process": f"{LIMIT / 1e9:.0f} GB",
                "anonymous memory, peak": f"{facts['peak'] / 1e9:.2f} GB",
                "the index whole under this limit": facts["whole"],
                "queries": f"{asked.queries} in {facts['groups']} group(s)",
                "seconds": round(facts["seconds"], 1),
                "rankings equal to float64": f"{equal} of {equal} compared, {asked.depth} ranks each",
            }
        )
    return rows, []


def told_by_child(out: Path, depth: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    inputs = {name: out.parent / name for name in ("passages", "queries")}
    divide, groups = MemoryNeeds.sizes, []

    def noted(needs: MemoryNeeds, memory: int) -> object:
        sizes = divide(needs, memory)
        groups.append(-(-needs.queries // sizes.group))
        return sizes

    MemoryNeeds.sizes = noted
    try:
        np.load(inputs["passages"] / "vectors.npy")
        whole = "loads"
    except MemoryError:
        whole = "refused"
    started = time.perf_counter()
    with peak() as grown:
        search.run({"depth": depth}, inputs, out, Progress())
    seconds = time.perf_counter() - started
    print(json.dumps({"peak": grown["peak"], "seconds": seconds, "whole": whole, "groups": groups[0]}))


def brute_force(folder: Path, asked: argparse.Namespace) -> dict[str, list[str]]:
    """The ranking of every passage for a sample of queries, products in float64, ties to the greater id."""
    ids, passages = Views.read(folder / "passages").ids, VectorFile(folder / "passages")
    chosen = np.linspace(0, asked.queries - 1, asked.sample).astype(int)
    sample = VectorFile(folder / "queries").read(0, asked.queries)[chosen].astype(np.float64)
    scores = np.empty((len(chosen), len(passages)))
    for first in range(0, len(passages), MADE):
        end = min(first + MADE, len(passages))
        scores[:, first:end] = sample @ passages.read(first, end).astype(np.float64).T
    ranked = {}
    for number, row in zip(chosen, scores, strict=True):
        edge = np.partition(row, -asked.depth)[-asked.depth]
        candidates = np.flatnonzero(row >= edge)
        pairs = sorted(zip(row[candidates], ids.at(candidates), strict=True), reverse=True)
        ranked[f"q{number}"] = [name for _, name in pairs[: asked.depth]]
    return ranked


def written(folder: Path, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Write a run in a loop over lines. Returns the scores."""
    topics, documents = ((folder / name / "ids.txt").read_text().split() for name in ("queries", "passages"))
    with open(folder / "peer.trec", "w") as file:
        for topic, values, places in zip(topics, scores, rows, strict=True):
            for rank, (place, value) in enumerate(zip(places, values, strict=True), start=1):
                file.write(f"{topic} Q0 {documents[place]} {rank} {value:.6f} peer\n")
    return scores


def beside(folder: Path, asked: argparse.Namespace) -> tuple[list[dict], list[Beside]]:
    import faiss
    import torch

    inputs, out = {name: folder / name for name in ("passages", "queries")}, folder / "run"
    passages = VectorFile(inputs["passages"])

    def ours() -> np.ndarray:
        out.mkdir()
        search.run({"depth": asked.depth}, inputs, out, Progress())
        scores = np.load(out / "raw.npy").reshape(-1, asked.depth)
        shutil.rmtree(out)
        return scores

    def flat() -> np.ndarray:
        index = faiss.IndexFlatIP(asked.size)
        index.add(np.load(inputs["passages"] / "vectors.npy"))
        return written(folder, *index.search(np.load(inputs["queries"] / "vectors.npy"), asked.depth))

    def by_torch() -> np.ndarray:
        theirs, all_of_them = (
            torch.from_numpy(np.load(inputs[name] / "vectors.npy")) for name in ("queries", "passages")
        )
        best = (theirs @ all_of_them.T).topk(asked.depth)
        return written(folder, best.values.numpy(), best.indices.numpy())

    tools = {"ours": ours, "faiss.IndexFlatIP and a run": flat, "torch, product, topk and a run": by_torch}
    seconds = {name: [] for name in tools}
    memories, expected = {}, ours()
    for _ in range(asked.rounds):
        for name, tool in tools.items():
            started = time.process_time()
            with peak() as grown:
                scores = tool()
            seconds[name].append(time.process_time() - started)
            memories[name] = max(grown["peak"] - grown["before"], memories.get(name, 0))
            assert np.array_equal(scores, expected), f"{name} found other scores"
    rows = [
        {
            "search": name,
            "vectors": f"{len(passages)} x {asked.size}",
            "queries": asked.queries,
            "depth": asked.depth,
            "CPU seconds, median": round(statistics.median(taken), 2),
            "peak memory": f"{memories[name] / 1e6:.0f} MB",
        }
        for name, taken in seconds.items()
    ]
    return rows, [
        Beside(
            f"exact search of {len(passages):,} vectors, and its run",
            name,
            "CPU seconds",
            seconds["ours"],
            taken,
            memory,
        )
        for name, taken in seconds.items()
        if name != "ours"
        for memory in [(memories["ours"], memories[name])]
    ]


if __name__ == "__main__":
    main()
