"""What takes long to make, made once for all processes of a test run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock

from repro.graph import Node
from repro.store import Store


def made_once(tmp_path_factory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that ``make`` has filled, in this process or in another one that runs tests beside it."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # the folders of the workers lie side by side
    folder = root / name
    with FileLock(root / f"{name}.lock"):
        if not (folder / "made").exists():
            folder.mkdir()
            make(folder)
            (folder / "made").touch()
    return folder


def take_what_is_finished(nodes: Iterable[Node], store: Store) -> None:
    """Copy what a store that is only read, REPRO_TEST_STORE, has of some nodes; without one, nothing."""
    if finished := os.environ.get("REPRO_TEST_STORE"):
        for node in nodes:
            if (made := Store(Path(finished)).path(node)).exists():
                shutil.copytree(made, store.path(node))
