"""Rows measured with the model that their authors released."""

import pytest

from repro.graph import walk
from repro.manifest.cells import cell
from repro.manifest.papers import papers
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale

TRAININGS = {"pretrain", "finetune"}
COTMAE, SIMLM = "caskcsg/cotmae_base_msmarco_retriever", "intfloat/simlm-base-msmarco-finetuned"
RERANKER = "intfloat/simlm-msmarco-reranker"
FIRST, DISTILLED = "first-version-retriever=authors-checkpoint", "distilled-retriever=authors-checkpoint"
RERANKED = "released-reranker=authors-checkpoints"
RELEASES = [  # a cell, the choice, the checkpoints that it is then measured with
    ("cotmae_v2/1/cotmae/dev.rr10", FIRST, {COTMAE}),
    ("simlm/2/dense.simlm/dev.rr10", DISTILLED, {SIMLM}),
    ("simlm/6/simlm.distillation/dev.rr10", DISTILLED, {SIMLM}),
    ("simlm/5/electra/dev.rr10", RERANKED, {SIMLM, RERANKER}),
    ("simlm/6/reranker/dev.rr10", RERANKED, {SIMLM, RERANKER}),
]


def planned(identifier, name, choice=""):
    overrides = dict([choice.split("=")]) if choice else {}
    return plan([cell(identifier)], scale=scale(name), machine=Machine(None, None), overrides=overrides)


@pytest.mark.parametrize("identifier, choice, checkpoints", RELEASES)
def test_a_row_measured_with_its_authors_model_is_encoded_once_and_nothing_is_trained(
    identifier, choice, checkpoints
):
    trained, theirs = planned(identifier, "full"), planned(identifier, "full", choice)
    assert {node.stage for node in trained.nodes} >= TRAININGS
    stages = [node.stage for node in theirs.nodes]
    assert not TRAININGS & set(stages) and stages.count("encode") == 2
    assert {n.params["name"] for n in theirs.nodes if n.stage in ("released", "backbone")} == checkpoints
    assert set(theirs.measurements[0].departures) == {choice.split("=")[0]}


@pytest.mark.parametrize("identifier, choice", [release[:2] for release in RELEASES])
def test_below_full_scale_what_is_trained_here_stands_in_for_it(identifier, choice):
    made = planned(identifier, "tiny", choice)
    assert not made.machine.obstacles and "finetune" in {n.stage for n in made.nodes}


def test_a_released_re_ranker_keeps_the_head_that_scores():
    made = planned("cotmae_v2/2/cotmae_v2/dev.rr10", "full")
    [teacher] = (n for n in made.nodes if n.params.get("name") == "caskcsg/cotmae_base_msmarco_reranker")
    assert (teacher.stage, teacher.params["kind"]) == ("released", "cross-encoder")
    assert not walk(teacher.parents())


def test_every_choice_of_an_authors_model_is_one_that_a_recipe_takes():
    named = {
        (p.name, r.id, *r.released) for p in papers().values() for r in p.readings.values() if r.released
    }
    told = {(identifier.split("/")[0], *choice.split("=")) for identifier, choice, _ in RELEASES}
    assert told <= named
