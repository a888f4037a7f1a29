"""The rules of every engine: nodes to run, reasons to skip a node, and outcomes."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from repro.errors import BlockedError, ReproError, StoreError, UsageError
from repro.graph import Node, walk
from repro.progress import Progress
from repro.running.discarding import Consumers, DiskRoom, discarded_stages, readers_first
from repro.running.plan import Plan
from repro.running.requirements import Machine, Obstacle
from repro.store import Store, notes, underway
from repro.store.notes import Lineage
from repro.store.seal import damage

# What these make costs little, and what they are made from is at hand when they are asked for.
MADE_AGAIN = ("compare", "imported_run")


@dataclass(frozen=True)
class Options:
    """Options of a run. Each engine uses those that apply to it.

    Attributes:
        jobs: at once, for the engines local and snakemake. None for as many as fit, or as a profile
            sets.
        gpus_per_stage: of a training or an encoding, with one process each, for the same engines.
        profile: Snakemake's, a folder or a name. None for jobs on this machine.
        gpu: the GPU that Snakemake's hours are for, e.g. "h100". None for this machine's measurement.
        discard: kinds of artefacts to remove when the plan no longer reads them.
        may_discard: whether the user can request more kinds.
        max_disk: maximum bytes of the store. None for the limit of the file system.
        shards: jobs of Snakemake that share the blocks of one stage, e.g. an encoding or a search.

    Raises UsageError if the number of jobs or shards is below 1, or for an unknown kind.
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
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs is {self.jobs}; give the number of stages to run at once, 1 or more")
        if self.shards < 1:
            raise UsageError(f"--shards is {self.shards}; give 1 or more")


@dataclass
class Outcome:
    """The results of the nodes that were to run.

    Attributes:
        run: nodes run by this invocation.
        failed: fingerprint -> error, for nodes that failed and those below them.
        blocked: fingerprint -> obstacles, for nodes that were not tried.
    """

    run: list[Node] = field(default_factory=list)
    failed: dict[str, ReproError] = field(default_factory=dict)
    blocked: dict[str, list[Obstacle]] = field(default_factory=dict)

    def raise_first(self) -> None:
        """Raise the first failure, else the first obstacle, if there is one."""
        for error in self.failed.values():
            raise error
        for obstacles in self.blocked.values():
            raise BlockedError(obstacles[0].cause, obstacles[0].remedy)


# Carries out a plan, for as long as it takes.
Engine = Callable[[Plan, Store, Progress, Options], Outcome]


def prepare(ends: Iterable[Node], store: Store) -> list[Node]:
    """Return the nodes to run so that the store holds ``ends``, inputs first. Register all nodes below
    ``ends`` in it.

    Stored nodes, and nodes needed only by them, are not run. All are checked for damage: a damaged
    artefact is refused, or discarded if its stage is one of ``MADE_AGAIN``.

    Raises:
        StoreError: an artefact is damaged and was not discarded.
    """
    ends = list(ends)
    nodes = walk(ends)
    states = {node.fingerprint: _state(node, store) for node in nodes}
    store.remember(nodes)  # stored ones too: a child reads the notes of its inputs
    return walk(ends, until=lambda node: states[node.fingerprint] == "stored")


@contextlib.contextmanager
def prepared_nodes(
    ends: Iterable[Node], store: Store, progress: Progress, options: Options
) -> Iterator[tuple[list[Node], DiskRoom]]:
    """Announce and yield the nodes to run, with the available disk space. Raises StoreError."""
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
    """Return the inputs of nodes that others, e.g. `repro plan --remember`, noted after a time in ns."""
    lineage = Lineage(store.root)
    noted_ids = notes.asked_after(store.root, since) - lineage.stored()
    return {fingerprint for node in noted_ids for fingerprint in lineage.inputs(node)}


def held_back(node: Node, machine: Machine, outcome: Outcome, obstacle: Obstacle | None = None) -> bool:
    """Return whether an obstacle, or an input that failed or is blocked, stops a node. Adds it to
    ``outcome``.

    Args:
        obstacle: a further obstacle of the node, which is added to the machine.
    """
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
    if state == "stored" and node.stage in MADE_AGAIN and damage(store.path(node)):
        state = "damaged"  # at its size, which tells nothing; no verb removes an imported run
    if state != "damaged":
        return state
    if node.stage not in MADE_AGAIN:
        faults = "; ".join(damage(store.path(node)))
        remedy = "`repro store verify --rebuild` removes it, `repro run --rebuild damaged` builds it again"
        raise StoreError(f"artefact {node} is damaged: {faults}; {remedy}")
    store.discard(node)
    return "missing"
