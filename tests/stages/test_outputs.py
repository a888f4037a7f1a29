"""No stage gives another output for equal inputs without a higher version.

``outputs.json`` has version and output of every stage (``outputs.py`` says what of it). Where a test says
that an output changed, and the change is meant, raise the stage's version in ``repro/stage_table.py``; then
``python -m pytest tests/stages -k recorded --renew-outputs`` writes the table anew. It refuses an output that
changed under the same version; where only inputs of this test are others, take the stage's line out first.
"""

from __future__ import annotations

import pytest

from repro.stage_table import STAGES
from tests.datasets.folders import without_counts
from tests.nn.test_multi_view_bi_encoder import strong_model
from tests.stages import outputs
from tests.stages.outputs import ELSEWHERE, TRIPLES, Outputs
from tests.tiny_models import tiny_tokenizer


@pytest.fixture(scope="module")
def made(tmp_path_factory, model, reranker, corpus, queries, training_set) -> dict[str, dict]:
    """The reduced outputs of all stages but those whose own tests look at one."""
    from repro.nn.checkpoint import save_model

    kitchen = Outputs(tmp_path_factory.mktemp("outputs"))
    with pytest.MonkeyPatch.context() as monkeypatch:
        without_counts(monkeypatch, TRIPLES)
        kitchen.sources()
    kitchen.models(model, corpus)
    kitchen.trainings(corpus, queries, training_set)
    viewed = kitchen.folder("viewed")
    save_model(strong_model(), tiny_tokenizer(), viewed / "model")
    kitchen.with_weights(model, viewed, reranker, corpus, queries, training_set)
    kitchen.rankings(corpus, queries, training_set)
    return kitchen.made


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage not in ELSEWHERE])
def test_the_output_is_the_recorded_one_as_long_as_the_version_is(made, stage, renewing):
    outputs.check(stage, made[stage], renew=renewing)


def test_every_stage_is_recorded_at_its_version(renewing):
    versions = {stage: entry["version"] for stage, entry in outputs.read_table().items()}
    expected = {stage: spec.version for stage, spec in STAGES.items()}
    assert renewing or versions == expected, "`python -m pytest tests/stages -k recorded --renew-outputs`"


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of one stage of one's own."""
    monkeypatch.setattr(outputs, "TABLE", tmp_path / "outputs.json")
    outputs.check("mine", {"digest": "a", "numbers": {"mean": [1.0, 0.01]}}, renew=True)


def test_a_change_is_refused_and_renewed_under_a_higher_version_only(table, monkeypatch):
    from dataclasses import replace

    before = outputs.read_table()
    outputs.check("mine", {"digest": "a", "numbers": {"mean": [1.009, 0.01]}}, renew=True)
    for other in (
        {"digest": "b", "numbers": {"mean": [1.0, 0.01]}},
        {"digest": "a", "numbers": {"mean": [1.02, 0.01]}},
    ):
        for renew in (False, True):
            with pytest.raises(AssertionError, match="raise the version of 'mine'"):
                outputs.check("mine", other, renew=renew)
    assert outputs.read_table() == before
    monkeypatch.setitem(STAGES, "mine", replace(STAGES["mine"], version=STAGES["mine"].version + 1))
    outputs.check("mine", other, renew=True)
    assert outputs.read_table()["mine"] == {"version": STAGES["mine"].version, **other}
