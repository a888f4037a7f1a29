"""What is trained from what, as graphs (§4.5.1, §5.3)."""

from __future__ import annotations

import pytest

from papers.costa import recipes
from repro.graph import Node
from repro.manifest.papers import paper
from repro.retrieval.recipe.request import Choices, Request
from repro.running.recipe_calls import readings_for

PASSAGES = "msmarco-passage/dev/small"


def requested(**given: str) -> Request:
    readings = readings_for(paper("costa"), "papers.costa.recipes:passage_row")
    return Request(PASSAGES, Choices(readings, {name.replace("_", "-"): one for name, one in given.items()}))


def trainings(run: Node) -> tuple[dict, dict]:
    tuned = run.inputs["passages"].inputs["model"]
    return tuned.inputs["model"].params["options"], tuned.params["options"]


@pytest.mark.parametrize("kept", ["none", "nonlinear"])
def test_elsewhere_fine_tuning_keeps_the_projector_that_a_reading_says(kept):
    names = paper("costa").readings["fine-tuning-projector"].choices
    choice = next(name for name, value in names.items() if value == kept)
    before, after = trainings(recipes.ablation_row(requested(fine_tuning_projector=choice)))
    assert (before["projector"], after["projector"]) == ("nonlinear", kept)


@pytest.mark.parametrize("temperature", [0.1, 0.5, 1.0])
def test_the_weight_of_the_contrastive_loss_is_lambda_or_that_times_tau_over_the_losses_base(temperature):
    weights = {}
    for choice in ("equation-8", "supcon-default"):
        request = requested(contrastive_loss_scale=choice)
        options, _ = trainings(recipes.ablation_row(request, temperature=temperature))
        assert options["temperature"] == temperature
        weights[choice] = options["weight"]
    assert weights == {"equation-8": 0.1, "supcon-default": pytest.approx(0.1 * temperature / 0.07)}


@pytest.mark.parametrize("fine_tuned", [False, True])
def test_the_reference_is_random_weights_as_they_are_or_fine_tuned(fine_tuned):
    model = recipes.reference_row(requested(), fine_tuned=fine_tuned).inputs["passages"].inputs["model"]
    assert ("model" in model.inputs) is fine_tuned
    start = model.inputs["model"] if fine_tuned else model
    assert start.params["weights"] == "random"


@pytest.mark.parametrize(("choice", "sizes"), [("best-of-six", [3] * 6), ("mean", [18])])
def test_few_queries_are_the_best_of_six_settings_or_the_mean_of_all(choice, sizes):
    request = requested(low_resource_selection=choice)
    runs = recipes.few_queries(request, encoder="costa", queries=100)
    assert [len(group) for group in runs.groups] == sizes
    assert len({run.fingerprint for run in runs.all}) == 18
