"""What the rows are made of, as graphs."""

from __future__ import annotations

import pytest

from papers.cotmae_v2 import recipes
from repro.errors import UsageError
from repro.graph import Node, walk
from repro.manifest.papers import papers
from repro.retrieval.recipe.request import Choices, Request
from repro.running.scale import scale

DEV = "msmarco-passage/dev/small"


def made(recipe, dataset: str = DEV, *, readings: dict[str, str] | None = None, **options) -> Node:
    choices = Choices(papers()["cotmae_v2"].readings, readings or {}, None)
    return recipe(Request(dataset, choices), **options)


def stages(run: Node, name: str) -> list[Node]:
    return [n for n in walk([run]) if n.stage == name]


def test_half_the_size_is_half_of_each_view_at_every_scale():
    for name, half in (("full", 384), ("tiny", 32)):
        run = scale(name).rewriter()(made(recipes.retriever_row, size=384))
        final = run.inputs["passages"].inputs["model"].params["options"]
        assert (final["top_k"], final["dense_reduction"]["to"]) == (half, half)
        assert {n.params["top_k"] for n in stages(run, "encode_views")} == {half}
    whole = made(recipes.retriever_row).inputs["passages"].inputs["model"].params["options"]
    assert (whole["top_k"], whole["dense_reduction"]) == (768, None)


def stage_two(run: Node) -> tuple[int, list[str], set[int]]:
    second = run.inputs["passages"].inputs["model"]
    assert second.inputs["model"].stage == "pretrain"
    negatives = second.inputs["training_set"]
    parts = negatives.inputs["training_sets"] if negatives.stage == "union" else [negatives]
    mined = stages(run, "mine")
    assert {node.params["depth"] for node in mined} == {200}
    return second.params["epochs"], [n.stage for n in parts], {node.params["per_query"] for node in mined}


def test_the_second_stage_is_a_whole_that_somebody_ran():
    assert stage_two(made(recipes.retriever_row)) == (3, ["mine"], {128})
    first = {"stage-two": "first-version"}
    both = (2, ["mine", "official_negatives"], {30})
    assert stage_two(made(recipes.retriever_row, readings=first)) == both
    assert stage_two(made(recipes.first_version_row)) == both
    as_here = {"first-version-fine-tuning": "as-this-paper"}
    assert stage_two(made(recipes.first_version_row, readings=as_here)) == (3, ["mine"], {128})


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
    assert {n.params["seed"] for n in stages(other, "pretrain")} == {43}
    assert {n.params["seed"] for n in stages(other, "finetune")} == {42}
    first = made(recipes.seed_point, version=1, seed=42)
    assert first.fingerprint == made(recipes.first_version_row).fingerprint


def test_the_first_version_reads_two_windows_of_a_span_and_the_second_one():
    for recipe, windows in ((recipes.first_version_row, "apart"), (recipes.retriever_row, "shared")):
        (pretraining,) = stages(made(recipe), "pretrain")
        assert pretraining.params["options"]["windows"] == windows
    one = made(recipes.first_version_row, readings={"first-version-windows": "one-window"})
    assert stages(one, "pretrain")[0].params["options"]["windows"] == "shared"


def test_every_span_is_an_example_only_of_this_version_and_where_it_is_chosen():
    every = {"pretraining-examples": "every-span"}
    assert "examples" not in stages(made(recipes.retriever_row), "pretrain")[0].params
    assert stages(made(recipes.retriever_row, readings=every), "pretrain")[0].params["examples"] == "spans"


def test_the_baseline_of_figure_3_may_be_the_shorter_pre_training_of_its_time():
    short = {"figure-3-baseline": "fifty-thousand-steps"}
    (pretraining,) = stages(made(recipes.seed_point, readings=short, version=1, seed=43), "pretrain")
    keys = ("max_steps", "learning_rate", "length", "texts_per_batch", "seed")
    assert [pretraining.params[key] for key in keys] == [50_000, 4e-4, 144, 8192, 43]
    ours = made(recipes.seed_point, readings=short, version=2, seed=43)
    assert ours.fingerprint == made(recipes.seed_point, version=2, seed=43).fingerprint


def test_a_version_that_there_is_not_is_refused():
    for recipe, options in ((recipes.seed_point, {"seed": 42}), (recipes.passages_shown, {"queries": []})):
        with pytest.raises(UsageError, match=r"'3' is not a known version of CoT-MAE. Known: 1, 2"):
            made(recipe, version=3, **options)


def test_the_first_versions_teacher_is_of_its_time_and_this_versions_the_public_one():
    def teacher(run: Node) -> Node:
        return stages(run, "score_pairs")[0].inputs["model"]

    own = teacher(made(recipes.first_version_row, distilled=True))
    assert own.stage == "finetune" and own.params["options"]["regulariser"] == "none"
    assert teacher(made(recipes.distilled_row)).stage == "released"


def miner(training_set: Node) -> Node:
    return training_set.inputs["run"].inputs["passages"].inputs["model"]


def test_student_and_teacher_start_from_the_pre_trained_encoder_on_negatives_of_the_second_retriever():
    retrain = {"reranker-version": "retrain"}
    student = made(recipes.distilled_row, readings=retrain).inputs["passages"].inputs["model"]
    scored, own = (
        student.inputs["training_set"],
        made(recipes.retriever_row).inputs["passages"].inputs["model"],
    )
    first = made(recipes.first_version_row).inputs["passages"].inputs["model"]
    teacher = scored.inputs["model"]
    assert student.inputs["model"].fingerprint == own.inputs["model"].fingerprint
    assert miner(scored.inputs["training_set"]).fingerprint == own.fingerprint
    assert teacher.inputs["model"].fingerprint == first.inputs["model"].fingerprint
    assert miner(teacher.inputs["training_set"]).fingerprint == first.fingerprint
    others = {"distillation-start": "stage-two", "distillation-negatives": "mined-with-stage-one"}
    student = made(recipes.distilled_row, readings=others).inputs["passages"].inputs["model"]
    mined = student.inputs["training_set"].inputs["training_set"]
    assert student.inputs["model"].fingerprint == own.fingerprint
    assert miner(mined).fingerprint == miner(own.inputs["training_set"]).fingerprint


def test_the_released_teacher_stands_for_one_trained_here_below_full_scale():
    run = made(recipes.distilled_row)
    names = [n.params["name"] for n in stages(scale("full").rewriter()(run), "released")]
    assert names == ["caskcsg/cotmae_base_msmarco_reranker"]
    tiny = scale("tiny").rewriter()(run)
    teacher = stages(tiny, "score_pairs")[0].inputs["model"]
    assert teacher.params["objective"]["name"] == "cross-encoder"


def test_beir_is_trained_on_texts_without_titles_at_the_lengths_of_retromaes_script():
    used = {}
    for choice in ("as-retromaes-script", "as-ms-marco"):
        choices = Choices(papers()["cotmae_v2"].readings, {"beir-training-text": choice})
        run = recipes.beir_row(Request("beir/arguana", choices))
        used[choice] = "passage-titles" in choices.used
        (training,) = stages(run, "finetune")
        assert (training.params["query_length"], training.params["passage_length"]) == (32, 144)
    assert used == {"as-retromaes-script": False, "as-ms-marco": True}
    assert papers()["cotmae_v2"].readings["beir-training-text"].default == "as-retromaes-script"


def test_titles_of_beirs_documents_are_joined_as_beir_joins_them_and_not_as_on_ms_marco():
    for readings, separator in ({}, " "), ({"beir-title-separator": "as-ms-marco"}, "[SEP]"):
        passages = made(recipes.beir_row, "beir/arguana", readings=readings).inputs["passages"]
        assert passages.params["separator"] == separator
    assert made(recipes.retriever_row).inputs["passages"].params["separator"] == "[SEP]"


def test_passages_are_as_long_as_printed_or_as_the_later_scripts_cut_them_for_each_use():
    def lengths(readings: dict[str, str]) -> tuple[list[int], set[int]]:
        run = made(recipes.retriever_row, readings=readings)
        trained = {n.inputs["training_set"].stage: n for n in stages(run, "finetune")}
        encoded = [n for n in stages(run, "encode_views") if n.params["kind"] == "passages"]
        trained = [trained[stage].params["passage_length"] for stage in ("official_negatives", "mine")]
        return trained, {n.params["length"] for n in encoded}

    assert lengths({}) == ([144, 144], {144})
    assert lengths({"passage-cut": "as-cotmae-qc"}) == ([130, 144], {130})
