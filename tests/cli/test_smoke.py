"""``repro doctor smoke``."""

import pytest

from repro.api import select
from repro.cli.verbs import doctor
from repro.running.workspace import Workspace
from tests.cli.test_encoders import MANIFEST, RECIPES


@pytest.fixture
def untrained(toy):
    toy.write_text(MANIFEST)
    toy.with_name("recipes.py").write_text(RECIPES)
    return toy


def test_every_stage_runs_and_nothing_is_kept(repro, untrained, folders):
    said = repro("doctor smoke toy --row random")
    assert said.status == 0, said.err
    *_, stages, scored, outcome = said.out.splitlines()
    assert stages.startswith("- stages: 1 corpus, 1 vocabulary, 1 initialise, ") and "1 search" in stages
    assert scored == "- scored: toy/1/random" and outcome.startswith("- everything ran in ")
    assert not (folders / "store").exists() and not (folders / "results").exists()


def test_a_stage_that_fails_is_told_by_the_exit_status(repro, untrained):
    recipes = untrained.with_name("recipes.py")
    recipes.write_text(recipes.read_text().replace('"size": 300', '"size": 1'))
    said = repro("doctor smoke toy --row random")
    assert said.status == 3 and "NOT everything ran" in said.out and "\n- failed: " in said.out


def test_without_a_name_bm25_and_the_cheapest_trained_row_are_run(tmp_path):
    cells = select(*doctor._cheapest_cells(Workspace.open(str(tmp_path))), scale="smoke").cells
    assert [c.id for c in cells] == ["costa/1/sparse.bm25/dev.rr10", "costa/1/bm25neg.bert/dev.rr10"]
