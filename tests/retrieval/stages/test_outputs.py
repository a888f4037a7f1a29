"""No stage gives another output for equal inputs without a higher version: ``outputs.json``."""

import pytest

from repro.stage_table import STAGES
from tests.retrieval.datasets.folders import without_counts
from tests.retrieval.nn.test_multi_view_bi_encoder import strong_model
from tests.retrieval.stages.outputs import ELSEWHERE, TABLE, TRIPLES, Outputs
from tests.retrieval.stages.test_weigh_terms import term_weigher
from tests.tiny_models import tiny_tokenizer


@pytest.fixture(scope="module")
def made(tmp_path_factory, model, reranker, corpus, queries, training_set) -> dict[str, dict]:
    from repro.retrieval.nn.checkpoint import save_model

    kitchen = Outputs(tmp_path_factory.mktemp("outputs"))
    with pytest.MonkeyPatch.context() as monkeypatch:
        without_counts(monkeypatch, TRIPLES)
        kitchen.sources()
    weigher = kitchen.folder("weigher")
    save_model(term_weigher(), tiny_tokenizer(), weigher / "model")
    kitchen.models(model, corpus, weigher)
    kitchen.trainings(corpus, queries, training_set)
    viewed = kitchen.folder("viewed")
    save_model(strong_model(), tiny_tokenizer(), viewed / "model")
    kitchen.with_weights(model, viewed, reranker, corpus, queries, training_set)
    kitchen.rankings(corpus, queries, training_set)
    return kitchen.made


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage not in ELSEWHERE])
def test_the_output_is_the_recorded_one_as_long_as_the_version_is(made, stage, renewing):
    TABLE.check(stage, STAGES[stage].version, made[stage], renew=renewing)


def test_every_stage_is_recorded_at_its_version(renewing):
    TABLE.check_versions({stage: spec.version for stage, spec in STAGES.items()}, renew=renewing)
