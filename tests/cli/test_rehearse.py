"""``repro run --rehearse`` on made-up files with the real names, and a small checkpoint."""

import json
import shutil
from types import SimpleNamespace

import pytest

from repro.running.cost.rehearsals import rehearsals
from repro.running.engines.inline import run_node
from repro.running.rehearsal import run_apart
from repro.store import Store
from tests.tiny_models import WORDS, tiny_masked_lm, tiny_tokenizer

PASSAGES, TRAINING, DEV = 60, 24, 9
CELLS = """\
paper: toy
title: A toy
tables:
- id: "1"
  about: one system
  columns:
  - {id: dev, dataset: msmarco-passage/dev/small, measure: RR@10}
  rows:
  - {id: dense, label: Dense, recipe: dense, cells: ["0.1"]}
"""
RECIPES = """\
from dataclasses import replace

from repro.retrieval import recipe

TRAIN = "msmarco-passage/train/judged"
CONTRASTIVE = recipe.Objective(
    "contrastive", 1, "repro.retrieval.nn.bi_encoder:BiEncoderContrastive",
    "similarity=dot|cosine negatives=in-batch|own|pairwise projector=nonlinear|linear|none "
    "projector_start=pre-trained|new",
)
OPTIONS = {"temperature": 1.0, "similarity": "dot", "negatives": "in-batch"}
OPTIONS |= {"projector": "none", "projector_start": "new"}
COSTS = recipe.Optimisation(
    batch_size=8, epochs=3, learning_rate=1e-4, schedule="linear", weight_decay=0.0, max_grad_norm=1.0,
    precision="fp16", seed=1,
)


def dense(request):
    model = recipe.backbone("bert-base-uncased", revision="main")
    judged = recipe.qrels(TRAIN)
    texts = recipe.Texts(
        documents=recipe.corpus(request.collection), topics=recipe.queries(TRAIN), passage_length=24,
        query_length=12, separator=" ", pooling="cls",
    )
    official = recipe.official_negatives(
        "msmarco-passage/train/triples-v2", per_query=4, seed=0, judgements=judged
    )
    how = {"objective": CONTRASTIVE, "options": OPTIONS, "passages_per_query": 3, "texts": texts}
    first = recipe.finetune(model, official, **how, optimisation=COSTS)
    found = recipe.search(*recipe.encode(first, texts, normalize=False, precision="fp16"), depth=20)
    mined = recipe.mine(found, judged, depth=20, per_query=4, seed=0)
    second = recipe.finetune(first, mined, **how, optimisation=COSTS)
    asked = replace(texts, topics=recipe.queries(request.dataset))
    return recipe.search(*recipe.encode(second, asked, normalize=False, precision="fp16"), depth=20)
"""
SCALE = """\
first-rows:
  about: a rehearsal of few rows
  like: rehearsal
  first: {documents: 20, queries: 6, triples: 100}
  steps: 2
"""


def _text(number: int, words: int) -> str:
    return " ".join(WORDS[(number * 7 + place * 3) % len(WORDS)] for place in range(words))


def _topics(data, stem: str, queries: range) -> None:
    (data / f"topics/topics.{stem}.txt").write_text("".join(f"{q}\t{_text(q, 4)}\n" for q in queries))
    (data / f"qrels/qrels.{stem}.txt").write_text("".join(f"{q} 0 {q % PASSAGES} 1\n" for q in queries))


@pytest.fixture
def papers_data(folders, papers_in, monkeypatch):
    data, root = folders / "data", folders / "papers"
    for folder in ("topics", "qrels", "msmarco-passage", "models/bert-base-uncased"):
        (data / folder).mkdir(parents=True)
    rows = [{"_id": str(number), "text": _text(number, 12)} for number in range(PASSAGES)]
    (data / "msmarco-passage/corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _topics(data, "msmarco-passage.train", range(100, 100 + TRAINING))
    _topics(data, "msmarco-passage.dev-subset", range(500, 500 + DEV))
    triples = [
        f"{100 + n % TRAINING}\t{(100 + n % TRAINING) % PASSAGES}\t{n * 11 % PASSAGES}\n" for n in range(300)
    ]
    (data / "msmarco-passage/qidpidtriples.train.full.2.tsv").write_text("".join(triples))
    tiny_masked_lm().save_pretrained(data / "models/bert-base-uncased")
    tiny_tokenizer().save_pretrained(data / "models/bert-base-uncased")
    (root / "toy").mkdir(parents=True)
    for name, text in (("__init__.py", ""), ("toy/__init__.py", ""), ("toy/recipes.py", RECIPES)):
        (root / name).write_text(text)
    (root / "toy/cells.yaml").write_text(CELLS)
    papers_in(root)
    monkeypatch.setenv("REPRO_DATA", str(data))
    (folders / "scale.yaml").write_text(SCALE)
    return folders


@pytest.fixture
def in_this_process(monkeypatch):
    monkeypatch.setattr("repro.running.rehearsal.run_apart", run_node)


def test_every_stage_is_tried_and_the_whole_is_extrapolated(repro, papers_data, in_this_process, monkeypatch):
    monkeypatch.setattr("repro.running.scale._gpus", lambda: None)
    scale = ("--scale", papers_data / "scale.yaml")
    said = repro("run --rehearse toy --table 1", *scale, "--format", "json")
    assert said.status == 0 and "this machine has no GPU, so all stages run at precision fp32" in said.err
    told = said.json
    assert told["not_rehearsed"] == []
    assert len(told["nodes"]) == 17
    counts = {n["stage"]: n["share"] for n in told["nodes"] if n["share"]}
    assert counts["corpus"] == {"of": "documents", "done": 20, "whole": 8_841_823}
    assert counts["official_negatives"] == {"of": "triples", "done": 100, "whole": 397_768_673}
    assert counts["mine"] == {"of": "queries", "done": 6, "whole": 502_939}
    # 2 steps of 6 queries, and 3 epochs of 502,939 in batches of 8
    assert counts["finetune"]["done"] == 12 and counts["finetune"]["whole"] == 188_604 * 8
    assert all(n["seconds"] >= 0 and n["peak_bytes"] > 0 for n in told["nodes"])
    assert told["disk_bytes"] > sum(n["disk_bytes"] for n in told["nodes"])
    assert told["disk_peak_bytes"] >= told["disk_peak_bytes_without_vectors"] > 0
    lines = repro("run --rehearse toy --table 1", *scale)
    assert "17 stages took " in lines.err
    uncounted = {n["fingerprint"] for n in told["nodes"] if n["whole_hours"] is None}
    assert set(told["not_in_hours"]) == uncounted and uncounted
    whole = f"Extrapolated: {told['hours']:,.1f} hours one stage after another"
    assert "all of it" not in lines.err and whole.split("extrapolated")[0] in lines.err
    assert f" on this machine, not counting {len(uncounted)} stage" in lines.err
    assert " named below, " in lines.err and ", at least " in lines.err
    assert "20 documents" in lines.out and "saved for `repro plan` in " in lines.err


def test_plans_of_full_take_hours_from_what_was_measured(repro, papers_data, in_this_process):
    assert "measured in rehearsal" not in repro("plan toy --all").err
    repro("run --rehearse toy --all --scale", papers_data / "scale.yaml")
    known = rehearsals(Store(papers_data / "store"))
    assert known
    planned = repro("plan toy --all --format json").json
    measured = [n for n in planned if n["hours_rehearsed"]]
    assert {"backbone", "finetune"} <= {n["stage"] for n in measured}
    assert all(n["hours"] is not None for n in measured)
    assert "measured in rehearsal on this machine: " in repro("plan toy --all").err
    assert not any(n["hours_rehearsed"] for n in repro("plan toy --all --gpu h100 --format json").json)


def test_a_record_holds_the_name_of_a_users_scale_and_what_tells_it_from_another(repro, papers_data):
    file = papers_data / "scale.yaml"
    assert repro("run toy --all --scale", file).status == 0
    [line] = (papers_data / "results/records/first-rows/toy.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["scale"] == "first-rows" and len(record["scale_facts"]) == 12
    file.write_text(SCALE.replace("steps: 2", "steps: 1"))
    repro("run toy --all --scale", file)
    *_, other = (papers_data / "results/records/first-rows/toy.jsonl").read_text().splitlines()
    assert json.loads(other)["scale_facts"] != record["scale_facts"]
    compared = repro("compare toy --all --scale", file, "--format", "json").json
    assert [c["verdict"] for c in compared] == ["scaled"]


def test_what_is_missing_is_named_and_holds_back_only_what_needs_it(repro, papers_data, in_this_process):
    (papers_data / "data/msmarco-passage/qidpidtriples.train.full.2.tsv").unlink()
    said = repro("run --rehearse toy --all --scale", papers_data / "scale.yaml")
    assert said.status == 4
    assert "not rehearsed: official_negatives on msmarco-passage/train/triples-v2" in said.err
    assert "not counting " in said.err
    assert "repro data fetch msmarco-passage/train/triples-v2" in said.err
    assert "corpus on msmarco-passage" in said.out


def test_a_truncated_collection_is_still_refused_at_full(repro, papers_data, in_this_process, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**15))
    said = repro("run toy --all")
    assert "60 documents, but msmarco-passage has 8,841,823 in the papers" in said.err


def test_a_scale_with_data_of_its_own_cannot_be_extrapolated_from(repro, papers_data):
    said = repro("run --rehearse toy --all --scale tiny")
    assert said.status == 2 and "Use a scale like rehearsal" in said.err


def test_the_whole_is_no_rehearsal_of_itself(repro, papers_data, folders):
    said = repro("run --rehearse toy --all --scale full")
    assert said.status == 2 and "scale full reads all rows and would be run as a whole. Remove" in said.err
    assert not list((folders / "store").glob("*/*"))


def test_a_stage_of_a_rehearsal_is_a_process_of_its_own_whose_failure_is_told(
    repro, papers_data, monkeypatch
):
    from repro.api import select
    from repro.errors import StageError
    from repro.progress import Progress
    from repro.running.scale import user_scale

    plan = select("toy", scale=user_scale(papers_data / "scale.yaml")).plan()
    store, node = Store(papers_data / "store"), plan.nodes[0]
    store.remember(plan.nodes)
    store.partial(node).mkdir(parents=True)
    (store.partial(node) / "of-before").write_text("what was killed, with which its time would be too short")
    assert run_apart(node, store, Progress()) == store.path(node)
    assert not (store.path(node) / "of-before").exists()
    assert store.record(node)["facts"]["peak_memory_kib"] > 1000
    last = plan.nodes[-1]
    with pytest.raises(StageError, match="in the store"):
        run_apart(last, store, Progress())


def test_an_objective_whose_options_have_no_names_is_refused_by_plan_as_by_run(repro, papers_data):
    toy = papers_data / "papers/toy"
    (toy / "open.py").write_text(
        "from repro.retrieval.nn.bi_encoder import BiEncoderContrastive\n\n\n"
        "class Open(BiEncoderContrastive):\n"
        "    def __init__(self, model, tokenizer, **options):\n"
        "        super().__init__(model, tokenizer, **options)\n"
    )
    objective = "repro.retrieval.nn.bi_encoder:BiEncoderContrastive"
    (toy / "recipes.py").write_text(RECIPES.replace(objective, "papers.toy.open:Open"))
    said, ran = (repro(verb, "toy/1/dense/dev", "--scale", "tiny") for verb in ("plan", "run"))
    assert (said.status, said.err) == (2, ran.err)
    assert "papers.toy.open:Open has **options, but its __init__ must name each option" in said.err
