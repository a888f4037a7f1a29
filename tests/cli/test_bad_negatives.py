"""A public file of negatives that is not here is told with the way to get it; one that is broken, with the line."""

import pytest

ID = "msmarco-passage/train/hard-negatives"
RECIPES = """\
from dataclasses import replace

from repro.retrieval import recipe

TRAIN = "msmarco-passage/train/judged"
CONTRASTIVE = recipe.Objective(
    "contrastive", 1, "repro.retrieval.nn.bi_encoder:BiEncoderContrastive",
    "similarity=dot|cosine negatives=in-batch|own|pairwise projector=nonlinear|linear|none "
    "projector_start=pre-trained|new",
)
OPTIONS = {
    "temperature": 1.0, "similarity": "dot", "negatives": "own", "projector": "none", "projector_start": "new",
}


def words(request, *, depth):
    bert = recipe.backbone("some/bert", revision="main")
    texts = recipe.Texts(
        documents=recipe.corpus("msmarco-passage"), topics=recipe.queries(TRAIN),
        query_length=32, passage_length=144, separator=" ", pooling="cls",
    )
    negatives = recipe.listed_negatives("msmarco-passage/train/hard-negatives", margin=3.0)
    optimisation = recipe.Optimisation(
        batch_size=8, epochs=1, learning_rate=1e-5, warmup_ratio=0.1, schedule="linear", weight_decay=0.0,
        max_grad_norm=1.0, precision="fp32", seed=1,
    )
    model = recipe.finetune(
        bert, negatives, texts=texts, options=OPTIONS, passages_per_query=2, optimisation=optimisation,
        objective=CONTRASTIVE,
    )
    texts = replace(texts, topics=recipe.queries(request.dataset))
    return recipe.search(*recipe.encode(model, texts, normalize=False, precision="fp32"), depth=depth)
"""
CELL = "toy/1/bm25/dev"


@pytest.fixture
def data(toy, folders, monkeypatch):
    """A data folder without negatives; the only paper there is trains on them."""
    (toy.parent / "recipes.py").write_text(RECIPES)
    place = folders / "data"
    (place / "msmarco-passage").mkdir(parents=True)
    monkeypatch.setenv("REPRO_DATA", str(place))
    return place


def _obstacle(place):
    remedy = (
        f"run `repro data fetch {ID}` (size unknown; MS MARCO terms; none stated for the negatives) "
        "or lay msmarco-passage/msmarco-hard-negatives.jsonl into the data folder"
    )
    return {"cause": f"the negatives of {ID} are not in {place}", "remedy": remedy}


def test_without_the_file_plan_and_run_say_how_to_get_it(repro, data):
    said = repro("plan", CELL, "--format", "json")
    states = {node["stage"]: node for node in said.json}
    assert said.status == 4
    assert states["listed_negatives"]["blocked"] == [_obstacle(data)]
    assert _obstacle(data) in states["finetune"]["blocked"]
    ran = repro("run", CELL, "--format", "json")
    assert ran.status == 4 and _obstacle(data) in ran.json[0]["blocked"]


def test_at_tiny_scale_nothing_needs_the_file(repro, data):
    said = repro("plan", CELL, "--scale", "tiny", "--format", "json")
    states = {node["stage"]: node for node in said.json}
    assert said.status == 0 and "listed_negatives" not in states
    assert states["mine"]["blocked"] == []


def test_a_broken_line_is_told_with_file_and_number(repro, data):
    file = data / "msmarco-passage/msmarco-hard-negatives.jsonl"
    file.write_text('{"qid": "1", "pos": [7], "neg": {"bm25": [8]}}\n')
    said = repro("run", CELL, "--format", "json")
    assert said.status == 3
    assert f"failed: {file}:1: no margin without a ce-score of passage '7'" in said.err
    file.write_text('{"qid": "1", "pos": [{"pid": "7", "ce-score": 9.0}]}\n')
    assert (
        f"failed: {file}:1: neg is missing, not an object of lists"
        in repro("run", CELL, "--format", "json").err
    )


def test_data_check_reads_the_file(repro, data):
    file = data / "msmarco-passage/msmarco-hard-negatives.jsonl"
    file.write_text('{"qid": "1", "pos": [7], "neg": {"bm25": [8]}}\n')
    unknown = "negatives of msmarco-passage/train/hard-negatives"
    assert repro("data", "check", ID).out == f"not held against a known digest: {unknown}\nnothing wrong\n"
    file.write_text("[]\n")
    assert f"{file}:1: is not a JSON object but list" in repro("data", "check", ID).out


def test_an_objective_whose_options_have_no_names_is_refused_by_plan_as_by_run(repro, toy, folders):
    (toy.parent / "open.py").write_text(
        "from repro.retrieval.nn.bi_encoder import BiEncoderContrastive\n\n\n"
        "class Open(BiEncoderContrastive):\n"
        "    def __init__(self, model, tokenizer, **options):\n"
        "        super().__init__(model, tokenizer, **options)\n"
    )
    objective = "repro.retrieval.nn.bi_encoder:BiEncoderContrastive"
    (toy.parent / "recipes.py").write_text(RECIPES.replace(objective, "papers.toy.open:Open"))
    said, ran = (repro(verb, CELL, "--scale", "tiny") for verb in ("plan", "run"))
    assert said.status == ran.status == 2
    assert said.err == ran.err
    assert "papers.toy.open:Open has **options; its __init__ has to name each option" in said.err
