"""What is trained from what, as graphs (§4.1.3, §4.4)."""

from __future__ import annotations

import pytest

from papers.cpdae import recipes
from repro.graph import Node
from repro.manifest.papers import paper
from repro.retrieval.recipe.request import Choices, Request
from repro.running.recipe_calls import readings_for

PASSAGES, DOCUMENTS = "msmarco-passage/dev/small", "msmarco-document/dev"


def requested(dataset: str, **given: str) -> Request:
    readings = readings_for(paper("cpdae"), "papers.cpdae.recipes:ranking_row")
    return Request(dataset, Choices(readings, {name.replace("_", "-"): one for name, one in given.items()}))


def trainings(run: Node) -> list[Node]:
    found = [run.inputs["passages"].inputs["model"]]
    while found[-1].inputs["model"].stage == "finetune":
        found.append(found[-1].inputs["model"])
    return found


def miner(training: Node) -> Node:
    return training.inputs["training_set"].inputs["run"].inputs["passages"].inputs["model"]


def test_passages_are_trained_on_from_the_warm_up_model_on_negatives_that_it_finds():
    last, first = trainings(recipes.ranking_row(requested(PASSAGES), encoder="cpdae"))
    assert first.inputs["training_set"].stage == "official_negatives"
    assert first.inputs["model"].stage == "pretrain"
    assert miner(last).fingerprint == first.fingerprint
    [anew] = trainings(
        recipes.ranking_row(requested(PASSAGES, hard_negative_start="restart"), encoder="cpdae")
    )
    assert miner(anew).fingerprint == first.fingerprint


def test_documents_are_trained_in_two_rounds_each_on_negatives_of_the_model_before_it():
    second, first, *passages = trainings(recipes.ranking_row(requested(DOCUMENTS), encoder="cpdae"))
    of_passages = trainings(recipes.ranking_row(requested(PASSAGES), encoder="cpdae"))
    assert [one.fingerprint for one in passages] == [one.fingerprint for one in of_passages]
    assert miner(second).fingerprint == first.fingerprint
    assert miner(first).fingerprint == passages[0].fingerprint


def few(dataset: str, **given: str) -> list[list[Node]]:
    made = recipes.few_queries_row(requested(dataset, **given), encoder="cpdae", queries=100)
    return [trainings(run) for run in made.all]


def test_few_queries_are_trained_on_once_from_the_pre_trained_encoder_on_negatives_by_bm25():
    for dataset, source in ((PASSAGES, "official_negatives"), (DOCUMENTS, "mine")):
        samples = few(dataset)
        assert [len(one) for one in samples] == [1, 1, 1]
        drawn = [training.inputs["training_set"] for [training] in samples]
        assert [(one.stage, one.params["sample"]) for one in drawn] == [("sample", n) for n in range(3)]
        assert {one.inputs["training_set"].stage for one in drawn} == {source}
    assert {one.inputs["training_set"].inputs["run"].stage for one in drawn} == {"bm25"}
    assert {training.inputs["model"].stage for [training] in samples} == {"pretrain"}


@pytest.mark.parametrize(
    ("choice", "before"), [("same-queries", ["sample"]), ("all-queries", ["mine", "official_negatives"])]
)
def test_few_queries_on_documents_may_follow_those_on_passages_or_the_whole_passage_model(choice, before):
    for _, *earlier in few(DOCUMENTS, low_resource_documents=choice):
        assert [one.inputs["training_set"].stage for one in earlier] == before
        assert {one.params["passage_length"] for one in earlier} == {128}
