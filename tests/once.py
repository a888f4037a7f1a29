"""What takes long to make, made once for all processes of a test run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock


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


def take_what_is_finished(selection: Sequence[str], store: Path, results: Path) -> None:
    """Fetch what a store that is only read, REPRO_TEST_STORE, has of a selection; without one, nothing."""
    if finished := os.environ.get("REPRO_TEST_STORE"):
        places = ["--store", str(store), "--results", str(results)]
        source = ["--inputs", "--from", finished]
        command = [sys.executable, "-m", "repro", "import", "artefacts", *selection, *source, *places]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode in (0, 4), done.stderr  # 4: not all of it is there
        for mark in store.rglob("*.unchecked"):
            mark.unlink()  # made by this very run of the tests, and no peer's
