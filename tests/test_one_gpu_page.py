"""docs/howto/one-gpu.md is what docs/one_gpu.py writes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.nightly
def test_the_page_is_as_the_plan_has_it():
    page = ROOT / "docs/howto/one-gpu.md"
    before = page.read_text(encoding="utf-8")
    try:
        subprocess.run([sys.executable, "docs/one_gpu.py"], cwd=ROOT, check=True)
        assert page.read_text(encoding="utf-8") == before
    finally:
        page.write_text(before, encoding="utf-8")
