import json
from pathlib import Path

import pytest

from papers.costa import recipes as costa
from papers.cotmae_v2 import encoders as cotmae_v2
from papers.cpdae import recipes as cpdae
from papers.simlm import encoders as simlm
from repro.graph import Node
from repro.manifest.papers import papers
from repro.running.cost.shapes import BASE
from repro.running.cost.work import work

RECORD = Path(__file__).resolve().parents[2] / "benchmarks/records/pre-training.json"
COUNTED = {
    row["objective"]: row for row in json.loads(RECORD.read_text())["rows"] if row["objective"] in papers()
}
OBJECTIVES = {
    "costa": costa.COSTA,
    "cpdae": cpdae.CPDAE,
    "cotmae_v2": cotmae_v2.OBJECTIVE,
    "simlm": simlm.SIMLM,
}
BERT = Node("backbone", {"name": "bert-base-uncased", "revision": "main"})
NARROW = {"hidden_size": 256, "layers": 12, "heads": 4, "intermediate_size": 1024}


def pretraining(paper, length):
    generator = Node("initialise", NARROW, {"tokenizer": Node("vocabulary", {"size": BASE.vocabulary})})
    inputs = {"model": BERT, "tokens": Node("tokenize", {"policy": "chunk"}, {"model": BERT})}
    inputs |= {"generator": generator} if paper == "simlm" else {}
    params = {"objective": OBJECTIVES[paper].identity, "texts_per_batch": 8, "length": length}
    return Node("pretrain", {**params, "max_steps": 100, "epochs": None}, inputs)


@pytest.mark.parametrize("paper", OBJECTIVES)
def test_the_operations_of_a_token_are_those_that_were_counted(paper):
    row = COUNTED[paper]
    length = int(row["texts a step"].split(" of ")[1])
    counted = float(row["TFLOP/s"]) * 1e12 / float(row["tokens a second"])
    assert work(pretraining(paper, length)).training / (100 * 8 * length) == pytest.approx(counted, rel=0.03)


def test_an_objective_that_declares_nothing_passes_once_with_berts_head():
    assert OBJECTIVES["costa"].passes == {}
    assert work(pretraining("costa", 512)).launched == 100 * 12


def test_layers_of_decoders_second_passes_and_frozen_models_are_launched_too():
    layers = {paper: work(pretraining(paper, 144)).launched / 100 for paper in OBJECTIVES}
    assert layers == {"costa": 12, "cpdae": 24, "cotmae_v2": 16, "simlm": pytest.approx(12 + 2 + 2 * 12 / 3)}
