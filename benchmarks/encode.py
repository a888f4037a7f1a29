"""Passages per second of the stage ``encode`` beside sentence-transformers, same model and inputs.

Both encode in float32 on the same device; the vectors are compared before anything is printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from repro.datasets import tiny
from repro.progress import Progress
from repro.stages import corpus, encode, initialise, vocabulary


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--passages", type=int, default=2000)
    options.add_argument("--hidden", type=int, default=128)
    options.add_argument("--layers", type=int, default=4)
    options.add_argument("--length", type=int, default=128)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, texts = _prepared(Path(folder), chosen)
        ratios = [_once(model, texts, chosen.length, Path(folder) / str(n)) for n in range(chosen.rounds)]
    ours, peers, quotients = zip(*ratios, strict=True)
    print(json.dumps({
        "passages": chosen.passages, "hidden": chosen.hidden, "layers": chosen.layers,
        "length": chosen.length,
        "ours_per_second": round(statistics.median(ours)), "peer_per_second": round(statistics.median(peers)),
        "ratio": round(statistics.median(quotients), 2), "ratios": [round(q, 2) for q in quotients],
    }))  # fmt: skip


def _prepared(folder: Path, chosen: argparse.Namespace) -> tuple[Path, Path]:
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


def _once(model: Path, texts: Path, length: int, out: Path) -> tuple[float, float, float]:
    from datasets import load_from_disk
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    out.mkdir()
    rows = list(load_from_disk(str(texts / "arrow"))["text"])
    params = {
        "kind": "passages", "length": length, "separator": " ", "pooling": "cls", "normalize": False,
        "precision": "fp32",
    }  # fmt: skip
    started = time.perf_counter()
    encode.run(params, {"model": model, "texts": texts}, out, Progress())
    ours = len(rows) / (time.perf_counter() - started)
    transformer = Transformer(str(model / "model"), max_seq_length=length)
    peer = SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension(), "cls")])
    started = time.perf_counter()
    vectors = peer.encode(rows, batch_size=32, convert_to_numpy=True, show_progress_bar=False)
    theirs = len(rows) / (time.perf_counter() - started)
    difference = np.abs(np.load(out / "vectors.npy") - vectors).max()
    assert difference < 1e-4, f"the vectors differ by {difference}"
    return ours, theirs, ours / theirs


if __name__ == "__main__":
    main()
