"""What the rows are made of, as graphs."""

from __future__ import annotations

import pytest

from papers.simlm import recipes
from repro.graph import Node, walk
from repro.manifest.papers import papers
from repro.retrieval.recipe.request import Choices, Request

DEV, QUESTIONS = "msmarco-passage/dev/small", "dpr-w100/natural-questions/test"


def made(recipe, dataset: str = DEV, *, readings: dict[str, str] | None = None, **options) -> Node:
    choices = Choices(papers()["simlm"].readings, readings or {}, None)
    return recipe(Request(dataset, choices), **options)


def objectives(run: Node, name: str) -> list[Node]:
    return [n for n in walk([run]) if n.params.get("objective", {}).get("name") == name]


def names_of_backbones(model: Node) -> set[str]:
    return {n.params["name"] for n in walk([model]) if n.stage == "backbone"}


@pytest.mark.parametrize(("devices", "together"), [("eight-devices", 8), ("four-devices", 4)])
def test_trainings_for_questions_follow_the_number_of_devices(devices, together):
    readings = {"nq-batch": devices}
    run = made(recipes.stage_row, QUESTIONS, stage="retriever-distilled", readings=readings)
    (teacher,) = objectives(run, "cross-encoder")
    assert teacher.params["queries_per_batch"] == 4 * together
    retrievers = objectives(run, "cosine-contrastive")
    assert {n.params["queries_per_batch"] for n in retrievers} == {8 * together}
    assert {n.params["options"]["weight"] for n in retrievers} == {1 / together}
    (student,) = objectives(run, "distillation")
    assert student.params["options"]["weight"] == 1 / together
    whole = made(
        recipes.corpus_row, QUESTIONS, corpus=None, readings=readings | {"nq-loss-scale": "whole-batch"}
    )
    weights = {n.params["options"]["weight"] for n in objectives(whole, "cosine-contrastive")}
    assert weights == {1.0}


def test_the_teacher_for_questions_as_print_has_it():
    readings = {"nq-reranker": "as-printed"}
    run = made(recipes.stage_row, QUESTIONS, stage="retriever-distilled", readings=readings)
    (teacher,) = objectives(run, "cross-encoder")
    wanted = {"queries_per_batch": 64, "passages_per_query": 64, "passage_length": 192, "epochs": 3}
    assert {name: teacher.params[name] for name in wanted} == wanted and teacher.params["max_steps"] is None


def test_cocondenser_is_distilled_from_negatives_that_a_reading_names():
    def miners(**readings):
        run = made(recipes.stage_row, stage="retriever-distilled", encoder="cocondenser", readings=readings)
        (student,) = objectives(run, "distillation")
        (teacher,) = objectives(run, "cross-encoder")
        assert student.inputs["model"].params["name"] == "Luyu/co-condenser-marco"
        sets = student.inputs["training_set"].inputs["training_set"], teacher.inputs["training_set"]
        return [names_of_backbones(mined.inputs["run"].inputs["queries"].inputs["model"]) for mined in sets]

    simlm, own = {"bert-base-uncased", "google/electra-base-generator"}, {"Luyu/co-condenser-marco"}
    assert miners() == [simlm, simlm]
    assert miners(**{"cocondenser-negatives": "own-retriever-2"}) == [own, simlm]


@pytest.mark.parametrize(
    ("encoder", "epochs", "rate"), [("bert", 3, 2e-5), ("electra", 6, 4e-5), ("simlm", 3, 2e-5)]
)
def test_a_re_rankers_own_candidates_are_those_of_its_encoders_retriever_2(encoder, epochs, rate):
    readings = {"reranker-candidates": "own-encoder"}
    run = made(recipes.reranker_row, encoder=encoder, readings=readings)
    second = run.inputs["run"].inputs["passages"].inputs["model"]
    mined = second.inputs["training_set"]
    first = mined.inputs["run"].inputs["passages"].inputs["model"]
    assert mined.stage == "mine" and first.inputs["training_set"].stage == "official_negatives"
    for retriever in (first, second):
        assert (retriever.params["epochs"], retriever.params["learning_rate"]) == (epochs, rate)
        assert retriever.inputs["model"].fingerprint == run.inputs["model"].inputs["model"].fingerprint
    shared = made(recipes.reranker_row, encoder=encoder).inputs["run"].inputs["passages"].inputs["model"]
    one_for_all = made(recipes.stage_row, stage="retriever-2").inputs["passages"].inputs["model"]
    assert shared.fingerprint == one_for_all.fingerprint


@pytest.mark.parametrize("encoder", ["enc-dec-mlm", "condenser", "mlm"])
def test_what_is_masked_is_chosen_for_each_variant_by_itself(encoder):
    def masking(**readings):
        (node,) = objectives(
            made(recipes.retriever_row, encoder=encoder, readings=readings),
            {"mlm": "pair-mlm"}.get(encoder, encoder),
        )
        options = node.params["options"]
        masks = options.get("masks") or options["masking"] | {"unit": options["unit"]}
        return masks["mask"], masks["random"], masks["unit"]

    bert, all_masked = (0.8, 0.1), (1.0, 0.0)
    usual, unit = {
        "enc-dec-mlm": (all_masked, "whole-word"),
        "condenser": (bert, "whole-word"),
        "mlm": (bert, "bernoulli"),
    }[encoder]
    assert masking() == (*usual, unit)
    other, choice = (all_masked, "all-mask") if usual == bert else (bert, "bert")
    assert masking(**{f"{encoder}-masking": choice}) == (*other, unit)
    for variant in {"enc-dec-mlm", "condenser", "mlm"} - {encoder}:
        assert masking(**{f"{variant}-masking": choice}) == masking()
    assert masking(**{f"{encoder}-unit": "tokens"})[2] == "bernoulli"
    assert masking(**{f"{encoder}-unit": "whole-word-quota"})[2] == "whole-word"


def test_whether_tokens_of_plain_masking_are_counted_is_asked_where_tokens_are_masked():
    def masking(**readings):
        (node,) = objectives(made(recipes.retriever_row, encoder="mlm", readings=readings), "pair-mlm")
        return node.params["options"]["masking"]

    usual = {"rate": 0.3, "mask": 0.8, "random": 0.1}
    counted = {"mlm-draw": "exact-count"}
    assert masking() == usual and masking(**counted) == usual | {"draw": "count"}
    assert masking(**counted, **{"mlm-unit": "whole-word-quota"}) == usual


@pytest.mark.parametrize(("dataset", "stage"), [(DEV, "retriever-2"), (QUESTIONS, "retriever-distilled")])
def test_the_second_retriever_begins_where_its_reading_says(dataset, stage):
    def starts(**readings):
        run = made(recipes.stage_row, dataset, stage=stage, readings=readings)
        return [n.inputs["model"].stage for n in objectives(run, "cosine-contrastive")]

    assert starts() == ["pretrain", "pretrain"]
    assert sorted(starts(**{"retriever-two": "continue"})) == ["finetune", "pretrain"]


def test_stages_for_questions_may_take_the_exceptions_that_the_appendix_lists():
    readings = dict.fromkeys(("nq-reranker", "nq-distillation"), "exceptions-too")
    run = made(recipes.stage_row, QUESTIONS, stage="retriever-distilled", readings=readings)
    for name in ("cross-encoder", "distillation"):
        (node,) = objectives(run, name)
        how = (node.params["epochs"], node.params["max_steps"], node.params["learning_rate"])
        assert how == (None, 20_000, 5e-6), name


def test_the_defaults_of_pre_training_are_what_the_released_code_does():
    run = made(recipes.stage_row, stage="retriever-1")
    (node,) = objectives(run, "simlm")
    assert node.params["schedule"] == "deepspeed-0.6.0"
    assert node.params["options"]["token_loss"] == {"per": 64, "specials": False}
    assert node.inputs["tokens"].params["policy"] == "truncate-pair"
    tail = made(recipes.stage_row, stage="retriever-1", readings={"pretraining-truncation": "tail"})
    assert objectives(tail, "simlm")[0].inputs["tokens"].params["policy"] == "truncate"
    bare = made(recipes.stage_row, stage="retriever-1", readings={"pretraining-input": "text-only"})
    (tokens,) = (n for n in walk([bare]) if n.stage == "tokenize")
    assert (tokens.params["policy"], tokens.params["titles"]) == ("truncate", False)


def test_mined_scores_of_questions_are_rounded_as_the_released_files_are():
    def decimals(**readings):
        run = made(recipes.stage_row, QUESTIONS, stage="retriever-distilled", readings=readings)
        return {str(n.params.get("score_decimals")) for n in walk([run]) if n.stage == "mine_answers"}

    assert decimals() == {"[4, 3]"}
    assert decimals(**{"nq-mined-score-decimals": "full-precision"}) == {"None"}


def test_the_models_whose_passages_are_shown_have_gone_through_the_same_stages():
    def trainings(**options) -> list[str]:
        shown = made(recipes.passages_shown, queries=["1"], **options)
        return [n.stage for n in walk([shown]) if n.stage in ("finetune", "mine")]

    assert trainings(encoder="bert") == trainings(encoder="simlm") == ["finetune"]
    final = trainings(encoder="simlm", readings={"case-retrievers": "final-simlm"})
    assert sorted(final) == ["finetune"] * 4 + ["mine"] * 2
