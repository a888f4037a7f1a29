"""The code and libraries that an interrupted attempt began with, which its artefact is recorded with too."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repro.store.attempts import NOTE as INPUTS
from repro.store.disk import BLOCKS, CHECKPOINTS, write_whole

NOTE = "made_by.json"  # in ``blocks``, with which it goes


def beginning(directory: Path, made: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read what code began what an attempt may go on from; ``made``, which is noted, where nothing has begun.

    Args:
        made: as ``made_by`` has it, of the attempt that starts now.
    """
    note = directory / BLOCKS / NOTE
    if note.is_file() and _has_begun(directory):
        return json.loads(note.read_text())
    note.parent.mkdir(parents=True, exist_ok=True)
    write_whole(note, json.dumps(made))
    return made


def made_by_both(
    made: Mapping[str, Any], begun: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """``made``, but of a stage that went on from blocks or a checkpoint what began it, where that differs.

    So an artefact of which a part was made by other code than the rest is told as one made by other code.
    """
    if not facts.get("resumed_at") or begun == made:
        return dict(made)
    return {
        key: {**made[key], **begun[key]} if isinstance(made[key], Mapping) else begun[key] for key in made
    }


def _has_begun(directory: Path) -> bool:
    """Whether there is anything but notes by which an attempt could go on."""
    notes = (INPUTS, NOTE)
    blocks = [path for path in (directory / BLOCKS).iterdir() if not path.name.startswith(notes)]
    return bool(blocks) or (directory / CHECKPOINTS).is_dir()
