"""One stage, carried out by all processes that a launcher such as torchrun started."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from repro.graph import Node
from repro.machine.system import launched_processes, local_rank
from repro.stage_table import ENCODINGS, TRAININGS
from repro.store import Store

# stages that share their work among processes; of any other the first process does all
SHARED = (*TRAININGS, *ENCODINGS)
Work = Callable[[Path], dict | None]
Built = Path | None


def build(
    node: Node,
    store: Store,
    work: Work,
    *,
    waiting: Callable[[], None],
    way: Callable[..., Built] | None = None,
) -> Built:
    """``store.build`` for one process or for several: the first holds the lock and seals the artefact, the
    others work beside it in the same directory, or wait for it.

    Args:
        way: in place of ``store.build``, with its arguments.
    """
    way = way or store.build
    if launched_processes() == 1:
        return way(node, work, waiting=waiting)
    with connected_processes() as rank:
        return _build_as_first(node, work, waiting, way) if rank == 0 else _work_as_other(node, store, work)


@contextlib.contextmanager
def connected_processes() -> Iterator[int]:
    """Connect the processes that a launcher started, unless they are; the value given is this one's rank."""
    if launched_processes() == 1:
        yield 0
        return
    from torch import cuda, distributed

    from repro.retrieval.training.process_group import LONGEST_WAIT

    is_ours = not distributed.is_initialized()
    if is_ours and cuda.is_available():
        cuda.set_device(local_rank())
    if is_ours:
        backend = "cpu:gloo,cuda:nccl" if cuda.is_available() else "gloo"
        distributed.init_process_group(backend, timeout=LONGEST_WAIT)
    try:
        yield distributed.get_rank()
    finally:
        if is_ours:
            distributed.destroy_process_group()


def _build_as_first(node: Node, work: Work, waiting: Callable[[], None], way: Callable[..., Built]) -> Built:
    def announce_work(directory: Path) -> dict | None:
        _broadcast_word("work")
        return work(directory)

    path = way(node, announce_work, waiting=waiting)
    _broadcast_word("stored")
    return path


def _work_as_other(node: Node, store: Store, work: Work) -> Path:
    while _broadcast_word(None) == "work":
        if node.stage in SHARED:
            work(store.partial(node))
    return store.path(node)


def _broadcast_word(word: str | None) -> str:
    from torch import distributed

    message = [word]
    distributed.broadcast_object_list(message, 0, device="cpu")
    return message[0]
