"""Engines, e.g. "local", run nodes and store their artefacts."""

from repro.graph import walk
from repro.machine.system import cores
from repro.progress import Progress
from repro.running.engines import inline, local, snakemake
from repro.running.plan import Plan
from repro.running.runner import Engine, Options, Outcome
from repro.stage_table import TRAININGS
from repro.store import Store


def fitting(plan: Plan, store: Store) -> str:
    """Return ``local`` for several small trainings on a CPU, otherwise ``inline``."""
    if plan.scale.facts.backbone is None or cores() < 2 or local.gpus():
        return "inline"
    missing = walk(plan.ends, until=lambda node: store.state(node) == "stored")
    return "local" if sum(n.stage in TRAININGS for n in missing) > 1 else "inline"


def _auto(plan: Plan, store: Store, progress: Progress, options: Options) -> Outcome:
    return ENGINES[fitting(plan, store)](plan, store, progress, options)


ENGINES: dict[str, Engine] = {
    "auto": _auto,
    "inline": inline.execute,
    "local": local.execute,
    "snakemake": snakemake.execute,
}
