"""What the rows are made of, as graphs."""

from __future__ import annotations

import pytest

from papers.simlm import recipes
from repro.graph import Node, walk
from repro.manifest.papers import papers
from repro.recipe.request import Choices, Request

DEV, QUESTIONS = "msmarco-passage/dev/small", "dpr-w100/natural-questions/test"


def made(recipe, dataset: str = DEV, *, readings: dict[str, str] | None = None, **options) -> Node:
    choices = Choices(papers()["simlm"].readings, readings or {}, None)
    return recipe(Request(dataset, choices), **options)


def objectives(run: Node, name: str) -> list[Node]:
    return [node for node in walk([run]) if node.params.get("objective", {}).get("name") == name]


@pytest.mark.parametrize(("devices", "together"), [("eight-devices", 8), ("four-devices", 4)])
def test_trainings_for_questions_follow_the_number_of_devices(devices, together):
    readings = {"nq-batch": devices}
    run = made(recipes.stage_row, QUESTIONS, stage="retriever-distilled", readings=readings)
    (teacher,) = objectives(run, "cross-encoder")
    assert teacher.params["queries_per_batch"] == 4 * together
    retrievers = objectives(run, "cosine-contrastive")
    assert {node.params["queries_per_batch"] for node in retrievers} == {8 * together}
    assert {node.params["options"]["weight"] for node in retrievers} == {1 / together}
    (student,) = objectives(run, "distillation")
    assert student.params["options"]["weight"] == 1 / together  # alpha is 1 in the script


def test_the_teacher_for_questions_as_print_has_it():
    readings = {"nq-reranker": "as-printed"}
    run = made(recipes.stage_row, QUESTIONS, stage="retriever-distilled", readings=readings)
    (teacher,) = objectives(run, "cross-encoder")
    wanted = {"queries_per_batch": 64, "passages_per_query": 64, "passage_length": 192, "epochs": 3}
    assert {name: teacher.params[name] for name in wanted} == wanted and teacher.params["max_steps"] is None


def test_all_of_a_querys_negatives_are_scored_for_distillation():
    run = made(recipes.stage_row, stage="retriever-distilled")
    (scored,) = (node for node in walk([run]) if node.stage == "score_pairs")
    mined = scored.inputs["training_set"].params
    assert scored.params["per_query"] == mined["per_query"] + mined["random_added"] == 210


def test_the_models_whose_passages_are_shown_have_gone_through_the_same_stages():
    def trainings(**options) -> list[str]:
        shown = made(recipes.passages_shown, queries=["1"], **options)
        return [node.stage for node in walk([shown]) if node.stage in ("finetune", "mine")]

    assert trainings(encoder="bert") == trainings(encoder="simlm") == ["finetune"]
    final = trainings(encoder="simlm", readings={"case-retrievers": "final-simlm"})
    assert sorted(final) == ["finetune"] * 4 + ["mine"] * 2  # two retrievers, re-ranker, distilled retriever
