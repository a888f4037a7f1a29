"""Passages per second of the stage ``encode`` beside sentence-transformers, same model and inputs.

Both encode on the same device, one after the other in every round, each in a process of its own; the vectors
are compared before anything is printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from peak import peak
from report import write

from repro.datasets import tiny
from repro.nn.encoder import load_text_encoder
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
    options.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        name, *paths = chosen.child
        return child(name, *map(Path, paths), chosen)
    with tempfile.TemporaryDirectory() as root:
        folder, found = Path(root), {name: [] for name in WAYS}
        model, texts = prepared(folder, chosen)
        for n in range(chosen.rounds):
            for name, told in found.items():
                told.append(measured(name, model, texts, folder / f"{name}{n}"))
        furthest = max(difference(folder, n, chosen.precision) for n in range(chosen.rounds))
    rates = {name: [one["rate"] for one in told] for name, told in found.items()}
    peaks = {name: max(one["peak"] for one in told) for name, told in found.items()}
    quotients = [a / b for a, b in zip(*rates.values(), strict=True)]
    row = {
        "model": f"{chosen.layers} layers, {chosen.hidden} wide",
        "passages": chosen.passages,
        "up to": f"{chosen.length} tokens",
        "precision": chosen.precision,
        "ours, passages a second": round(statistics.median(rates["ours"])),
        "sentence-transformers": round(statistics.median(rates["theirs"])),
        "ratio, median": round(statistics.median(quotients), 2),
        "ratios": ", ".join(f"{quotient:.2f}" for quotient in quotients),
        "peak memory, ours with its model": f"{peaks['ours'] / 1e6:.0f} MB",
        "theirs without": f"{peaks['theirs'] / 1e6:.0f} MB",
        "largest difference": f"{furthest:.0e}",
    }
    title = f"Encoding, {chosen.layers} layers of {chosen.hidden}, {chosen.precision}"
    write(title, [row], " ".join(["python", "benchmarks/encode.py", *sys.argv[1:]]))


def prepared(folder: Path, chosen: argparse.Namespace) -> tuple[Path, Path]:
    """A random model of the wanted size, and passages of mixed lengths as a corpus artefact."""
    from datasets import Dataset

    from repro.graph import Node
    from repro.running.requirements import Machine

    text, words, model, texts = (folder / name for name in ("text", "words", "model", "texts"))
    for path in (text, words, model, texts):
        path.mkdir()
    planned = Machine().resolve(Node("corpus", {"dataset": "tiny/text"}))
    corpus.run(dict(planned.params), {}, text, Progress())
    vocabulary.run({"size": 2000}, {"corpus": text}, words, Progress())
    size = {
        "hidden_size": chosen.hidden,
        "layers": chosen.layers,
        "heads": chosen.hidden // 32,
        "intermediate_size": 4 * chosen.hidden,
        "max_positions": 512,
        "dropout": 0.1,
        "seed": 1,
    }
    initialise.run(size, {"tokenizer": words}, model, Progress())
    articles = [document.text.replace("\n", " ") for document in tiny.documents("tiny/text")]
    rows = [articles[n % len(articles)][: 40 + 37 * n % 600] for n in range(chosen.passages)]
    columns = {"id": [str(n) for n in range(len(rows))], "title": [""] * len(rows), "text": rows}
    Dataset.from_dict(columns).save_to_disk(str(texts / "arrow"))
    return model, texts


def measured(name: str, model: Path, texts: Path, out: Path) -> dict[str, float]:
    """Passages a second, and bytes that it took beyond what its process had; vectors lie in ``out``."""
    command = [sys.executable, __file__, *sys.argv[1:], "--child", name, str(model), str(texts), str(out)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(told.splitlines()[-1])


def ours(model: Path, texts: Path, rows: list[str], out: Path, chosen) -> Callable[[], None]:
    """The stage, with loading its model and texts and writing its vectors; libraries are loaded before."""
    load_text_encoder(model / "model", pooling="cls")
    params = {
        "kind": "passages",
        "length": chosen.length,
        "separator": " ",
        "pooling": "cls",
        "normalize": False,
        "precision": chosen.precision,
    }
    out.mkdir()
    return lambda: encode.run(params, {"model": model, "texts": texts}, out, Progress())


def theirs(model: Path, texts: Path, rows: list[str], out: Path, chosen) -> Callable[[], None]:
    """Encoding alone, without loading or writing."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    transformer = Transformer(str(model / "model"), max_seq_length=chosen.length)
    peer = SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension(), "cls")])
    if chosen.precision != "fp32":
        peer = peer.to({"fp16": torch.float16, "bf16": torch.bfloat16}[chosen.precision])
    found = []
    out.mkdir()
    how = {"batch_size": chosen.batch, "convert_to_numpy": True, "show_progress_bar": False}

    def run() -> None:
        found.append(peer.encode(rows, **how))

    run.keep = lambda: np.save(out / "vectors.npy", found[-1])
    return run


WAYS = {"ours": ours, "theirs": theirs}


def child(name: str, model: Path, texts: Path, out: Path, chosen) -> None:
    from datasets import load_from_disk

    rows = list(load_from_disk(str(texts / "arrow"))["text"])
    run = WAYS[name](model, texts, rows, out, chosen)
    with peak() as held:
        started = time.perf_counter()
        run()
        seconds = time.perf_counter() - started
    if name == "theirs":
        run.keep()
    print(json.dumps({"rate": len(rows) / seconds, "peak": held["peak"] - held["before"]}))


def difference(folder: Path, n: int, precision: str) -> float:
    """The furthest of two vectors' components from each other, in a round."""
    found = [np.load(folder / f"{name}{n}" / "vectors.npy") for name in WAYS]
    furthest = np.abs(found[0] - found[1]).max()
    bound = 1e-5 if precision == "fp32" else 0.1
    assert furthest < bound, f"the vectors differ by {furthest}"
    return furthest


if __name__ == "__main__":
    main()
