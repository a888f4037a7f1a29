"""The code and libraries that attempts and shards began with, which their artefact is recorded with too."""

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from repro.machine.shard import shard
from repro.store.attempts import NOTE as INPUTS
from repro.store.disk import BLOCKS, CHECKPOINTS, write_whole

NOTE = "made_by"  # files in ``blocks``, with which they go: one of the whole, and one a shard


def beginnings(directory: Path, made: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Read what code began what an attempt may go on from; ``made``, which is noted, where nothing has begun.

    Args:
        made: as ``made_by`` has it, of the attempt that starts now.
    """
    part, folder = shard(), directory / BLOCKS
    note = folder / (f"{NOTE}.json" if part.whole else f"{NOTE}.{part.number}-of-{part.count}.json")
    if not (note.is_file() and _has_begun(directory)):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(note, json.dumps(made))
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{NOTE}*.json"))]


def made_by_all(
    made: Mapping[str, Any], begun: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """``made``, with what began a stage that went on from blocks or a checkpoint; where they differ, both.

    So an artefact of which a part was made by other code than the rest is told as made by other code, be it
    looked at with the one or the other. A training says under ``resumed_at`` that it began anew, as 0; others
    went on from what there was. Where the code begins is told as it is now.
    """
    sources = [*(begun if facts.get("resumed_at", True) else ()), made]
    return {
        key: {
            name: _join_digests(entry.get(key, {}).get(name) for entry in sources)
            for name in chain(*(entry.get(key, ()) for entry in sources))
        }
        if isinstance(value, Mapping)
        else value
        if isinstance(value, list)
        else _join_digests(entry.get(key) for entry in sources)
        for key, value in made.items()
    }


def _join_digests(digests: Iterable[str | None]) -> str:
    return " and ".join(dict.fromkeys(filter(None, digests)))


def _has_begun(directory: Path) -> bool:
    """Whether there is anything but notes by which an attempt could go on."""
    notes = (INPUTS, NOTE)
    blocks = [path for path in (directory / BLOCKS).iterdir() if not path.name.startswith(notes)]
    return bool(blocks) or (directory / CHECKPOINTS).is_dir()
