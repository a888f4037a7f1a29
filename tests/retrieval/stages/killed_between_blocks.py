"""A stage that is killed between its blocks and continued."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from repro.progress import Progress
from repro.retrieval.datasets.arrow import RowBlocks
from repro.store.disk import BLOCKS
from tests.retrieval.datasets.rows_at_once import check_equal_files
from tests.retrieval.stages.conftest import folders


def check_killed_between_blocks(
    stage, params: dict, inputs: dict, folder: Path, *, places: Sequence[int] = (1, 2)
) -> dict:
    """Kill a run in each of ``places`` among its writes; it ends with the bytes of an undisturbed one.

    No attempt writes again what one before it had finished.
    """
    straight, killed = folders(folder, "straight", "killed")
    facts = stage.run(params, inputs, straight, Progress())
    written: list[tuple] = []
    for place in places:
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            _die(patch, place, written)
            stage.run(params, inputs, killed, Progress())
    assert not (killed / "arrow/state.json").exists() and any((killed / BLOCKS).iterdir())
    with pytest.MonkeyPatch.context() as patch:
        _die(patch, None, written)
        for _ in ("to the end", "once more, as if killed before it was sealed"):
            assert stage.run(params, inputs, killed, Progress()) == facts
    assert len(written) == len(set(written)) > sum(places)
    check_equal_files(killed / "arrow", straight / "arrow")
    return facts


def _die(patch: pytest.MonkeyPatch, place: int | None, written: list[tuple]) -> None:
    """Let the write after the first ``place`` die; None: none. Adds what was written whole."""
    write, count = RowBlocks.write, [0]

    def dies(self, first, *arguments):
        if count[0] == place:
            (self.folder / f"{first}.arrow").write_bytes(b"half")
            raise KeyboardInterrupt
        write(self, first, *arguments)
        count[0] += 1
        written.append((self.folder.name, first))

    patch.setattr(RowBlocks, "write", dies)
