"""The rules of every engine: nodes to run, reasons to skip one, and outcomes."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from repro.errors import BlockedError, ReproError, StageError, UsageError
from repro.graph import Node, walk
from repro.progress import Progress
from repro.running.discarding import Consumers, DiskRoom, discarded_stages, readers_first
from repro.running.plan import Plan
from repro.running.requirements import Machine, Obstacle
from repro.store import Store, notes, refusal, seal, underway

MADE_AGAIN = ("compare", "imported_run")


@dataclass(frozen=True)
class Options:
    """Options of a run, used by the engines that they apply to. Raises UsageError.

    Attributes:
        jobs: stages at once. None for as many as fit.
        gpus_per_stage: GPUs of each training or encoding.
        profile: Snakemake's profile. None for this machine.
        gpu: the GPU to estimate Snakemake's hours for, e.g. "h100".
        discard: artefacts to remove after use, e.g. `("vectors",)`.
        may_discard: whether messages may suggest to discard artefacts.
        max_disk: maximum bytes of the store.
        shards: jobs of Snakemake that share a stage.
    """

    jobs: int | None = None
    gpus_per_stage: int = 1
    profile: str | None = None
    gpu: str | None = None
    discard: tuple[str, ...] = ()
    may_discard: bool = True
    max_disk: int | None = None
    shards: int = 1

    def __post_init__(self):
        discarded_stages(self.discard)
        for name, number in (("jobs", self.jobs), ("shards", self.shards)):
            if number is not None and number < 1:
                raise UsageError(f"--{name} is {number}, but must be 1 or more, e.g. --{name} 4")


@dataclass
class Outcome:
    """The nodes that ran. ``failed`` and ``blocked`` map fingerprints to an error or obstacles."""

    run: list[Node] = field(default_factory=list)
    failed: dict[str, ReproError] = field(default_factory=dict)
    blocked: dict[str, list[Obstacle]] = field(default_factory=dict)

    def add(self, node: Node, result: str | Obstacle | None) -> None:
        """Record that a node was stored (None), failed (an error) or is blocked."""
        if result is None:
            self.run.append(node)
        elif isinstance(result, Obstacle):
            self.blocked[node.fingerprint] = [result]
        else:
            self.failed[node.fingerprint] = StageError(result)

    def raise_first(self) -> None:
        for error in self.failed.values():
            raise error
        for obstacles in self.blocked.values():
            raise BlockedError(obstacles[0].cause, obstacles[0].remedy)


Engine = Callable[[Plan, Store, Progress, Options], Outcome]


def prepare(ends: Iterable[Node], store: Store) -> list[Node]:
    """Write notes of all nodes. Return those to run for ``ends``, inputs first.

    Raises StoreError for a damaged artefact, but discards one of a stage in ``MADE_AGAIN``.
    """
    ends = list(ends)
    nodes = walk(ends)
    states = {node.fingerprint: _state(node, store) for node in nodes}
    store.remember(nodes)
    return walk(ends, until=lambda node: states[node.fingerprint] == "stored")


@contextlib.contextmanager
def prepared_nodes(
    ends: Iterable[Node], store: Store, progress: Progress, options: Options
) -> Iterator[tuple[list[Node], DiskRoom]]:
    """Announce the nodes to run. Yields them in order, and the disk space of the run. Raises StoreError."""
    ends = list(ends)
    stages, nodes = discarded_stages(options.discard), walk(ends)
    with contextlib.ExitStack() as stack:
        with underway.one_at_a_time(store.root):
            needed = prepare(ends, store)
            announcement = stack.enter_context(underway.announce(store.root, needed))
        stored_ids = {n.fingerprint for n in nodes if n.stage in stages and store.state(n) == "stored"}
        start = announcement.stat().st_mtime_ns
        room = DiskRoom(
            Consumers(ends, nodes, needed, stored_ids, stages),
            store,
            progress,
            announcement=announcement,
            most=options.max_disk,
            discard=options.discard,
            may_discard=options.may_discard,
            waiting=lambda: _awaited_fingerprints(store, since=start),
        )
        room.let_go()
        yield readers_first(needed, stages), room


def _awaited_fingerprints(store: Store, *, since: int) -> set[str]:
    lineage = notes.Lineage(store.root)
    noted_ids = notes.planned_after(store.root, since) - lineage.stored()
    return {fingerprint for node in noted_ids for fingerprint in lineage.inputs(node)}


def held_back(node: Node, machine: Machine, outcome: Outcome, obstacle: Obstacle | None = None) -> bool:
    """Return whether a node cannot run, e.g. for ``obstacle``, and note the reason in ``outcome``."""
    if obstacle:
        machine.obstacles[node.fingerprint] = obstacle
    errors = [outcome.failed[p.fingerprint] for p in node.parents() if p.fingerprint in outcome.failed]
    obstacles = [o for p in node.parents() for o in outcome.blocked.get(p.fingerprint, ())]
    if node.fingerprint in machine.obstacles:
        obstacles.insert(0, machine.obstacles[node.fingerprint])
    if errors:
        outcome.failed[node.fingerprint] = errors[0]
    elif obstacles:
        outcome.blocked[node.fingerprint] = list(dict.fromkeys(obstacles))
    return bool(errors or obstacles)


def _state(node: Node, store: Store) -> str:
    state = store.state(node)
    if state == "stored" and node.stage in MADE_AGAIN and seal.damage(store.path(node)):
        state = "damaged"  # of equal size
    if state != "damaged":
        return state
    if node.stage not in MADE_AGAIN:
        raise refusal(node, seal.damage(store.path(node)))
    store.discard(node)
    return "missing"
