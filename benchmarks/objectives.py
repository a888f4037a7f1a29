"""Losses that keep little in memory beside their naive forms: peak, time, value and gradient.

Each form runs in a process of its own. Its peak is what the process needs beyond its inputs while it computes
value and gradients, as the system counts it; a first run on a few rows has loaded and tuned what it calls.
Buffers above 1 MB go back to the system when they are freed: glibc would keep those below 32 MB.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from measuring import Beside, child
from report import write

from papers.cpdae.distribution_contrast import jensen_shannon
from repro.retrieval.nn import masked_tokens, view_encoder
from repro.retrieval.nn.encoder import span_means
from repro.retrieval.nn.masked_tokens import IGNORED, token_cross_entropy, vocabulary_loss

V, H, L = 30522, 256, 128
GIVING_BACK = {"MALLOC_MMAP_THRESHOLD_": "1000000"}
CHUNK = 128  # positions whose logits are held at once
FURTHEST = 1e-5  # that the two forms may be apart, relative to the naive one
Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class Case:
    """``inputs(n)``: what gradients are wanted of, and the rest; the two forms take both."""

    sizes: str
    count: int
    inputs: Callable[[int], tuple[Tensors, Tensors]]
    lean: Callable[..., torch.Tensor]
    naive: Callable[..., torch.Tensor]


def texts(count: int) -> tuple[Tensors, Tensors]:
    """Hidden states, an output layer, and labels at 15 % of the positions."""
    labels = torch.randint(V, (count, L))
    labels[torch.rand(count, L) > 0.15] = IGNORED
    return [torch.randn(count, L, H), torch.randn(V, H) / 16], [labels]


def labelled_texts(count: int) -> tuple[Tensors, Tensors]:
    """The same with a label everywhere."""
    return [torch.randn(count, L, H), torch.randn(V, H) / 16], [torch.randint(V, (count, L))]


def labelled_only(hidden, weight, labels):
    kept = labels != IGNORED
    return token_cross_entropy(hidden[kept] @ weight.T, labels[kept], reduction="mean")


def every_position(hidden, weight, labels):
    return token_cross_entropy(hidden @ weight.T, labels, reduction="mean")


def in_chunks(hidden, weight, labels):
    masked_tokens.CHUNK = CHUNK
    rows = hidden.flatten(0, 1), lambda rows: rows @ weight.T, labels.flatten()
    return vocabulary_loss(*rows, reduction="mean")


def in_chunks_twice(hidden, weight, labels):
    masked_tokens.is_scarce = lambda: True
    return in_chunks(hidden, weight, labels)


def pooled_lean(hidden, weight, labels):
    view_encoder.POSITIONS = CHUNK
    keep = torch.ones(hidden.shape[:2], dtype=torch.bool)
    return view_encoder.max_log_saturated(hidden, lambda rows: rows @ weight.T, keep).square().mean()


def pooled_naive(hidden, weight, labels):
    return torch.log1p(torch.relu(hidden @ weight.T)).max(dim=1).values.square().mean()


def distributions(count: int) -> tuple[Tensors, Tensors]:
    return [torch.randn(count, V).softmax(dim=1)], []


def divergences(p):
    return jensen_shannon(p).square().mean()


def divergences_naive(p):
    middle = (p[:, None] + p[None]) / 2  # (N, N, V)
    halves = (p[:, None] * (p[:, None] / middle).log()).sum(dim=2)
    return ((halves + halves.T) / 2).square().mean()


def flops_naive(vectors):
    return ((vectors.abs().sum(dim=0) / len(vectors)) ** 2).sum()


def with_spans(count: int) -> tuple[Tensors, Tensors]:
    first = torch.randint(0, 448, (count, 40, 1))
    return [torch.randn(count, 512, H)], [torch.cat((first, first + torch.randint(1, 64, first.shape)), 2)]


def means_in_loops(hidden, spans):
    found = [[row[a:b].mean(dim=0) for a, b in own.tolist()] for row, own in zip(hidden, spans, strict=True)]
    return torch.stack([torch.stack(own) for own in found]).square().mean()


CASES = {
    "MLM at labelled positions": Case("8,192 positions", 64, texts, labelled_only, every_position),
    "token loss at all positions, chunked": Case(
        "8,192 positions", 64, labelled_texts, in_chunks, every_position
    ),
    "token loss at all positions, chunked, memory scarce": Case(
        "8,192 positions", 64, labelled_texts, in_chunks_twice, every_position
    ),
    "SPLADE max pooling": Case("64 texts of 128", 64, texts, pooled_lean, pooled_naive),
    "Jensen-Shannon of all pairs": Case(
        "32 distributions", 32, distributions, divergences, divergences_naive
    ),
    "FLOPS": Case("512 vectors", 512, lambda n: ([torch.rand(n, V)], []), view_encoder.flops, flops_naive),
    "span means": Case(
        "32 texts of 512, 40 spans",
        32,
        with_spans,
        lambda h, s: span_means(h, s).square().mean(),
        means_in_loops,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="of the sizes in the table")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return computed(*asked.child[:2], Path(asked.child[2]), asked.share)
    rows, beside = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            turns = [
                {form: measured(name, form, Path(folder), asked.share) for form in ("lean", "naive")}
                for _ in range(asked.rounds)
            ]
            rows.append(row(name, *turns[0]["lean"], *turns[0]["naive"]))
            lean, naive = ([turn[form][0]["seconds"] for turn in turns] for form in ("lean", "naive"))
            memory = [turns[0][form][0]["peak"] for form in ("lean", "naive")]
            beside.append(Beside(name, "its naive form", "CPU seconds", lean, naive, memory))
        write("Objectives: lean beside naive", rows, beside=beside)


def row(name: str, lean: dict, found: np.lib.npyio.NpzFile, naive: dict, expected) -> dict[str, str]:
    """Megabytes, seconds and the largest relative differences; the benchmark ends where these are large."""
    apart = {key: abs(found[key] - expected[key]).max() / abs(expected[key]).max() for key in expected.files}
    if not all(difference <= FURTHEST for difference in apart.values()):
        told = ", ".join(f"{key} by {difference:.0e}" for key, difference in apart.items())
        sys.exit(f"{name}: the lean form differs from the naive one ({told}); correct it and run this again")
    return {
        "objective": f"{name} ({CASES[name].sizes})",
        "lean peak": f"{lean['peak'] / 1e6:.0f} MB",
        "naive peak": f"{naive['peak'] / 1e6:.0f} MB",
        "lean / naive": f"{lean['peak'] / naive['peak']:.2f}",
        "lean in all / inputs and gradients": f"{(lean['peak'] + lean['inputs']) / lean['kept']:.2f}",
        "lean, CPU": f"{lean['seconds']:.2f} s",
        "naive, CPU": f"{naive['seconds']:.2f} s",
        "value differs by": f"{apart.pop('value'):.0e}",
        "gradient differs by": f"{max(apart.values()):.0e}",
    }


def measured(name: str, form: str, folder: Path, share: float) -> tuple[dict, np.lib.npyio.NpzFile]:
    out = folder / f"{form}.npz"
    words = ["--share", str(share), "--child", name, form, str(out)]
    return child(__file__, words, GIVING_BACK), np.load(out)


def computed(name: str, form: str, out: Path, share: float) -> None:
    """Value, gradients, and what they took."""
    torch.set_num_threads(1)
    global V
    case, V = CASES[name], int(V * share)
    compute = getattr(case, form)
    few, others = case.inputs(2)
    compute(*(x.requires_grad_() for x in few), *others).backward()
    torch.manual_seed(0)
    wanted, others = case.inputs(max(2, int(case.count * share)))
    given = sum(x.nbytes for x in (*wanted, *others))
    before, started = reset_peak(), time.process_time()
    value = compute(*(x.requires_grad_() for x in wanted), *others)
    value.backward()
    seconds, peak = time.process_time() - started, memory("VmHWM") - before
    kept = given + sum(x.grad.nbytes for x in wanted)
    np.savez(out, value=value.item(), **{f"of {n}": x.grad.numpy() for n, x in enumerate(wanted)})
    print(json.dumps({"peak": peak, "seconds": seconds, "inputs": given, "kept": kept}))


def reset_peak() -> int:
    """Bytes that the process holds now, from which its peak is counted anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(kind: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


if __name__ == "__main__":
    main()
