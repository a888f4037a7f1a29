"""Numbers that no setting states, or that only another choice of a reading uses."""

import pytest

from repro.graph import walk
from repro.manifest.cells import cell
from repro.manifest.papers import papers
from repro.plugins.settings.planned_rows import at_path
from repro.running.measurement import MeasurementBuilder
from repro.running.requirements import Machine
from repro.running.scale import scale


def planned(identifier, **choices):
    readings = {name.replace("_", "-"): choice for name, choice in choices.items()}
    return MeasurementBuilder(scale("full"), Machine(), readings).measure(cell(identifier), None)


BY_COSTA = {"length": 512, "epochs": 6, "texts_per_batch": 64, "learning_rate": 5e-5, "warmup_ratio": 0.1}
STATED = [  # cell, choice, objective, and what paper, makers or the reading's words state of what it plans
    (
        "costa/1/bm25neg.seed/dev.rr10",  # §2.2
        "seed-checkpoint=three-layers-span-2",
        "seed",
        BY_COSTA | {"options.decoder_layers": 3, "options.span": 2, "options.weight": 1.0},
    ),
    (
        "cpdae/1/simcse/dev-passage.rr10",  # SimCSE's own
        "simcse-checkpoint=pre-train-again",
        "simcse",
        BY_COSTA | {"options.temperature": 0.05, "options.dropout": 0.1, "options.similarity": "cosine"},
    ),
    (
        "costa/1/bm25neg.costa/dev.rr10",  # §4.5.2, and [CLS] and [SEP]
        "length-special-tokens=not-counted",
        "contrastive",
        {"query_length": 34, "passage_length": 130},
    ),
    (
        "costa/4/base/dev.rr10",  # §5.3, λ of §4.5.1
        "ablation-temperature=as-printed",
        "costa",
        {"epochs": 3, "options.temperature": 1.0, "options.weight": 0.1},
    ),
    (
        "simlm/4/simlm/nq.top20",  # App. B, α 0.2 over the eight devices of nq-batch
        "nq-distillation=as-msmarco",
        "distillation",
        {"passages_per_query": 24, "epochs": 6, "options.weight": 0.2 / 8},
    ),
]


@pytest.mark.parametrize(("identifier", "choice", "objective", "stated"), STATED)
def test_what_another_choice_alone_plans_is_what_is_stated_of_it(identifier, choice, objective, stated):
    nodes = walk(planned(identifier, **dict([choice.split("=")])).parts)
    [node] = [n for n in nodes if n.params.get("objective", {}).get("name") == objective]
    assert {path: at_path(node, path) for path in stated} == pytest.approx(stated)


@pytest.mark.parametrize(
    ("choice", "measure"), [("released-code", "R(rel=2)@1000"), ("one-everywhere", "R@1000")]
)
def test_from_which_grade_on_a_passage_counts_is_a_choice(choice, measure):
    assert planned("costa/1/bm25neg.costa/dl19.r1000", trec_recall_grade=choice).measure == measure


def test_documents_are_fine_tuned_once_in_the_first_iteration_and_twice_in_the_second():
    rows = [row for table in papers()["costa"].manifest.tables if table.id == "2" for row in table.rows]
    rounds = {"first": 1, "second": 2}
    tuned = [row for row in rows if row.group in rounds and row.recipe]
    assert len(tuned) > 8
    for row in tuned:
        nodes = walk(planned(f"costa/2/{row.id}/dev.rr100").parts)
        on_documents = [n for n in nodes if n.stage == "finetune" and n.params["passage_length"] == 512]
        assert len(on_documents) == rounds[row.group], row.id
