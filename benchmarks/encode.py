"""Passages per second of the stage ``encode`` beside sentence-transformers, same model and inputs.

Both encode on the same device, one after the other in every round; the vectors are compared before anything
is printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from peak import peak
from report import write

from repro.datasets import tiny
from repro.progress import Progress
from repro.stages import corpus, encode, initialise, vocabulary


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--passages", type=int, default=1000)
    options.add_argument("--hidden", type=int, default=384)
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--length", type=int, default=128)
    options.add_argument("--precision", default="fp32", help="fp16 and bf16 need a GPU")
    options.add_argument("--batch", type=int, default=32, help="the peer's batch size; 32 is its default")
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, texts = prepared(Path(folder), chosen)
        runs = [_once(model, texts, chosen, Path(folder) / str(n)) for n in range(chosen.rounds)]
    ours, peers, quotients, differences, own, others = zip(*runs, strict=True)
    row = {
        "model": f"{chosen.layers} layers, {chosen.hidden} wide", "passages": chosen.passages,
        "up to": f"{chosen.length} tokens", "precision": chosen.precision,
        "ours, passages a second": round(statistics.median(ours)),
        "sentence-transformers": round(statistics.median(peers)),
        "ratio, median": round(statistics.median(quotients), 2),
        "ratios": ", ".join(f"{quotient:.2f}" for quotient in quotients),
        "peak memory, ours": f"{own[0] / 1e6:.0f} MB", "theirs": f"{others[0] / 1e6:.0f} MB",
        "largest difference": f"{max(differences):.0e}",
    }  # fmt: skip
    title = f"Encoding, {chosen.layers} layers of {chosen.hidden}, {chosen.precision}"
    write(title, [row], " ".join(["python", "benchmarks/encode.py", *sys.argv[1:]]))


def prepared(folder: Path, chosen: argparse.Namespace) -> tuple[Path, Path]:
    """A random model of the wanted size, and passages of mixed lengths as a corpus artefact."""
    from datasets import Dataset

    from repro.datasets.sources import locate

    text, words, model, texts = (folder / name for name in ("text", "words", "model", "texts"))
    for path in (text, words, model, texts):
        path.mkdir()
    source = locate("tiny/text", "documents", None).to_json()
    corpus.run({"dataset": "tiny/text", "source": source}, {}, text, Progress())
    vocabulary.run({"size": 2000}, {"corpus": text}, words, Progress())
    size = {
        "hidden_size": chosen.hidden, "layers": chosen.layers, "heads": chosen.hidden // 32,
        "intermediate_size": 4 * chosen.hidden, "max_positions": 512, "dropout": 0.1, "seed": 1,
    }  # fmt: skip
    initialise.run(size, {"tokenizer": words}, model, Progress())
    articles = [document.text.replace("\n", " ") for document in tiny.documents("tiny/text")]
    rows = [articles[n % len(articles)][: 40 + 37 * n % 600] for n in range(chosen.passages)]
    columns = {"id": [str(n) for n in range(len(rows))], "title": [""] * len(rows), "text": rows}
    Dataset.from_dict(columns).save_to_disk(str(texts / "arrow"))
    return model, texts


def _once(model: Path, texts: Path, chosen, out: Path) -> tuple[float, ...]:
    """Passages a second of both, their quotient, by how much the vectors differ, and bytes that each took on
    top of what there was.

    Ours is timed as a stage, with loading its model and texts and writing its vectors; the peer without.
    """
    from datasets import load_from_disk
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    out.mkdir()
    rows = list(load_from_disk(str(texts / "arrow"))["text"])
    params = {
        "kind": "passages", "length": chosen.length, "separator": " ", "pooling": "cls", "normalize": False,
        "precision": chosen.precision,
    }  # fmt: skip
    started = time.perf_counter()
    with peak() as own:
        encode.run(params, {"model": model, "texts": texts}, out, Progress())
    ours = len(rows) / (time.perf_counter() - started)
    transformer = Transformer(str(model / "model"), max_seq_length=chosen.length)
    peer = SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension(), "cls")])
    if chosen.precision != "fp32":
        peer = peer.to({"fp16": torch.float16, "bf16": torch.bfloat16}[chosen.precision])
    started = time.perf_counter()
    with peak() as peers:
        vectors = peer.encode(rows, batch_size=chosen.batch, convert_to_numpy=True, show_progress_bar=False)
    theirs = len(rows) / (time.perf_counter() - started)
    difference = np.abs(np.load(out / "vectors.npy") - vectors).max()
    bound = 1e-5 if chosen.precision == "fp32" else 0.1
    assert difference < bound, f"the vectors differ by {difference}"
    taken = [held["peak"] - held["before"] for held in (own, peers)]
    return ours, theirs, ours / theirs, difference, *taken


if __name__ == "__main__":
    main()
