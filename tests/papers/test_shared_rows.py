"""Rows that two papers print digit for digit are one set of runs: the same nodes, run once."""

import pytest

from repro.manifest.cells import select
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale

PAIRS = {"passage": ("1", "hardneg"), "doc": ("2", "second")}


def _fingerprints(name: str, row: str, table: str, at: str) -> dict[tuple[str, str], str]:
    cells = select((name,), tables=(table,), rows=(row,), cells=())
    made = plan(cells, scale=scale(at), machine=Machine())
    return {(m.cell.column.dataset, m.cell.column.measure): m.fingerprint for m in made.measurements}


@pytest.mark.parametrize("at", ["tiny", "full"])
@pytest.mark.parametrize("system", ["bert", "ict", "prop", "seed"])
def test_cpdaes_baselines_are_costas_runs(system, at):
    theirs = _fingerprints("cpdae", system, "1", at)
    ours = {}
    for table, group in PAIRS.values():
        ours |= _fingerprints("costa", f"{group}.{system}", table, at)
    assert theirs == ours and len(theirs) == 8


@pytest.mark.parametrize("at", ["tiny", "full"])
def test_their_bm25_is_one_run_too(at):
    theirs = _fingerprints("cpdae", "bm25", "1", at)
    ours = _fingerprints("costa", "sparse.bm25", "1", at) | _fingerprints("costa", "sparse.bm25", "2", at)
    assert theirs == ours
