"""The bounds of a step of pre-training on one thread of a CPU: products, memory, random numbers.

Models, texts and lengths are those of ``pretraining.py``. Time is CPU seconds, of user and system, of a
process of its own, the least of ``--steps`` steps behind three, so that other processes count for little.
Collation is left out: the trainer collates the batches of eight steps before the first. Shares of the product
are given from the slowest step to the fastest, for the operations of the version that makes fewer. The rate
of a product of the widest matrices of a layer, and that of a copy in memory, are taken in the same process.
Shares of the operations are torch's profiler's, of one more step; work on single elements, over arrays that
hardly a cache holds, counts as bounded by memory. ``--beside`` is another checkout, which takes turns; the
losses at the end have to be equal to the bit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from arguments import checkout, names_among
from beside import BEFORE, Beside
from pretraining import UNSAVED, Timed, made, pretrainings, sized
from report import write

from repro.retrieval.training.declaration import Optimisation
from repro.retrieval.training.loop import train

HERE = Path(__file__).resolve().parents[1]
WARM = 3  # steps, whose operations are counted
RANDOM, OTHERS = "random numbers", "others"
GROUPS = {
    "products": ("mm", "addmm", "bmm", "baddbmm"),
    RANDOM: ("bernoulli_", "random_", "uniform_"),
    "dropout, scaling": ("mul", "mul_", "div", "div_", "native_dropout"),
    "softmax": ("_softmax", "_softmax_backward_data", "_safe_softmax", "isneginf", "all", "where"),
    "cross-entropy": ("_log_softmax", "_log_softmax_backward_data", "nll_loss_forward", "nll_loss_backward"),
    "GELU, LayerNorm": (
        "gelu",
        "gelu_backward",
        "native_layer_norm",
        "native_layer_norm_backward",
        "tanh",
    ),
    "gradients added up": ("add", "add_", "sum", "fill_", "embedding_dense_backward", "index_add_"),
    "AdamW, clipping": ("_fused_adamw_", "linalg_vector_norm"),
    "copies": ("copy_", "cat", "clone"),
}
BY_MEMORY = tuple(group for group in GROUPS if group not in ("products", RANDOM))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--papers", type=names_among(pretrainings()), default=",".join(pretrainings()))
    options.add_argument("--texts", type=int, default=2, help="a step; the micro-batch of a large batch")
    options.add_argument("--steps", type=int, default=3, help="timed")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--beside", type=checkout, help="a checkout of another version")
    chosen = sized(options, layers=12, hidden=768)
    if chosen.child:
        return print(json.dumps(measured(chosen.child, chosen)))
    trees = {"before": chosen.beside} if chosen.beside else {}
    trees["now"] = HERE
    rows, beside, rounds = [], [], []
    for name in chosen.papers:
        told = {tree: [] for tree in trees}
        for _ in range(chosen.rounds):
            for tree, path in trees.items():
                told[tree].append(child(name, path))
        needed = min(run["flops"] for runs in told.values() for run in runs)
        rows += [row(name, tree, runs, needed, chosen) for tree, runs in told.items()]
        rounds += [{"objective": name, "code": tree, **run} for tree, runs in told.items() for run in runs]
        if chosen.beside:
            beside.append(compared(name, told["now"], told["before"]))
        ends = {json.dumps(run["losses"]) for runs in told.values() for run in runs}
        assert len(ends) == 1, f"{name}: losses differ: {ends}"
    write(
        f"A step of pre-training on one thread, {chosen.layers} layers",
        rows,
        " ".join(["python", "benchmarks/roofline.py", *sys.argv[1:]]),
        beside=beside,
        rounds=rounds,
    )


def compared(name: str, now: list[dict], before: list[dict]) -> Beside:
    taken = ([min(map(spent, run["steps"])) for run in runs] for runs in (now, before))
    return Beside(
        f"a step of pre-training, {name}",
        BEFORE,
        "CPU seconds",
        *taken,
        memory=[max(run["peak"] for run in runs) for runs in (now, before)],
    )


def spent(step: Sequence[float]) -> float:
    """CPU seconds of user and system."""
    return step[0] + step[1]


def row(name: str, tree: str, runs: list[dict], needed: float, chosen) -> dict[str, object]:
    best = min(runs, key=lambda run: min(map(spent, run["steps"])))
    user, system, pages = min(best["steps"], key=spent)
    shares = sorted(needed / spent(step) / run["product"] for run in runs for step in run["steps"])
    kinds = best["parts"]
    rate = best["flops"] / (kinds["products"] * (user + system)) / best["product"]
    bounds = [f"products {kinds['products']:.0%}, at {rate:.0%} of the product's rate"]
    bounds += [f"memory {sum(kinds[group] for group in BY_MEMORY):.0%}"]
    bounds += [f"{group} {kinds[group]:.0%}" for group in (RANDOM, OTHERS)]
    return {
        "objective": name,
        "code": tree,
        "texts a step": chosen.texts,
        "CPU s a step, user + system": f"{user:.2f} + {system:.2f}",
        "GFLOP a step": f"{best['flops'] / 1e9:.0f}",
        "product, GFLOP/s": f"{best['product'] / 1e9:.0f}",
        "copy, GB/s": f"{best['copy'] / 1e9:.1f}",
        "share of the product": " to ".join(f"{share:.0%}" for share in (shares[0], shares[-1])),
        "bounded by": "; ".join(bounds),
        "where the time goes": ", ".join(
            f"{group} {share:.1%}" for group, share in kinds.items() if share > 0.004
        ),
        "pages cleared a step": f"{pages:,}",
        "peak memory": f"{best['peak'] / 1e9:.2f} GB",
        "loss": f"{best['losses']['loss']!r}",
    }


def child(name: str, tree: Path) -> dict:
    command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:], "--child", name]
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(told.stdout.splitlines()[-1])


class Spent(Timed):
    """CPU seconds of user and system, and pages cleared, up to the end of each step; one step is profiled."""

    def __init__(self, last: int):
        super().__init__()
        self.spent: list[tuple[float, float, int]] = []
        self.last, self.profiled = last, torch.profiler.profile()

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, *, log: Path | None = None) -> Iterator[Callable]:
        yield self._note

    def _note(self, n: int = 1) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self.spent.append((usage.ru_utime, usage.ru_stime, usage.ru_minflt))
        if len(self.spent) == self.last:
            self.profiled.start()
        if len(self.spent) == self.last + 1:
            self.profiled.stop()


def measured(name: str, chosen: argparse.Namespace) -> dict[str, object]:
    node, steps = pretrainings()[name], WARM + chosen.steps
    rates = {"product": product(chosen.texts * node.params["length"], chosen.hidden), "copy": copied()}
    heard = Spent(last=steps + 1)  # it hears of the step that it begins behind, too
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        objective, rows = made(node, Path(folder) / "made", chosen)
        settings = Optimisation.of(node.params | {"precision": "fp32"}, batch_size=chosen.texts)
        settings = replace(settings, epochs=None, max_steps=steps + 1)
        facts = train(objective, rows, settings, out=Path(folder), progress=heard, execution=UNSAVED)
    pairs = zip(heard.spent[WARM:steps], heard.spent[WARM + 1 : steps + 1], strict=True)
    taken = [tuple(after - before for before, after in zip(*pair, strict=True)) for pair in pairs]
    return rates | {
        "steps": taken,
        "flops": facts["flops"] / (steps + 1),
        "parts": parts(heard.profiled),
        "peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "losses": facts["losses"],
    }


def parts(profiled: torch.profiler.profile) -> dict[str, float]:
    """The share of each group of operations in the time of a step, and the others'."""
    times = {event.key.removeprefix("aten::"): event.self_cpu_time_total for event in profiled.key_averages()}
    whole = sum(times.values())
    found = {group: sum(times.get(name, 0) for name in names) / whole for group, names in GROUPS.items()}
    return found | {OTHERS: 1 - sum(found.values())}


def product(rows: int, hidden: int) -> float:
    """Operations a CPU second of (rows, hidden) by (hidden, 4 hidden), the best of many."""
    left, right = torch.randn(rows, hidden), torch.randn(hidden, 4 * hidden)
    return 2 * rows * hidden * 4 * hidden / least(lambda: left @ right)


def copied() -> float:
    """Bytes read and written a CPU second as a large array is copied, the best of many."""
    source, target = torch.ones(32 << 20), torch.ones(32 << 20)
    return 2 * source.nbytes / least(lambda: target.copy_(source))


def least(work: Callable[[], object]) -> float:
    taken = []
    while sum(taken) < 1.0:
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


if __name__ == "__main__":
    main()
