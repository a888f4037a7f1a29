"""What the rows are made of, as graphs."""

from __future__ import annotations

import pytest

from papers.cotmae_v2 import recipes
from repro.graph import Node, walk
from repro.manifest.papers import papers
from repro.recipe.request import Choices, Request
from repro.running.scale import scale

DEV = "msmarco-passage/dev/small"


def made(recipe, dataset: str = DEV, *, readings: dict[str, str] | None = None, **options) -> Node:
    choices = Choices(papers()["cotmae_v2"].readings, readings or {}, None)
    return recipe(Request(dataset, choices), **options)


def stages(run: Node, name: str) -> list[Node]:
    return [node for node in walk([run]) if node.stage == name]


def test_half_the_size_is_half_of_each_view_at_every_scale():
    for name, half in (("full", 384), ("tiny", 32)):
        run = scale(name).rewriter()(made(recipes.retriever_row, size=384))
        final = run.inputs["passages"].inputs["model"].params["options"]
        assert (final["top_k"], final["dense_reduction"]["to"]) == (half, half)
        assert {node.params["top_k"] for node in stages(run, "encode_views")} == {half}
    whole = made(recipes.retriever_row).inputs["passages"].inputs["model"].params["options"]
    assert (whole["top_k"], whole["dense_reduction"]) == (768, None)


def test_the_second_stage_starts_anew_on_mined_and_official_negatives_together():
    second = made(recipes.retriever_row).inputs["passages"].inputs["model"]
    assert second.inputs["model"].stage == "pretrain"
    assert [node.stage for node in second.inputs["training_set"].inputs["training_sets"]] == [
        "mine",
        "official_negatives",
    ]
    (mined,) = stages(second, "mine")
    assert (mined.params["depth"], mined.params["per_query"]) == (200, 30)


@pytest.mark.parametrize("views", [("dense",), ("sparse",)])
def test_one_view_left_out_of_fine_tuning_leaves_pre_training_whole(views):
    run = made(recipes.retriever_row, views=views)
    assert run.params["terms"] == list(views)
    (pretraining,) = stages(run, "pretrain")
    assert pretraining.params["options"]["views"] == ["dense", "sparse"]
    readings = {"ablation-fine-tuning": "other-stage-matched"}
    matched = made(recipes.retriever_row, views=views, readings=readings)
    (pretraining,) = stages(matched, "pretrain")
    assert pretraining.params["options"]["views"] == list(views)


def test_a_seed_of_the_tables_is_the_run_of_the_tables():
    point = made(recipes.seed_point, version=2, seed=42)
    assert point.fingerprint == made(recipes.retriever_row).fingerprint
    other = made(recipes.seed_point, version=2, seed=43)
    assert {node.params["seed"] for node in stages(other, "pretrain")} == {43}
    assert {node.params["seed"] for node in stages(other, "finetune")} == {42}
    first = made(recipes.seed_point, version=1, seed=42)
    assert first.fingerprint == made(recipes.first_version_row).fingerprint


def test_the_first_version_encodes_both_texts_and_compares_one_view():
    run = made(recipes.first_version_row)
    assert run.params["terms"] == ["dense"]
    (pretraining,) = stages(run, "pretrain")
    options, batch = pretraining.params["options"], pretraining.params["texts_per_batch"]
    assert (options["views"], options["decoders"]) == (["dense"], ["auto_encoding"])
    assert (options["encoded_texts"], 2 * batch) == ("both", 1024)
    assert {node.params["passage_length"] for node in stages(run, "finetune")} == {128}
    epochs = sorted(node.params["epochs"] for node in stages(run, "finetune"))
    assert epochs == [2, 3]


def test_the_released_teacher_stands_for_one_trained_here_below_full_scale():
    run = made(recipes.distilled_row)
    assert [n.params["name"] for n in stages(scale("full").rewriter()(run), "backbone")].count(
        "caskcsg/cotmae_base_msmarco_reranker"
    ) == 1
    tiny = scale("tiny").rewriter()(run)
    teacher = stages(tiny, "score_pairs")[0].inputs["model"]
    assert teacher.params["objective"]["name"] == "cross-encoder"


def test_beir_is_trained_on_the_listed_negatives_and_read_at_its_own_lengths():
    run = made(recipes.beir_row, "beir/arguana")
    (training,) = stages(run, "finetune")
    assert training.inputs["training_set"].params["margin"] == 3.0
    assert (training.params["queries_per_batch"], training.params["passages_per_query"]) == (1024, 2)
    assert (training.params["epochs"], training.params["learning_rate"]) == (10, 1e-5)
    assert {node.params["length"] for node in stages(run, "encode_views")} == {512}
    (pretraining,) = stages(run, "pretrain")
    assert pretraining.params["length"] == 512
