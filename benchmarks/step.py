"""The cost of a training's step beside its mathematics: small models, on a CPU.

Trainings of scale `smoke` (2 layers of 64), each with ``--steps`` steps instead of two, on inputs made anew.
The mathematics of a step are its forward and backward pass, clipping and AdamW, by the clock of the same run.
All that the stage takes beyond them after its first forward pass is overhead: fetching and collating, random
numbers, counting of operations, the schedule, the log, progress, checkpoints, the model that it writes. The
first steps, whose operations are counted, are taken to have the mathematics of the others.

Beside the stage stands the bare training: the same mathematics from the same start over batches that were
collated before. Both end with the same weights, to the bit, or there is no table, where torch's generator is
used by neither. CPU seconds of a process of its own, the least overhead of ``--rounds``. *Start* is
wall-clock time from the stage's beginning to its first forward pass, in a process that has run a training of
one step before, so that libraries and modules are loaded. ``--beside`` is another checkout, ``--pinned`` the
same one with the kernels of every processor with AVX2 (repro/machine/kernels.py); they take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path

from measuring import BEFORE, HERE, Beside, checkout, child, names_among

from repro.machine import kernels

PINNED = "pinned kernels"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
COUNTED = 3  # steps whose operations are counted
TRAININGS = ("mlm", "costa", "cpdae", "contextual-autoencoder", "simlm", "contrastive", "cross-encoder")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--trainings", type=names_among(TRAININGS), default=",".join(TRAININGS), help="names of objectives"
    )
    options.add_argument("--steps", type=int, default=250)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--beside", type=checkout, help="a checkout of another version")
    options.add_argument("--pinned", action="store_true", help="with pinned kernels, too")
    options.add_argument("--child", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        return print(json.dumps(measured(json.loads(chosen.child))))
    trees = {"before": (chosen.beside, {})} if chosen.beside else {}
    trees["now"] = (HERE, {})
    if chosen.pinned:
        trees[PINNED] = (HERE, kernels.pins())
    rows, runs_by_name = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, task in tasks(Path(folder) / "store", chosen.trainings).items():
            task["params"] |= {"max_steps": chosen.steps, "epochs": None}
            told = {tree: [] for tree in trees}
            words = ["--child", json.dumps(task)]
            for _ in range(chosen.rounds):  # by turns
                for tree, (path, variables) in trees.items():
                    told[tree].append(child(__file__, words, ONE_THREAD | variables, path))
            rows += [row(name, tree, runs, chosen) for tree, runs in told.items()]
            runs_by_name[name] = told
    from report import write

    beside = [
        Beside(
            f"overhead of a step, {name}",
            BEFORE,
            "CPU ms",
            *by_tree(told, ("now", "before"), "overhead", chosen),
        )
        for name, told in runs_by_name.items()
        if chosen.beside
    ]
    beside += [
        Beside(
            f"a step, {name}, {PINNED}",
            "as the processor has them",
            "CPU ms",
            *by_tree(told, (PINNED, "now"), "mathematics", chosen),
        )
        for name, told in runs_by_name.items()
        if chosen.pinned
    ]
    write("Overhead of a step", rows, beside=beside)


def by_tree(runs: dict[str, list[dict]], trees: tuple[str, str], of: str, chosen) -> list[list[float]]:
    """CPU milliseconds of a step's ``overhead`` or ``mathematics``, of two trees, one for each round."""
    return [[run[of] / chosen.steps * 1e3 for run in runs[tree]] for tree in trees]


def row(name: str, tree: str, runs: list[dict], chosen) -> dict[str, object]:
    digests = {run["weights"] for run in runs} | {run["bare weights"] for run in runs if run["tied"]}
    assert len(digests) == 1, f"{name}: the weights of {tree} are not those of the bare steps"
    over = sorted(run["overhead"] / chosen.steps * 1e3 for run in runs)
    least = min(run["mathematics"] for run in runs) / chosen.steps * 1e3
    starts = sorted(run["start"] for run in runs)
    return {
        "objective": name,
        "code": tree,
        "mathematics of a step, CPU ms": f"{least:.2f}",
        "overhead": f"{over[0]:.2f}",
        "of each run": ", ".join(f"{value:.2f}" for value in over),
        "start, s": f"{starts[0]:.2f} to {starts[-1]:.2f}",
        "weights": next(iter(digests))[:8],
    }


def tasks(store_at: Path, names: list[str]) -> dict[str, dict]:
    """Objective -> stage, parameters and the folders of its inputs, which are made here."""
    from repro.graph import walk
    from repro.manifest.cells import cells_of, is_measured
    from repro.manifest.papers import papers
    from repro.progress import Progress
    from repro.running.engines.inline import ensure
    from repro.running.plan import plan
    from repro.running.requirements import Machine
    from repro.running.scale import scale
    from repro.store import Store

    machine, store, nodes = Machine(), Store(store_at), {}
    for source in papers().values():
        if nodes.keys() >= set(names):
            break
        cells = [c for c in cells_of(source, source.manifest.tables) if c.recipe and is_measured(c)]
        planned = plan(cells, scale=scale("smoke"), machine=machine)
        for node in (n for m in planned.measurements for n in walk(m.parts)):
            if node.stage in ("pretrain", "finetune"):
                nodes.setdefault(node.params["objective"]["name"], node)
    made = {}
    for name in names:
        node = nodes[name]
        ensure(node.parents(), store, Progress(), machine=machine)
        paths = {key: str(store.path(value)) for key, value in node.inputs.items()}
        made[name] = {"stage": node.stage, "params": dict(node.params), "inputs": paths}
    return made


def measured(task: dict) -> dict[str, object]:
    """The stage and its bare steps, each once, after a training of one step."""
    from importlib import import_module

    stage, params = import_module(f"repro.retrieval.stages.{task['stage']}"), task["params"]
    inputs = {name: Path(path) for name, path in task["inputs"].items()}
    with tempfile.TemporaryDirectory() as folder:
        for name, of in (("warm", params | {"max_steps": 1}), ("stage", params)):
            (out := Path(folder) / name).mkdir()
            with mathematics() as taken, first_forward() as begun:
                started = time.perf_counter()
                run(stage, of, inputs, out)
                cpu = time.process_time() - begun["cpu"]
        weights = digest(out)
        (out := Path(folder) / "bare").mkdir()
        with bare_steps() as bare:
            run(stage, params, inputs, out)
        usual = sum(taken[COUNTED:]) / len(taken[COUNTED:]) * len(taken)
        return {
            "start": begun["wall"] - started,
            "overhead": cpu - usual,
            "mathematics": usual,
            "weights": weights,
            "bare weights": digest(out),
            "tied": bare["tied"],
        }


def run(stage, params: dict, inputs: dict[str, Path], out: Path) -> None:
    from repro.progress import Progress

    with contextlib.redirect_stdout(sys.stderr):
        stage.run(dict(params), dict(inputs), out, Progress())


def digest(out: Path) -> str:
    return hashlib.sha256((out / "model/model.safetensors").read_bytes()).hexdigest()


@contextlib.contextmanager
def replaced(module, name: str, value):
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield before
    finally:
        setattr(module, name, before)


@contextlib.contextmanager
def first_forward():
    """The clocks, as the objective built meanwhile is first called."""
    from repro.retrieval.training import objective

    clocks: dict[str, float] = {}
    build = objective.build

    def watched(*arguments, **named):
        made = build(*arguments, **named)
        forward = made.forward

        def first(*given, **more):
            made.forward = forward
            clocks.update(wall=time.perf_counter(), cpu=time.process_time())
            return forward(*given, **more)

        made.forward = first
        return made

    with replaced(objective, "build", watched):
        yield clocks


@contextlib.contextmanager
def mathematics():
    """CPU seconds of each step's forward and backward pass, clipping and AdamW."""
    import torch

    from repro.retrieval.training import objective

    taken: list[float] = []

    def timed(work):
        def watched(*given, **more):
            started = time.process_time()
            try:
                return work(*given, **more)
            finally:
                taken[-1] += time.process_time() - started

        return watched

    build = objective.build

    def built(*given, **more):
        made = build(*given, **more)
        forward = timed(made.forward)

        def first(*batch):
            taken.append(0.0)
            return forward(*batch)

        made.forward = first
        return made

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(objective, "build", built))
        places = (torch.Tensor, "backward"), (torch.nn.utils, "clip_grad_norm_"), (torch.optim.AdamW, "step")
        for owner, name in places:
            stack.enter_context(replaced(owner, name, timed(getattr(owner, name))))
        yield taken


@contextlib.contextmanager
def bare_steps():
    """Trainings made here are bare steps over batches collated before."""
    from repro.retrieval.training import loop

    facts: dict[str, object] = {}

    def train(objective, examples, optimisation, *, out, **_):
        facts.update(bare(objective, examples, optimisation))
        return {}

    with replaced(loop, "train", train):
        yield facts


def bare(objective, examples, optimisation) -> dict[str, object]:
    import torch

    from repro.retrieval.nn.padding_free import padding_free, trains_faster
    from repro.retrieval.nn.precision import threads_for
    from repro.retrieval.training.batch_order import BatchOrder
    from repro.retrieval.training.optimizer import rate_schedule

    steps = optimisation.steps(len(examples))
    how = {"batch_size": optimisation.batch_size, "steps": steps, "seed": optimisation.seed}
    batches = [
        objective.collate(examples.__getitems__(places)) for places in BatchOrder(len(examples), **how)
    ]
    parameters = [p for p in objective.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(
        groups(objective, optimisation.weight_decay), lr=optimisation.learning_rate, fused=True
    )
    schedule = rate_schedule(optimiser, optimisation, steps=steps)
    objective.train()
    before = torch.get_rng_state()
    faster = trains_faster(objective, optimisation.precision)
    with threads_for(objective), padding_free(objective, faster):
        for batch in batches:
            sum(objective(batch).values()).backward()
            torch.nn.utils.clip_grad_norm_(parameters, optimisation.max_grad_norm)
            optimiser.step()
            optimiser.zero_grad()
            schedule.step()
    return {"tied": bool(torch.equal(before, torch.get_rng_state()))}


def groups(objective, weight_decay: float) -> list[dict]:
    """Biases and LayerNorms are not decayed."""
    named = [(n, p) for n, p in objective.named_parameters() if p.requires_grad]
    kept = [n.endswith("bias") or "norm" in n.lower() for n, _ in named]
    return [
        {"params": [p for (_, p), k in zip(named, kept, strict=True) if not k], "weight_decay": weight_decay},
        {"params": [p for (_, p), k in zip(named, kept, strict=True) if k], "weight_decay": 0.0},
    ]


if __name__ == "__main__":
    main()
