"""The inputs that an interrupted attempt began with: only from the same ones does the next attempt go on.

Under one fingerprint an input may be made again and come out otherwise, by other code or on a GPU. What was
made from it before, a block of vectors or a checkpoint, is then no part of what is made from it now.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from repro.store.disk import BLOCKS, remove, write_whole

NOTE = "inputs.json"  # in ``blocks``, with which it goes


def goes_on(partial: Path, inputs: Mapping[str, str]) -> bool:
    """Whether nothing says that what lies in the folder was made from other contents than these.

    Args:
        inputs: fingerprint -> digest of the content, of those that are stored.
    """
    noted_inputs = _read_inputs(partial)
    return all(noted_inputs.get(fingerprint, content) == content for fingerprint, content in inputs.items())


def begin(partial: Path, inputs: Mapping[str, str]) -> None:
    """Note these inputs in the folder, and empty it before that where it holds what others gave."""
    if not goes_on(partial, inputs):
        remove(partial)
        partial.mkdir(parents=True)
    noted_inputs = _read_inputs(partial)
    if inputs.keys() <= noted_inputs.keys():
        return
    note = partial / BLOCKS / NOTE
    note.parent.mkdir(parents=True, exist_ok=True)
    write_whole(note, json.dumps({**noted_inputs, **inputs}))


def _read_inputs(partial: Path) -> dict[str, str]:
    """The inputs that the folder's attempt began with; none of a new one, or one of an earlier version."""
    try:
        return json.loads((partial / BLOCKS / NOTE).read_text())
    except FileNotFoundError:
        return {}
