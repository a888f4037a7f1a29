"""Share the work of a stage among processes of torchrun, or shards of a queue."""

import contextlib
import json
import math
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from repro import errors, stage_table
from repro.graph import Node
from repro.machine import shard, system
from repro.running.cost.shapes import Number, queries, texts
from repro.store import Store, disk, translated_errors

SHARED = (*stage_table.TRAININGS, *stage_table.ENCODINGS)
ON_ALL_GPUS = (*SHARED, *stage_table.SEARCHES)
Work = Callable[[Path], dict | None]
Built = Path | None
RUN_LINES = (1 << 26) // 43  # 64 MiB
# texts, pairs or lines per independent block
DIVISIBLE = {
    "encode": 20_000,
    "encode_views": 10_000,
    "search": 32_768,
    "search_views": 32_768,
    "mine": RUN_LINES,
    "score_pairs": 20_000,
    "rerank": 20_000,
}


def takes_gpu(stage: str) -> bool:
    return stage in stage_table.SEARCHES or stage_table.STAGES[stage].heavy


def build(node: Node, store: Store, work: Work, way: Callable[[Node, Work], Built] | None = None) -> Built:
    """Build an artefact with all processes of torchrun, and return it. ``way`` replaces ``store.build``."""
    way = way or store.build
    if system.launched_processes() == 1:
        return way(node, work)
    with connected_processes() as rank:
        if rank:
            while _broadcast_word() == "work":
                if node.stage in SHARED:
                    work(store.partial(node))
            return store.path(node)

        def announce_work(directory: Path) -> dict | None:
            _broadcast_word("work")
            return work(directory)

        path = way(node, announce_work)
        _broadcast_word("stored")
        return path


@contextlib.contextmanager
def connected_processes() -> Iterator[int]:
    """Connect torchrun's processes. Yields the rank of this one."""
    if system.launched_processes() == 1:
        yield 0
        return
    from repro.retrieval.training.process_group import launched_together

    with launched_together() as (rank, _):
        yield rank


def _broadcast_word(word: str = "") -> str:
    from torch import device, distributed

    message = [word]
    distributed.broadcast_object_list(message, 0, device=device("cpu"))
    return message[0]


def count_of(node: Node, wanted: int) -> int:
    """Return the number of a node's shards: ``wanted``, or its number of blocks if that is smaller."""
    if node.stage not in DIVISIBLE:
        return 1
    size = _size(node)
    return wanted if size is None else min(wanted, max(1, math.ceil(size / DIVISIBLE[node.stage])))


def _size(node: Node) -> Number:
    if node.params.get("kind") == "passages":
        return texts(node)
    source = node.input("run") if node.stage == "mine" else node
    per_node = {
        "score_pairs": node.params.get("per_query"),
        "rerank": node.params.get("depth"),
        "mine": source.params.get("depth", 1),
    }.get(node.stage, 1)
    while source.stage != "queries":
        names = [name for name in ("queries", "texts") if name in source.inputs]
        if not names:
            return None
        source = source.input(names[0])
    count = queries(source)
    return None if count is None else count * per_node


def build_shard(node: Node, store: Store, work: Work, part: shard.Shard) -> Built:
    """Fill one shard of the artefact. The last process combines the shards, the others return None.

    The facts contain the host and seconds of each shard. Raises UsageError for an indivisible stage.
    """
    if node.stage not in DIVISIBLE:
        raise errors.UsageError(
            f"{node}: stage {node.stage} has no shards (these have: {', '.join(DIVISIBLE)})"
        )

    def fill_beside(node: Node, work: Work) -> None:
        store.work_beside(node, lambda directory: _fill_blocks(directory, work, part))

    def build_whole(node: Node, work: Work) -> Built:
        is_finished = len(finished_shards(store, node, part.count)) == part.count
        if is_finished or store.state(node) == "stored":
            return store.build(node, work)
        return None

    def combine(directory: Path) -> dict:
        parts, facts = _notes(directory), work(directory) or {}
        seconds = facts.get("seconds", 0) + sum(part["seconds"] for part in parts)
        return {**facts, "seconds": round(seconds, 3), "shards": parts}

    with connected_processes():
        with shard.only_shard(part):
            build(node, store, work, fill_beside)
        return build(node, store, combine, build_whole)


def finished_shards(store: Store, node: Node, count: int) -> set[int]:
    return set(map(_number, _folder(store.partial(node)).glob(f"*-of-{count}.json")))


def _fill_blocks(directory: Path, work: Work, part: shard.Shard) -> None:
    start = time.monotonic()
    facts = work(directory) or {}
    copied_facts = {name: facts[name] for name in ("peak_memory_kib", "finished") if name in facts}
    seconds = round(time.monotonic() - start, 3)
    note = {"shard": str(part), "host": socket.gethostname(), "seconds": seconds, **copied_facts}
    path = _folder(directory) / f"{part.number}-of-{part.count}.json"
    with translated_errors(directory):
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write_whole(path, json.dumps(note))


def _notes(directory: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(_folder(directory).glob("*.json"), key=_number)]


def _folder(directory: Path) -> Path:
    return directory / disk.BLOCKS / "shards"


def _number(note: Path) -> int:
    return int(note.name.partition("-")[0])
