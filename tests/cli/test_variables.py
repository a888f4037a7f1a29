"""A page explains all variables of the suite."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# click's, one between processes of a run, and those that tests heed
OTHERS = {"REPRO_COMPLETE", "REPRO_STAGE_WATCHES_STDIN", "REPRO_TEST_STORE"}


def test_the_page_explains_what_the_code_reads():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "repro").rglob("*.py"))
    page = (ROOT / "docs/reference/environment.md").read_text(encoding="utf-8")
    variables, explained = (set(re.findall(r"REPRO_[A-Z_]*[A-Z]", text)) - OTHERS for text in (code, page))
    assert variables == explained and "REPRO_STORE" in variables
