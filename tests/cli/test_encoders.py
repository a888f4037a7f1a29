"""``repro export encoder``, and ``repro compare`` of the exported encoder."""

import json

import pytest
from huggingface_hub import ModelCard

import repro as suite
from repro.errors import UsageError
from repro.manifest.papers import papers
from tests.floats import close
from tests.tiny_models import save_tiny_model

MANIFEST = """\
paper: toy
title: A toy
tables:
- id: "1"
  about: one encoder
  columns:
  - {id: dev, head: [Dev, MRR], dataset: msmarco-passage/dev/small, measure: RR@10}
  - {id: recall, dataset: msmarco-passage/dev/small, measure: R@1000, unit: percent}
  - {id: size, dataset: msmarco-passage/dev/small, measure: nDCG@10, kind: index-size}
  - {id: average, mean_of: [recall], unit: percent}
  rows:
  - {id: best, label: Best, cells: ["0.9", "-", "-", "-"]}
  - {id: random, label: Random, recipe: random, with: {pooling: mean}, cells: ["0.1", "20.0", "-", "20.0"]}
  - {id: words, label: Words, recipe: words, cells: ["0.1", "-", "-", "-"]}
  - {id: theirs, label: Theirs, recipe: theirs, cells: ["0.2", "-", "-", "-"]}
"""
RECIPES = """\
from repro.retrieval import recipe
from repro.graph import Node


def random(request, *, pooling):
    documents, topics = recipe.corpus(request.collection), recipe.queries(request.dataset)
    vocabulary = Node("vocabulary", {"size": 300}, {"corpus": documents})
    sizes = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64, "max_positions": 64}
    model = Node("initialise", {**sizes, "dropout": 0, "seed": 1}, {"tokenizer": vocabulary})
    texts = recipe.Texts(
        documents=documents, topics=topics, query_length=12, passage_length=40, separator="[SEP]",
        pooling=pooling,
    )
    return recipe.search(*recipe.encode(model, texts, normalize=True, precision="fp32"), depth=1000)


def words(request):
    documents, topics = recipe.corpus(request.collection), recipe.queries(request.dataset)
    return recipe.bm25(documents, topics, k1=0.9, b=0.4, multifield=False, depth=10)


def theirs(request):
    raise AssertionError("called below full scale")


theirs.full_only = "a released checkpoint is measured at full scale only"
"""


@pytest.fixture
def encoders(toy):
    toy.write_text(MANIFEST)
    (toy.parent / "recipes.py").write_text(RECIPES)
    return toy


def test_an_exported_encoder_reaches_the_scores_of_its_run(encoders, repro, folders, report):
    report("toy/1/best/dev", "0.8")
    done = repro("run toy --table 1 --row random --scale tiny --format json")
    assert done.status == 0, done.err
    measured = {cell["id"].rpartition("/")[2]: cell for cell in done.json if cell["measured"] is not None}
    assert set(measured) == {"dev", "recall", "average"} and measured["recall"]["measured"] > 1
    assert [measured[column]["cut_at"] for column in ("dev", "recall", "average")] == [None, 100, 100]
    to = folders / "exported"
    said = repro("export encoder toy/1/random/dev --scale tiny -o", to)
    assert (said.status, said.out) == (0, f"{to}\n"), said.err
    records = (folders / "results/records/tiny/toy.jsonl").read_text()
    told = repro("compare", to, "toy", "--table", "1", "--scale", "tiny", "--format", "json")
    assert told.status == 0, told.err
    assert {c["column"]: c["value"] for c in told.json} == {k: c["measured"] for k, c in measured.items()}
    assert [c["cut_at"] for c in told.json] == [None, 100, 100]
    [test] = told.json[0]["tests"]
    assert (test["over"], test["by"], test["ties"]) == ("random", "measured", told.json[0]["queries"])
    assert "(by its repro.json)" in told.err
    assert (folders / "results/records/tiny/toy.jsonl").read_text() == records

    card = (to / "README.md").read_text()
    header = ModelCard.load(to / "README.md").data
    assert (header.language, header.library_name, header.license) == ("en", "sentence-transformers", "other")
    assert header.base_model is None and "dense-retrieval" in header.tags
    assert measured["dev"]["fingerprint"] in card and "pooling 'mean'" in card and "0." in card
    assert "\n\nR@1000: computed on the top 100 (this scale retrieves no more).\n" in card
    assert "invented passages (`tiny/passage`)" in card
    assert "| toy/1/random/recall | tiny | tiny/passage/dev | R@1000 |" in card

    by_number = repro("export encoder", measured["dev"]["fingerprint"], "-o", folders / "again")
    assert by_number.status == 0, by_number.err
    weights = [(folders / name / "model.safetensors").read_bytes() for name in ("exported", "again")]
    assert weights[0] == weights[1]

    first, second = (folders / "store/search").glob("*/run.trec")
    lines = [[line.split() for line in run.read_text().splitlines()] for run in (first, second)]
    scores = [{(query, document): float(score) for query, _, document, _, score, _ in run} for run in lines]
    assert scores[0].keys() == scores[1].keys() and len(scores[0]) > 1000
    close(scores[1], scores[0], dtype="float32")
    judged = ("--dataset", "tiny/passage/dev", "--measure", "RR@10", "--measure", "R@1000")
    by_file = repro("compare", first, *judged, "--format", "json").json
    close(by_file[0]["value"], measured["dev"]["measured"])
    assert [line["cut_at"] for line in by_file] == [None, 100]
    shown = repro("compare", first, *judged)
    assert "R@1000: computed on the top 100 (the run contains no more)" in shown.out

    [model] = (folders / "store/initialise").glob("*/model")
    weights = bytearray((model / "model.safetensors").read_bytes())
    weights[-4000:] = bytes(byte ^ 0x55 for byte in weights[-4000:])
    (model / "model.safetensors").write_bytes(weights)
    refusal = f"artefact initialise/{model.parent.name[:12]} is damaged: model/model.safetensors is altered; "
    out = repro("export encoder toy/1/random/dev --scale tiny -o", folders / "harmed")
    assert out.refusal.startswith(refusal) and not (folders / "harmed").exists()
    stored = repro("compare", model, "toy/1", "--scale", "tiny", "--format", "json")
    assert stored.refusal.startswith(refusal)

    description = folders / "encoder.yaml"
    description.write_text(f"model: {to}\npooling: cls\nquery_prefix: 'who '\nseparator: none\n")
    other = repro("compare", description, "toy/1", "--scale", "tiny", "--format", "json")
    assert other.status == 0 and other.json[0]["column"] == "dev", other.err
    assert "titles left out" in other.err and other.json[0]["value"] != measured["dev"]["measured"]
    compared = suite.compare("toy/1", yours=to, scale="tiny")
    assert compared.to_frame().loc["toy/1/yours/recall", "measured"] == measured["recall"]["measured"]


def test_columns_whose_data_are_not_at_hand_are_left_out_of_an_encoder_s_row(encoders, repro, tmp_path):
    text = MANIFEST.replace("msmarco-passage/dev/small, measure: R@1000", "beir/fiqa/test, measure: R@1000")
    encoders.write_text(text.replace("msmarco-passage/dev/small", "tiny/passage/dev"))
    papers.cache_clear()
    save_tiny_model(tmp_path / "m")
    said = repro(
        "compare", tmp_path / "m/model", "toy/1/random/dev", "toy/1/random/recall", "--format", "json"
    )
    assert said.status == 0, said.err
    assert [line["column"] for line in said.json] == ["dev"]
    assert "column recall left out: the documents of beir/fiqa are not in" in said.err


def test_a_row_of_full_scale_only_is_not_run_below_it_and_says_why(encoders, repro):
    done = repro("run toy --table 1 --row theirs --scale tiny --format json")
    assert done.status == 0, done.err
    found = {(c["verdict"], c["why"]) for c in done.json if c["printed"] != "-"}
    assert found == {("not run", "a released checkpoint is measured at full scale only")}


@pytest.mark.parametrize(
    "description, said",
    [
        ("model: {}/m/model\nquery_length: 1", "at least 3"),
        ("model: {}/m/model\nquery_length: twelve", "query_length of an encoder cannot be 'twelve'"),
        (
            "model: {}/m/model\npoling: cls",
            "{}/encoder.yaml: 'poling' is not a known key of an encoder. Did you mean pooling?",
        ),
        ("model: [{}/m/model]", "{}/encoder.yaml:1: "),
    ],
)
def test_a_bad_description_of_an_encoder_is_one_sentence(encoders, repro, tmp_path, description, said):
    (tmp_path / "m").mkdir()
    save_tiny_model(tmp_path / "m")
    (tmp_path / "encoder.yaml").write_text(description.format(tmp_path))
    left = repro("compare", tmp_path / "encoder.yaml", "toy/1")
    assert said.format(tmp_path) in left.refusal


def test_an_encoder_that_is_nowhere_is_blocked_with_a_remedy(encoders, repro):
    left = repro("compare no-body/no-thing toy/1")
    assert left.status == 4 and "repro data fetch model:no-body/no-thing" in left.sentence


def test_a_directory_that_is_no_model_is_said(encoders, repro, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text(json.dumps({"model_type": "bert"}))
    left = repro("compare", tmp_path / "m", "toy/1", "--scale", "tiny")
    assert left.status == 4 and "cannot be read as an encoder" in left.err.splitlines()[-1]


def test_a_cell_of_several_models_is_refused_with_their_names():
    from repro.exchange.encoder_export import MeasuredEncoder, only_source
    from repro.graph import Node

    models = [Node("backbone", {"name": name}) for name in "ab"]
    with pytest.raises(UsageError, match="a mean over 2 models") as caught:
        only_source("x", [MeasuredEncoder(model, model, model) for model in models])
    assert all(model.fingerprint[:12] in str(caught.value) for model in models)


@pytest.mark.parametrize(
    "what, said",
    [
        ("toy/1/random/dev", "not in the store"),
        ("toy/1/words/dev", "made by bm25"),
        ("toy/1/best/dev", "nothing is measured for it"),
        ("toy/1/theirs/dev", "nothing is measured for it at scale tiny"),
        ("toy/1/dev", "is not the name of a cell"),
        ("abcdef", "no stage planned with this store"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(encoders, repro, tmp_path, what, said):
    left = repro("export encoder", what, "--scale", "tiny", "-o", tmp_path / "out")
    assert said in left.refusal
    assert not (tmp_path / "out").exists()
