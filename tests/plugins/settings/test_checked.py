import pytest
import yaml

from repro.errors import ManifestError
from repro.graph import Node
from repro.manifest.papers import Paper, papers
from repro.manifest.reading_schema import Reading
from repro.plugins.settings import checked
from repro.plugins.settings.checked import checked_parameters, of_cells
from repro.plugins.settings.planned_rows import PlannedRow, planned_alike

BACKBONE = Node("backbone", {"name": "bert", "revision": "main"})
MINED = {"stage": "finetune", "objective": "contrastive", "inputs": {"training_set": "mine"}}


def training(learning_rate=2e-5, **more):
    objective = {"name": "contrastive", "version": 1, "path": "a:B"}
    mined = Node("mine", {"depth": 200}, {"run": BACKBONE})
    params = {
        "objective": objective,
        "options": {"temperature": 0.1},
        "learning_rate": learning_rate,
        "epochs": 3,
    }
    params |= {"max_steps": None, "warmup_ratio": 0.1, "warmup_steps": 0} | more
    return Node("finetune", params, {"model": BACKBONE, "training_set": mined})


CHOICES = {"temperature": {"a": {"tau": 0.1}, "b": {"tau": 1}}, "epochs": {"a": 3, "b": 4}}
READINGS = {
    name: Reading(id=name, kind="silence", where="", paper="", choices=choices, default="a")
    for name, choices in CHOICES.items()
}
SETTINGS = {
    "learning_rate": {"published": 2.0e-5, "where": "§4"},
    "epochs": {"released": 3, "script": "code:train.sh --epochs"},
    "warmup_ratio": {"published": 0.1, "where": "§4"},
    "options": {"published": {"temperature": 0.1}, "where": "§4"},
}
OTHERS = [
    {
        "id": "start",
        "rows": ["toy/1/a"],
        "nodes": {"stage": "backbone"},
        "settings": {"name": {"published": "bert", "where": "§4"}},
    },
    {
        "id": "mining",
        "rows": ["toy/1"],
        "nodes": {"stage": "mine"},
        "settings": {"depth": {"published": 200, "where": "§4"}},
    },
]


@pytest.fixture
def judge(tmp_path, monkeypatch):
    def judged(changes=None, *, nodes=(), step=None, readings=READINGS):
        planned = nodes or (training(),)
        below = {
            n.fingerprint: n
            for node in planned
            for n in (node, *node.parents(), *node.inputs["training_set"].parents())
        }
        row = PlannedRow("toy/1/a", {"toy/1/a/rr": tuple(below.values())}, readings)
        settings = {k: v for k, v in {**SETTINGS, **(changes or {})}.items() if v != "left out"}
        first = {"id": "training", "rows": ["toy/1/a"], "nodes": MINED, "settings": settings} | (step or {})
        sources = {"code": {"repository": "owner/code", "commit": "abc"}}
        (tmp_path / "settings.yaml").write_text(
            yaml.safe_dump({"sources": sources, "steps": [first, *OTHERS]})
        )
        (tmp_path / "cells.yaml").write_text("{paper: toy, title: A toy, tables: []}")
        monkeypatch.setattr(checked, "planned_rows", lambda source, machine: [row])
        return checked_parameters(Paper("toy", tmp_path, "toy"))

    return judged


def failures(found):
    return [(item.step or item.stage, item.parameter) for item in found if item.fails]


def test_a_plan_as_stated_has_no_failure(judge):
    found = judge()
    assert failures(found) == []
    assert {item.parameter: item.state for item in found if item.step == "training"} == {
        "learning_rate": "as published",
        "epochs": "as released",
        "warmup_ratio": "as published",
        "options": "as published",
    }


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"learning_rate": {"published": 3.0e-5, "where": "§4"}}, "learning_rate"),
        ({"epochs": {"released": 2, "script": "code:x"}}, "epochs"),
        ({"epochs": {"published": True, "where": "§4"}}, "epochs"),
        ({"epochs": {"published": 3, "where": "§4", "released": 2, "script": "code:x"}}, "epochs"),
        ({"options": {"published": {"temperature": 1.0}, "where": "§4"}}, "options"),
        ({"seed": {"published": 42, "where": "§4"}}, "seed"),
        ({"epochs": {"published": {"any": [2, 3]}, "where": "§4"}}, "epochs"),
        ({"epochs": {"published": {"by": {"toy/2": 3}}, "where": "§4"}}, "epochs"),
        ({"epochs": {"reading": "unheard-of"}}, "epochs"),
        ({"options": {"reading": "temperature.rho"}}, "options"),
    ],
)
def test_a_statement_that_the_plan_does_not_follow_fails(judge, changes, parameter):
    assert failures(judge(changes)) == [("training", parameter)]


@pytest.mark.parametrize("path", ["learning_rate", "epochs", "warmup_ratio"])
def test_a_parameter_that_nothing_states_fails(judge, path):
    assert failures(judge({path: "left out"})) == [("finetune contrastive", path)]


@pytest.mark.parametrize(
    "changed",
    [{"learning_rate": 3e-5}, {"warmup_steps": 1}, {"warmup_ratio": 0.0}, {"max_steps": 5}, {"epochs": 2}],
)
def test_a_changed_recipe_fails(judge, changed):
    assert failures(judge(nodes=(training(**changed),)))


def test_a_departure_needs_a_reading_of_the_row(judge):
    departing = {"published": 4, "where": "§4", "planned": 3}
    with pytest.raises(ManifestError, match="names no unspecified choice"):
        judge({"epochs": departing})
    assert failures(judge({"epochs": departing | {"reading": "other"}})) == [("training", "epochs")]
    found = judge({"epochs": departing | {"reading": "epochs"}})
    assert [item.state for item in found if item.parameter == "epochs"] == ["departs"]


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"published": 5, "planned": 3}, "'epochs' lacks the stated value 5"),
        (
            {"published": 4, "planned": 3, "released": 2, "script": "code:x"},
            "'epochs' lacks the stated value 2",
        ),
        ({"published": 3, "released": 2, "script": "code:x"}, "'epochs' lacks the stated value 2"),
        ({"published": 4, "planned": 2}, "neither text, script nor 'epochs' has 2"),
    ],
)
def test_what_the_plan_does_not_have_is_held_against_the_choices_of_the_reading(judge, stated, says):
    found = judge({"epochs": {"where": "§4", "reading": "epochs"} | stated})
    assert next(item.says for item in found if item.fails).startswith(says)


def test_a_silence_is_filled_by_a_part_of_the_default_choice(judge):
    found = judge({"options": "left out", "options.temperature": {"reading": "temperature.tau"}})
    assert failures(found) == []
    assert failures(judge({"options.temperature": {"reading": "temperature.tau"}}, readings={})) != []


def test_several_nodes_of_a_row_are_a_set_of_values(judge):
    grid = (training(), training(epochs=5))
    assert failures(judge(nodes=grid)) == [("training", "epochs")]
    assert failures(judge({"epochs": {"published": {"any": [3, 5]}, "where": "§4"}}, nodes=grid)) == []


def test_a_step_that_is_about_nothing_planned_and_a_node_that_no_step_is_about_fail(judge):
    other = {"nodes": MINED | {"inputs": {"training_set": "official_negatives"}}}
    assert failures(judge(step=other)) == [("finetune contrastive", ""), ("training", "")]
    assert failures(judge(step={"rows": ["toy/1/a", "toy/2"]})) == [("training", "")]


def test_a_step_like_another_takes_its_settings_and_may_drop_one(judge, tmp_path):
    like = {"like": "mining", "settings": SETTINGS | {"depth": None}}
    assert failures(judge(step=like)) == []
    assert failures(judge(step={"like": "mining"})) == [("training", "depth")]


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({"like": "unheard-of"}, "'unheard-of' is not a known step of toy for 'toy/training' to be like"),
        ({"like": "training"}, "'training' is not a known step of toy for 'toy/training' to be like"),
        ({"nodes": {"stage": "dance"}}, "there is no stage 'dance'"),
        ({"nodes": None}, "has rows but neither `nodes` nor `like`"),
        ({"id": "mining"}, "step 'mining' occurs twice"),
        ({"settings": {"epochs": {"published": 3}}}, "a published value needs where or cell"),
        (
            {"settings": {"epochs": {"released": 3, "script": "other:train.sh"}}},
            "'other' is not among the sources (code)",
        ),
        ({"settings": {"epochs": {"released": 3}}}, "a released value needs its script"),
        ({"settings": {"epochs": {"note": "?"}}}, "the value has no source"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence_with_its_line(judge, step, sentence):
    with pytest.raises(ManifestError) as error:
        judge(step=step)
    assert sentence in str(error.value) and "settings.yaml:" in str(error.value)


def test_rows_that_are_published_with_different_numbers_are_not_planned_alike():
    first, second = (f"costa/2/{group}.bert/dev.rr100" for group in ("first", "second"))
    rows = [PlannedRow(i.rpartition("/")[0], {i: [training()]}, {}) for i in (first, second)]
    assert list(planned_alike(papers()["costa"], rows)) == [(second, first)]
    rows[1].nodes[second].append(training(epochs=5))
    assert list(planned_alike(papers()["costa"], rows)) == []


def test_rows_that_are_planned_alike_say_nothing_of_cells_of_settings(monkeypatch):
    source = papers()["cotmae_v2"]
    alike = "cotmae_v2/1/bert/dev.rr10", "cotmae_v2/1/cotmae/dev.rr10"
    monkeypatch.setattr(checked.plans, "planned_alike", lambda *given: [alike])
    whole = checked_parameters(source)
    assert [item.row for item in whole if "is planned like" in item.says] == ["cotmae_v2/1/bert"]
    assert of_cells(whole)
