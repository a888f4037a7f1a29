"""Shards of one artefact: each fills its blocks beside the others, and the last makes the whole of them."""

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node
from repro.machine.shard import Shard, only_shard
from repro.running.cost.shapes import queries, texts
from repro.running.engines import torchrun
from repro.running.engines.torchrun import Work
from repro.store import Store, translated_errors
from repro.store.disk import BLOCKS, write_whole

RUN_LINES = (1 << 26) // 43  # in 64 MiB of a run, with ids of MS MARCO
# stage whose work is blocks, of which each is made without the others -> texts, pairs or lines of a block
DIVISIBLE = {
    "encode": 20_000,
    "encode_views": 10_000,
    "search": 65_536,
    "search_views": 32_768,
    "mine": RUN_LINES,
    "score_pairs": 20_000,
    "rerank": 20_000,
}


def count_of(node: Node, wanted: int) -> int:
    """The number of shards of a node where ``wanted`` are: no more than it has blocks, as far as is known."""
    if node.stage not in DIVISIBLE:
        return 1
    size = _size(node)
    return wanted if size is None else min(wanted, max(1, -(-size // DIVISIBLE[node.stage])))


def _size(node: Node) -> int | None:
    """Texts that are encoded, queries searched for, pairs scored or lines read; None where nobody says."""
    if node.params.get("kind") == "passages":
        return texts(node)
    per_node, source = 1, node
    if node.stage in ("score_pairs", "rerank"):
        per_node = node.params["per_query" if node.stage == "score_pairs" else "depth"]
    if node.stage == "mine":
        source = node.inputs["run"]
        per_node = source.params.get("depth", 1)
    count = _queries(source)
    return None if count is None else count * per_node


def _queries(node: Node) -> int | None:
    """The number of queries that a node is about."""
    while node.stage != "queries":
        source = node.inputs.get("queries", node.inputs.get("texts"))
        if source is None:
            return None
        node = source
    return queries(node)


def build(node: Node, store: Store, work: Work, part: Shard, *, waiting: Callable[[], None]) -> Path | None:
    """Fill one shard of the node's artefact; the last of all shards to end builds what they make together.

    The shards may run on any machines that share the store, at any times. A block that is there is kept, so
    that a shard which was killed goes on where it was. Facts of the artefact name every shard under
    ``shards``, with its host and seconds; its own ``seconds`` are those of all.

    Returns:
        the artefact's folder, None where other shards are not done.

    Raises:
        UsageError: the stage cannot be divided.
        StoreError: as ``Store.build``.
    """
    if node.stage not in DIVISIBLE:
        raise UsageError(f"{node}: a stage {node.stage} has no shards; {', '.join(DIVISIBLE)} do")

    def fill_beside(node: Node, work: Work, *, waiting: Callable[[], None]) -> None:
        store.work_beside(node, lambda directory: _fill_blocks(directory, work, part), waiting=waiting)

    def build_whole(node: Node, work: Work, *, waiting: Callable[[], None]) -> Path | None:
        if store.state(node) != "stored" and finished_shards(store, node, part.count) != shard_numbers(
            part.count
        ):
            return None
        return store.build(node, work, waiting=waiting)

    def combine(directory: Path) -> dict:
        parts, facts = _notes(directory), work(directory) or {}
        seconds = facts.get("seconds", 0) + sum(part["seconds"] for part in parts)
        return {**facts, "seconds": round(seconds, 3), "shards": parts}

    with torchrun.connected_processes():
        with only_shard(part):
            torchrun.build(node, store, work, waiting=waiting, way=fill_beside)
        return torchrun.build(node, store, combine, waiting=waiting, way=build_whole)


def shard_numbers(count: int) -> set[int]:
    """The numbers of ``count`` shards."""
    return set(range(1, count + 1))


def finished_shards(store: Store, node: Node, count: int) -> set[int]:
    """The numbers of those of ``count`` shards whose blocks are all filled."""
    notes = _folder(store.partial(node)).glob(f"*-of-{count}.json")
    return {int(path.name.partition("-")[0]) for path in notes}


def _fill_blocks(directory: Path, work: Work, part: Shard) -> None:
    """Fill a shard's blocks, and note that in the directory."""
    start = time.monotonic()
    facts = work(directory) or {}
    copied_facts = {name: facts[name] for name in ("peak_memory_kib", "finished") if name in facts}
    seconds = round(time.monotonic() - start, 3)
    note = {"shard": str(part), "host": socket.gethostname(), "seconds": seconds, **copied_facts}
    folder = _folder(directory)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part.number}-of-{part.count}.json"
    with translated_errors(directory):
        write_whole(path, json.dumps(note))


def _notes(directory: Path) -> list[dict]:
    """The notes of the shards, in their order."""
    paths = sorted(_folder(directory).glob("*.json"), key=lambda path: int(path.name.partition("-")[0]))
    return [json.loads(path.read_text()) for path in paths]


def _folder(directory: Path) -> Path:
    return directory / BLOCKS / "shards"
