"""docs/howto/one-gpu.md is what docs/one_gpu.py writes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRINT = """
import sys
sys.path.insert(0, "docs")
import one_gpu
with one_gpu.on_an_empty_machine():
    sys.stdout.write(one_gpu.page())
"""


def test_the_page_is_as_the_plan_has_it():
    made = subprocess.run([sys.executable, "-c", PRINT], cwd=ROOT, capture_output=True, text=True, check=True)
    page = (ROOT / "docs/howto/one-gpu.md").read_text(encoding="utf-8")
    assert made.stdout == page, "run python docs/one_gpu.py"
