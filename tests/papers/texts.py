"""The texts of the papers, which no part of the suite holds: whoever has them names their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NEAR = Path(__file__).resolve().parents[3] / "shared" / "papers"


def texts_of(paper: str) -> dict[str, str]:
    folder = Path(os.environ.get("REPRO_TEST_PAPERS", NEAR))
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"{paper}*.txt"))}
    if not found:
        pytest.skip(f"no text of {paper} is in {folder}; REPRO_TEST_PAPERS may name another folder")
    return found
