"""A step of fine-tuning with in-batch negatives beside sentence-transformers, same model and texts.

Ours is ``BiEncoderContrastive``; theirs ``MultipleNegativesRankingLoss`` with cosines and scale 20. A
step is tokenising, forward and backward, without dropout, which would fall otherwise in either; losses and
gradients are compared before anything is told. They take turns in every round, each in a process of its own,
whose fastest step counts. Ours a second time encodes the batch with padding,
as REPRO_PADDING_FREE=0 does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from encode import invented, prepared
from measuring import Beside, anonymous, child, peak
from report import write


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--queries", type=int, default=32)
    options.add_argument("--negatives", type=int, default=1, help="hard ones, a query")
    options.add_argument("--hidden", type=int, default=256)
    options.add_argument("--layers", type=int, default=4)
    options.add_argument("--length", type=int, default=128)
    options.add_argument("--steps", type=int, default=3)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        name, folder, out = chosen.child
        return told_by_child(name, Path(folder), Path(out), chosen)
    chosen.passages = chosen.queries * (2 + chosen.negatives)
    with tempfile.TemporaryDirectory() as folder:
        prepared(invented(chosen.passages), Path(folder), chosen)
        turns = [{name: measured(name, Path(folder)) for name in STEPS} for _ in range(chosen.rounds)]
    first = {name: facts for name, (facts, _) in turns[0].items()}
    seconds = {name: [turn[name][0]["seconds"] for turn in turns] for name in STEPS}
    furthest = {name: difference(turns[0][name][1], turns[0][PEER][1]) for name in STEPS}
    assert max(furthest.values()) < 1e-9, f"gradients differ by {furthest}"
    beside = {name: held_beside(name, seconds, first) for name in STEPS}
    rows = [
        {
            "step": name,
            "model": f"{chosen.layers} layers, {chosen.hidden} wide",
            "batch": f"{chosen.queries} queries, {1 + chosen.negatives} passages each",
            "CPU seconds, median": f"{statistics.median(seconds[name]):.3f}",
            "time over theirs": f"{beside[name].ratio:.2f}",
            "peak memory": f"{facts['peak'] / 1e6:.0f} MB",
            "loss": f"{facts['loss']:.6f}",
            "gradients differ by, in float64": "" if name == PEER else f"{furthest[name]:.0e}",
        }
        for name, facts in first.items()
    ]
    write("A step of fine-tuning", rows, beside=[beside[name] for name in STEPS if name != PEER])


def held_beside(name: str, seconds: dict[str, list[float]], facts: dict[str, dict]) -> Beside:
    path = name.replace("ours", "a step of fine-tuning")
    memory = facts[name]["peak"], facts[PEER]["peak"]
    return Beside(path, PEER, "CPU seconds", seconds[name], seconds[PEER], memory=memory)


def padded(folder: Path, texts: list[str], chosen) -> Callable[[], tuple[torch.Tensor, torch.nn.Module]]:
    from transformers import AutoModel, AutoTokenizer

    from repro.retrieval.nn.bi_encoder import BiEncoderContrastive

    model = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    objective = BiEncoderContrastive(
        model,
        AutoTokenizer.from_pretrained(folder),
        temperature=1 / 20,
        similarity="cosine",
        negatives="in-batch",
        projector="none",
        projector_start="new",
        pooling="cls",
        query_length=chosen.length,
        passage_length=chosen.length,
        separator=" ",
        start=folder,
    )
    width, count = 1 + chosen.negatives, chosen.queries
    examples = [
        {
            "query": texts[n],
            "passages": [{"title": "", "text": texts[count * (1 + k) + n]} for k in range(width)],
        }
        for n in range(count)
    ]
    return lambda: (objective(objective.collate(examples))["contrastive"], model)


def theirs(folder: Path, texts: list[str], chosen) -> Callable[[], tuple[torch.Tensor, torch.nn.Module]]:
    from sentence_transformers import SentenceTransformer, util
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from sentence_transformers.models import Pooling, Transformer

    transformer = Transformer(str(folder), max_seq_length=chosen.length)
    pooling = Pooling(transformer.get_embedding_dimension(), "cls")
    model = SentenceTransformer(modules=[transformer, pooling], device="cpu").eval()
    loss = MultipleNegativesRankingLoss(model, scale=20.0, similarity_fct=util.cos_sim)
    count = chosen.queries
    columns = [texts[count * k : count * (k + 1)] for k in range(2 + chosen.negatives)]
    return lambda: (loss([dict(model.tokenize(column)) for column in columns], None), transformer.auto_model)


def ours(folder: Path, texts: list[str], chosen) -> Callable[[], tuple[torch.Tensor, torch.nn.Module]]:
    from repro.retrieval.nn.padding_free import padding_free, trains_faster

    step = padded(folder, texts, chosen)
    _, model = step()

    def packed() -> tuple[torch.Tensor, torch.nn.Module]:
        with padding_free(model, trains_faster(model, "fp32")):
            return step()

    return packed


PEER = "sentence-transformers"
STEPS = {"ours": ours, "ours, padded": padded, PEER: theirs}


def difference(gradients: np.lib.npyio.NpzFile, expected: np.lib.npyio.NpzFile) -> float:
    """The furthest of two gradients' components from each other, over the largest component."""
    largest = max(np.abs(expected[n]).max() for n in expected.files)
    return max(np.abs(gradients[n] - expected[n]).max() for n in expected.files) / largest


def measured(name: str, folder: Path) -> tuple[dict, np.lib.npyio.NpzFile]:
    out = folder / f"{name}.npz"
    words = [*sys.argv[1:], "--child", name, str(folder), str(out)]
    return child(__file__, words), np.load(out)


def told_by_child(name: str, folder: Path, out: Path, chosen) -> None:
    """CPU seconds of the fastest step after one that warms up, and its peak beyond what the model takes."""
    from datasets import load_from_disk

    texts = list(load_from_disk(str(folder / "texts/arrow"))["text"])
    step, taken = STEPS[name](folder / "model/model", texts, chosen), []
    before = anonymous()
    for _ in range(1 + chosen.steps):
        with peak() as grown:
            started = time.process_time()
            loss, model = step()
            loss.backward()
            taken.append(time.process_time() - started)
        model.zero_grad()
    facts = {"seconds": min(taken[1:]), "peak": grown["peak"] - before, "loss": loss.item()}
    gradients = exact(step)
    np.savez(out, **{name: gradient for name, gradient in gradients.items() if gradient.any()})
    print(json.dumps(facts))


def exact(step: Callable[[], tuple[torch.Tensor, torch.nn.Module]]) -> dict[str, np.ndarray]:
    """The gradients in float64: vectors of random weights are so alike that float32 would blur them."""
    _, model = step()
    model.double()
    step()[0].backward()
    found = {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}
    model.float().zero_grad()
    return found


if __name__ == "__main__":
    main()
