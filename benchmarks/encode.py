"""Passages per second of the stage ``encode`` beside sentence-transformers, same model and texts.

The texts are passages of SciFact and NFCorpus where the data folder has them, spread over each collection,
with a vocabulary of its texts; the weights are invented, which speed does not depend on, or with ``--model``
those of a folder of BERT's architecture, e.g. of all-MiniLM-L6-v2. Ours and the peer,
with each of its batch sizes, take turns in every round, each in a process of its own; all vectors are
compared before anything is printed. Seconds are those of the whole stage, which also loads its model and
writes its vectors, and of the peer's ``encode`` alone. Memory is what either needs for its model and texts
beyond the libraries that its process has loaded. ``--beside`` is another checkout, whose stage takes its turn
too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from measuring import BEFORE, HERE, Beside, checkout, child, folder, peak

from repro.graph import Node
from repro.progress import Progress
from repro.retrieval.datasets import tiny
from repro.retrieval.stages import encode, initialise, vocabulary

OURS, OLD, PEER = "repro", "repro, before", "sentence-transformers"
PASSAGES = "corpus.jsonl"
COLLECTIONS = ("beir/scifact", "beir/nfcorpus")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--data", type=folder, default=os.environ.get("REPRO_DATA"), help="else invented texts"
    )
    options.add_argument("--passages", type=int, default=100, help="of each collection")
    options.add_argument("--model", type=folder, help="a released encoder's folder; else invented weights")
    options.add_argument("--hidden", type=int, default=384)
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--length", type=int, default=256)
    options.add_argument("--pooling", choices=["mean", "cls"], default="mean")
    options.add_argument("--precision", default="fp32", help="fp16 and bf16 need a GPU")
    options.add_argument(
        "--batches", type=int, nargs="+", default=[32, 8], help="the peer's; 32 is its default"
    )
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--beside", type=checkout, help="a checkout of another version")
    options.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        batch, *paths = chosen.child
        return told_by_child(int(batch), *map(Path, paths), chosen)
    if chosen.data and (lacking := [name for name in COLLECTIONS if not passages_of(chosen, name).is_file()]):
        options.error(f"argument --data: {str(chosen.data)!r} has no {lacking[0]}/{PASSAGES}")
    from report import write  # the child of another checkout has no need of it

    rows, beside = [], []
    with tempfile.TemporaryDirectory() as root:
        for name, texts in collections(chosen).items():
            told = taken(texts, Path(root) / name.replace("/", "-"), chosen)
            rows += [line(f"{name}, {len(texts)} passages", way, told) for way in told]
            beside += held_beside(name.removeprefix("beir/"), told, chosen)
    model = chosen.model.name if chosen.model else f"{chosen.layers} layers of {chosen.hidden}"
    title = f"Encoding, {model}, {chosen.length} tokens, {chosen.pooling}, {chosen.precision}"
    write(title, rows, beside=beside)


def collections(chosen: argparse.Namespace) -> dict[str, list[dict[str, str]]]:
    """Passages with title and text by collection, evenly spread over it."""
    if chosen.data is None:
        return {"invented": invented(chosen.passages)}
    found = {}
    for name in COLLECTIONS:
        with open(passages_of(chosen, name), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        places = np.linspace(0, len(rows) - 1, min(chosen.passages, len(rows))).astype(int)
        found[name] = [{"title": rows[place]["title"], "text": rows[place]["text"]} for place in places]
    return found


def passages_of(chosen: argparse.Namespace, name: str) -> Path:
    return chosen.data / name / PASSAGES


def invented(count: int) -> list[dict[str, str]]:
    """Beginnings of the embedded articles, 40 to 640 characters long."""
    articles = [document.text.replace("\n", " ") for document in tiny.documents("tiny/text")]
    cut = (articles[n % len(articles)][: 40 + 37 * n % 600] for n in range(count))
    return [{"title": "", "text": text} for text in cut]


def ways(chosen: argparse.Namespace) -> dict[str, tuple[int, Path]]:
    """Encoder -> the peer's batch size, 0 for the stage, and the checkout that it runs."""
    here = HERE
    old = {OLD: (0, chosen.beside)} if chosen.beside else {}
    peers = {f"{PEER}, batches of {batch}": (batch, here) for batch in chosen.batches}
    return {OURS: (0, here)} | old | peers


def taken(texts: list[dict], folder: Path, chosen: argparse.Namespace) -> dict[str, list[dict]]:
    """Return a record of each encoder's cost for every round, with its vectors' distance from ours."""
    model, corpus = prepared(texts, folder, chosen, chosen.model)
    told: dict[str, list[dict]] = {way: [] for way in ways(chosen)}
    for n in range(chosen.rounds):
        for place, (way, (batch, tree)) in enumerate(ways(chosen).items()):
            out = folder / f"{place}-{n}"
            one = measured(batch, model, corpus, out, tree)
            told[way].append(one | {"difference": difference(folder / f"0-{n}", out, chosen.precision)})
    return told


def line(texts: str, way: str, told: dict[str, list[dict]]) -> dict[str, object]:
    """A row of the table, beside ours in the same rounds."""
    runs, ours = told[way], told[OURS]
    quotients = {
        kind: sorted(one[kind] / our[kind] for one, our in zip(runs, ours, strict=True))
        for kind in ("wall", "cpu")
    }
    return {
        "collection": texts,
        "encoder": way,
        "threads": torch.get_num_threads(),
        "seconds, median": f"{statistics.median(one['wall'] for one in runs):.1f}",
        "CPU seconds, median": f"{statistics.median(one['cpu'] for one in runs):.1f}",
        "seconds over ours, median (range)": "1" if way == OURS else spread(quotients["wall"]),
        "CPU over ours, median (range)": "1" if way == OURS else spread(quotients["cpu"]),
        "memory for model and texts": f"{most(runs, 'peak') / 1e6:.0f} MB",
        "whole process": f"{most(runs, 'process') / 1e6:.0f} MB",
        "largest difference of a number": "" if way == OURS else f"{most(runs, 'difference'):.0e}",
    }


def held_beside(name: str, told: dict[str, list[dict]], chosen: argparse.Namespace) -> list[Beside]:
    """CPU seconds of ours and of each of the others, round by round."""

    def cpu(way: str) -> list[float]:
        return [one["cpu"] for one in told[way]]

    def one(way: str) -> Beside:
        memory = [most(told[OURS], "peak"), most(told[way], "peak")]
        other = BEFORE if way == OLD else way
        path = f"encoding {name}, {chosen.length} tokens, {chosen.pooling}"
        path += ", released weights" if chosen.model else ""
        return Beside(path, other, "CPU seconds", cpu(OURS), cpu(way), memory)

    return [one(way) for way in told if way != OURS]


def most(runs: list[dict], kind: str) -> float:
    return max(run[kind] for run in runs)


def spread(quotients: list[float]) -> str:
    return f"{statistics.median(quotients):.2f} ({quotients[0]:.2f} to {quotients[-1]:.2f})"


def prepared(
    texts: list[dict], folder: Path, chosen: argparse.Namespace, released: Path | None = None
) -> tuple[Path, Path]:
    """A random model of the wanted size with a vocabulary of its texts, and these as a corpus artefact."""
    from datasets import Dataset

    words, model, corpus = (folder / name for name in ("words", "model", "texts"))
    for path in (words, model, corpus):
        path.mkdir(parents=True)
    columns = {"id": [str(n) for n in range(len(texts))]}
    columns |= {name: [row[name] for row in texts] for name in ("title", "text")}
    Dataset.from_dict(columns).save_to_disk(str(corpus / "arrow"))
    if released:
        (model / "model").symlink_to(released.resolve())
        return model, corpus
    vocabulary.run({"size": 30_522}, {"corpus": corpus}, words, Progress())
    size = {
        "hidden_size": chosen.hidden,
        "layers": chosen.layers,
        "heads": chosen.hidden // 32,
        "intermediate_size": 4 * chosen.hidden,
        "max_positions": 512,
        "dropout": 0.1,
        "seed": 1,
    }
    initialise.run(Node("initialise", size).params, {"tokenizer": words}, model, Progress())
    return model, corpus


def measured(batch: int, model: Path, corpus: Path, out: Path, tree: Path) -> dict[str, float]:
    """Seconds, and bytes beyond the libraries, by the code of a checkout; vectors lie in ``out``."""
    words = [*sys.argv[1:], "--child", str(batch), str(model), str(corpus), str(out)]
    return child(__file__, words, tree=tree)


def ours(model: Path, corpus: Path, out: Path, chosen) -> Callable[[], None]:
    """The stage, with loading its model and texts and writing its vectors."""
    params = {
        "kind": "passages",
        "length": chosen.length,
        "separator": " ",
        "pooling": chosen.pooling,
        "normalize": False,
        "precision": chosen.precision,
    }
    return lambda: encode.run(params, {"model": model, "texts": corpus}, out, Progress())


def theirs(model: Path, corpus: Path, out: Path, chosen, batch: int) -> Callable[[], np.ndarray]:
    """Encoding alone, without loading or writing."""
    from datasets import load_from_disk
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    rows = [f"{row['title']} {row['text']}".lstrip() for row in load_from_disk(str(corpus / "arrow"))]
    transformer = Transformer(str(model / "model"), max_seq_length=chosen.length)
    pooling = Pooling(transformer.get_embedding_dimension(), chosen.pooling)
    peer = SentenceTransformer(modules=[transformer, pooling])
    if chosen.precision != "fp32":
        peer = peer.to({"fp16": torch.float16, "bf16": torch.bfloat16}[chosen.precision])
    return lambda: peer.encode(rows, batch_size=batch, convert_to_numpy=True, show_progress_bar=False)


def told_by_child(batch: int, model: Path, corpus: Path, out: Path, chosen) -> None:
    import datasets  # noqa: F401 - loaded before memory is looked at, as the library of either
    import transformers.models.bert.modeling_bert  # noqa: F401

    if batch:
        import sentence_transformers  # noqa: F401
    out.mkdir()
    with peak() as held:
        run = theirs(model, corpus, out, chosen, batch) if batch else ours(model, corpus, out, chosen)
        wall, cpu = time.perf_counter(), cpu_seconds()
        vectors = run()
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    if batch:
        np.save(out / "vectors.npy", vectors)
    process = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = {"wall": wall, "cpu": cpu, "peak": held["peak"] - held["before"], "process": process}
    print(json.dumps(told))


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def difference(ours: Path, theirs: Path, precision: str) -> float:
    """The furthest of two vectors' components from each other, in a round."""
    found = [np.load(folder / "vectors.npy") for folder in (ours, theirs)]
    furthest = float(np.abs(found[0] - found[1]).max())
    bound = 1e-5 if precision == "fp32" else 0.1
    assert furthest < bound, f"the vectors differ by {furthest}"
    return furthest


if __name__ == "__main__":
    main()
