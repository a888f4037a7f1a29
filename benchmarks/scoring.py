"""Reading and scoring a TREC run of MS MARCO's size: ours beside pytrec_eval, ranx and ir_measures.

Every tool reads the same file and takes RR@10 (or its nearest), nDCG@10 and recall at 1000. Ours reads
strictly and breaks ties as trec_eval does; it is meant to cost no more than pytrec_eval's reader and scorer.
They take turns in every round, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import Beside, child, peak
from report import write


def made(folder: Path, queries: int, depth: int) -> None:
    """A run file, and judgements of one document a query that lies somewhere in its ranking."""
    random = np.random.default_rng(0)
    qrels, path = {}, folder / "run.trec"
    with path.open("w") as file:
        for q in range(queries):
            documents = random.integers(0, 8_841_823, 2 * depth)
            documents = list(dict.fromkeys(documents.tolist()))[:depth]
            qrels[str(q)] = {str(documents[random.integers(depth)]): 1}
            scores = np.sort(random.random(depth).astype(np.float32))[::-1].tolist()
            lines = enumerate(zip(documents, scores, strict=True), 1)
            file.writelines(f"{q} Q0 {d} {rank} {score!r} made\n" for rank, (d, score) in lines)
    (folder / "qrels.json").write_text(json.dumps(qrels))


def ours(path: Path, qrels) -> float:
    from repro.retrieval.evaluation.measures import score
    from repro.retrieval.evaluation.runs import read_run

    found = score(read_run(path), qrels, ["RR@10", "nDCG@10", "R@1000"], ignore_identical_ids=False)
    return found.means["nDCG@10"]


def pytrec(path: Path, qrels) -> float:
    import pytrec_eval

    with path.open() as file:
        run = pytrec_eval.parse_run(file)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank", "ndcg_cut_10", "recall_1000"})
    return float(np.mean([found["ndcg_cut_10"] for found in evaluator.evaluate(run).values()]))


def with_ranx(path: Path, qrels) -> float:
    import ranx

    run = ranx.Run.from_file(str(path), kind="trec")
    return ranx.evaluate(ranx.Qrels.from_dict(qrels), run, ["mrr@10", "ndcg@10", "recall@1000"])["ndcg@10"]


def measures(path: Path, qrels) -> float:
    import ir_measures

    wanted = [ir_measures.RR @ 10, ir_measures.nDCG @ 10, ir_measures.R @ 1000]
    return ir_measures.calc_aggregate(wanted, qrels, ir_measures.read_trec_run(str(path)))[wanted[1]]


TOOLS: dict[str, Callable] = {
    "ours": ours,
    "pytrec_eval": pytrec,
    "ir_measures": measures,
    "ranx (compiled before)": with_ranx,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=6980)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return told_by_child(asked.child[0], Path(asked.child[1]), Path(asked.child[2]))
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small"
        small.mkdir()
        made(small, 20, 20)
        made(Path(folder), asked.queries, asked.depth)
        turns = [
            {name: measured(name, small, Path(folder)) for name in asked.tools} for _ in range(asked.rounds)
        ]
    seconds = {name: [turn[name]["seconds"] for turn in turns] for name in asked.tools}
    peaks = {name: max(turn[name]["peak"] for turn in turns) for name in asked.tools}
    rows = [
        {
            "tool": name,
            "run": f"{asked.queries} queries x {asked.depth}",
            "CPU seconds, median": f"{statistics.median(seconds[name]):.2f}",
            "peak memory": f"{peaks[name] / 1e6:.0f} MB",
            "nDCG@10": f"{turns[0][name]['mean']:.6f}",
        }
        for name in asked.tools
    ]
    beside = [
        Beside("reading and scoring a run", name, "CPU seconds", seconds["ours"], seconds[name], memory)
        for name in asked.tools
        if name != "ours"
        for memory in [(peaks["ours"], peaks[name])]
    ]
    write("Reading and scoring a run", rows, beside=beside)


def measured(name: str, *folders: Path) -> dict[str, float]:
    """One tool in a process of its own."""
    return child(__file__, ["--child", name, *map(str, folders)])


def told_by_child(name: str, small: Path, folder: Path) -> None:
    TOOLS[name](*read(small))  # imports and compilation are not what is compared
    path, qrels = read(folder)
    started = time.process_time()
    with peak() as grown:
        mean = TOOLS[name](path, qrels)
    seconds = time.process_time() - started
    print(json.dumps({"seconds": seconds, "peak": grown["peak"] - grown["before"], "mean": mean}))


def read(folder: Path) -> tuple[Path, dict[str, dict[str, int]]]:
    return folder / "run.trec", json.loads((folder / "qrels.json").read_text())


if __name__ == "__main__":
    main()
