"""One list has all variables of the suite, and a misspelt one is named."""

import re
from pathlib import Path

from repro.cli import VARIABLES, misspelt

ROOT = Path(__file__).resolve().parents[2]
# click's, one between processes of a run, and those that tests heed
OTHERS = {"REPRO_COMPLETE", "REPRO_STAGE_WATCHES_STDIN", "REPRO_TEST_STORE"}


def test_the_list_is_what_the_code_reads_and_what_its_page_explains():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "repro").rglob("*.py"))
    page = (ROOT / "docs/reference/environment.md").read_text(encoding="utf-8")
    for text in (code, page):
        assert set(re.findall(r"REPRO_[A-Z_]*[A-Z]", text)) - OTHERS == set(VARIABLES)


def test_a_variable_with_a_slip_is_told_and_another_programs_is_not(repro, monkeypatch):
    known = [*VARIABLES, "REPRO_TEST_STORE", "REPRO_TEST_DATA", "REPRO_SLOW_TESTS", "PATH"]
    assert list(misspelt(known)) == []
    monkeypatch.setenv("REPRO_MICROBATCH", "4")
    said = repro("show cells")
    assert said.status == 0
    assert said.err == "repro: the variable REPRO_MICROBATCH has no effect. Did you mean REPRO_MICRO_BATCH?\n"
