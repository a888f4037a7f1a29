"""A scale caps costs and swaps corpora; methods stay (scale_facts, too)."""

import pytest

from repro.errors import ManifestError
from repro.graph import Node, walk
from repro.machine import kernels
from repro.manifest.cells import cell
from repro.manifest.papers import Paper
from repro.progress import SILENT
from repro.retrieval.recipe import Objective
from repro.running.recipe_calls import not_at
from repro.running.scale import scale, scales

SPANS = Objective(
    "o", 1, "repro.retrieval.nn.objectives:Spans", "span_tokens", token_lengths=("span_tokens",)
)
WIDTHS = ("top_k", "dense_reduction")
VIEWS = Objective("views", 1, "repro.retrieval.nn.objectives:Views", " ".join(WIDTHS), vector_widths=WIDTHS)
TRAINED = Node(
    "pretrain",
    {
        "objective": SPANS.identity,
        "options": {
            "temperature": 0.1,
            "span_tokens": {"phrase": [4, 16], "paragraph": [64, 128]},
            "beta": [4, 2],
        },
        "texts_per_batch": 64,
        "epochs": 6,
        "max_steps": None,
        "learning_rate": 5e-5,
        "precision": "fp16",
        "length": 512,
        "seed": 7,
    },
    {
        "model": Node("backbone", {"name": "bert-base-uncased", "revision": "main"}),
        "tokens": Node(
            "tokenize",
            {"length": 512, "policy": "chunk", "separator": " "},
            {
                "corpus": Node("corpus", {"dataset": "wikipedia"}),
                "model": Node("backbone", {"name": "bert-base-uncased", "revision": "main"}),
            },
        ),
    },
)


def test_full_changes_nothing():
    assert scale("full").rewriter()(TRAINED).fingerprint == TRAINED.fingerprint


def test_what_stands_in_for_a_released_checkpoint_does_so_below_full_only():
    released = {"name": "makers/model", "revision": "main"}
    asked = Node("backbone", released, {"stand_in": TRAINED})
    assert scale("full").rewriter()(asked).fingerprint == Node("backbone", released).fingerprint
    tiny = scale("tiny").rewriter()
    assert tiny(asked).fingerprint == tiny(TRAINED).fingerprint
    assert tiny(Node("backbone", released)).params["objective"]["name"] == "neighbours"


@pytest.mark.parametrize("change", [{"layers": 0}, {"seed": 2}])
def test_random_weights_are_a_backbone_of_the_scale_with_the_layers_and_seed_that_are_asked_for(change):
    asked = {"name": "bert-base-uncased", "revision": "main", "weights": "random", "seed": 1}
    whole, other = (scale("tiny").rewriter()(Node("backbone", asked | more)) for more in ({}, change))
    assert other.params == whole.params | change != whole.params and other.inputs == whole.inputs


@pytest.mark.parametrize("name", [name for name, one in scales().items() if one.facts.backbone])
def test_a_layer_of_a_backbone_from_scratch_adds_as_much_as_one_of_bert(name):
    """A projection's gain is the deviation of its weights times the root of its width."""
    first = scale(name).facts.backbone.initialise
    assert first.deviation * first.hidden_size**0.5 == pytest.approx(0.02 * 768**0.5, rel=0.02)


def test_an_objective_can_have_its_own_steps_sizes_and_rate():
    from repro.running import scale as module
    from repro.running.scale_facts import ObjectiveSettings

    own = ObjectiveSettings(steps=9, replace={"texts_per_batch": 4}, learning_rate={"factor": 2, "most": 1})
    facts = scale("tiny").facts.model_copy(update={"objectives": {"o": own}})
    changed = module.Scale("tiny", facts).rewriter()(TRAINED).params
    assert (changed["max_steps"], changed["epochs"], changed["texts_per_batch"]) == (9, None, 4)
    assert changed["learning_rate"] == pytest.approx(1e-4)
    other = module.Scale("tiny", facts.model_copy(update={"objectives": {"p": own}})).rewriter()(TRAINED)
    assert other.params == scale("tiny").rewriter()(TRAINED).params


def test_one_of_several_samples_is_drawn_at_tiny():
    trained = Node("corpus", {"dataset": "wikipedia"})
    params = {"queries": 9000, "method": "random", "seed": 1}
    samples = [Node("sample", params | {"sample": n}, {"training_set": trained}) for n in range(3)]
    assert len({scale("tiny").rewriter()(sample).fingerprint for sample in samples}) == 1
    assert len({scale("full").rewriter()(sample).fingerprint for sample in samples}) == 3


def test_tiny_caps_costs_and_leaves_the_method_alone():
    small = scale("tiny").rewriter()(TRAINED)
    assert small.params["max_steps"] == scale("tiny").facts.caps["max_steps"]
    assert small.params["texts_per_batch"] <= 64
    assert small.params["precision"] == "fp32"
    assert small.params["epochs"] == 6
    assert small.params["seed"] == 7
    assert small.params["options"]["temperature"] == 0.1
    assert small.params["options"]["beta"] == [4, 2]


def test_lengths_inside_a_text_shrink_in_proportion_to_it():
    small = scale("tiny").rewriter()(TRAINED)
    ratio = small.params["length"] / 512
    assert small.params["options"]["span_tokens"]["paragraph"] == [round(64 * ratio), round(128 * ratio)]
    assert min(small.params["options"]["span_tokens"]["phrase"]) >= 1


def test_sizes_of_vectors_shrink_with_the_width_of_the_backbone():
    options = {"top_k": 384, "dense_reduction": {"to": 384, "by": "linear"}, "temperature": 1.0}
    node = Node("finetune", {"objective": VIEWS.identity, "options": options}, TRAINED.inputs)
    half = scale("tiny").facts.backbone.initialise.hidden_size // 2
    small = scale("tiny").rewriter()(node).params["options"]
    assert small == {"top_k": half, "dense_reduction": {"to": half, "by": "linear"}, "temperature": 1.0}
    encoded = scale("tiny").rewriter()(Node("encode_views", {"top_k": None}, TRAINED.inputs))
    assert encoded.params["top_k"] is None


def test_corpora_are_swapped_and_a_backbone_is_trained_on_the_stand_in():
    small = scale("tiny").rewriter()(TRAINED)
    assert {n.params["dataset"] for n in walk([small]) if n.stage == "corpus"} == {"tiny/text"}
    assert small.inputs["model"].params["objective"]["name"] == "neighbours"
    assert small.inputs["model"].fingerprint == small.inputs["tokens"].inputs["model"].fingerprint


def test_official_negatives_become_negatives_of_bm25():
    triples = {"dataset": "msmarco-passage/train/triples-v2", "per_query": 30, "seed": 1}
    official = Node("official_negatives", triples)
    mined = scale("tiny").rewriter()(official)
    assert mined.stage == "mine"
    assert mined.inputs["run"].stage == "bm25"
    assert mined.inputs["qrels"].params["dataset"] == "tiny/passage/train"


def test_listed_negatives_become_negatives_of_bm25_too():
    asked = {"margin": 3.0, "per_system": None, "systems": None}
    listed = Node("listed_negatives", {"dataset": "msmarco-passage/train/hard-negatives", **asked})
    for name in ("tiny", "small"):
        mined = scale(name).rewriter()(listed)
        assert (mined.stage, mined.inputs["run"].stage) == ("mine", "bm25")
        assert mined.params["per_query"] == scale(name).facts.caps["per_query"]
        official = {"dataset": "msmarco-passage/train/triples-v2", "per_query": 1000, "seed": 0}
        same = scale(name).rewriter()(Node("official_negatives", official))
        assert mined.fingerprint == same.fingerprint
    assert scale("full").rewriter()(listed).fingerprint == listed.fingerprint


def test_topics_of_a_collection_that_is_both_get_a_corpus_as_their_stand_in():
    node = scale("tiny").rewriter()(Node("corpus", {"dataset": "beir/arguana"}))
    assert node.params["dataset"] == "tiny/beir"


DL19, POOL = "msmarco-passage/trec-dl-2019/judged", "msmarco-passage/train-pool-12k/dev"


@pytest.mark.parametrize(("name", "left"), [("small", ["nDCG@10"]), ("tiny", None), ("full", None)])
def test_a_measure_goes_whose_grades_the_judgements_that_stand_in_do_not_have(name, left):
    measures = ["R(rel=2)@1000", "nDCG@10"]
    node = Node("evaluate", {"measures": measures}, {"qrels": Node("qrels", {"dataset": DL19})})
    assert scale(name).rewriter()(node).params["measures"] == (left or measures)


def test_such_a_cell_is_not_measured_at_that_scale_and_says_why():
    wanted = cell("costa/1/sparse.bm25/dl19.r1000")
    words = f"{POOL}, the stand-in for {DL19}, has no grade that R(rel=2)@1000 counts as relevant"
    assert not_at(wanted, scale("small")) == words
    assert not_at(wanted, scale("tiny")) == not_at(wanted, scale("full")) == ""


def test_every_dataset_of_the_papers_has_a_tiny_stand_in():
    from repro.manifest.cells import numeric_cells
    from repro.manifest.papers import papers
    from repro.retrieval.datasets.catalog import catalog

    used = {c.column.dataset for p in papers().values() for c in numeric_cells(p) if c.column.dataset}
    for name in used:
        for member in catalog()[name].members or (name,):
            assert scale("tiny").dataset(member) in catalog(), member


def test_every_scale_but_full_is_kept_from_being_compared_with_print():
    assert [s.name for s in scales().values() if s.compares_with_paper] == ["full"]


@pytest.fixture
def of_a_paper(tmp_path, monkeypatch):
    monkeypatch.setattr("repro.running.scale_facts.papers", lambda: {"made": Paper("made", tmp_path, "made")})

    def call(text):
        (tmp_path / "recipes.py").write_text('OWN = Objective(\n    "o", 1, "made.own:Own")\n')
        (tmp_path / "scales.yaml").write_text(text)
        return scales.__wrapped__()

    return call


def test_a_paper_says_what_a_scale_changes_of_its_own_objective(of_a_paper):
    found = of_a_paper("tiny: {objectives: {o: {steps: 7}}}")
    assert found["tiny"].rewriter()(TRAINED).params["max_steps"] == 7
    assert found["tiny-long"].rewriter()(TRAINED).params["max_steps"] == 7
    assert found["full"].rewriter()(TRAINED).fingerprint == TRAINED.fingerprint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("minute: {objectives: {}}", "'minute' is not a scale (full, rehearsal"),
        ("tiny: {caps: {length: 7}}", "tiny.caps: 'caps' is not a known key. Known: objectives"),
        ("tiny: {objectives: {cross-encoder: {steps: 7}}}", "'cross-encoder' is stated elsewhere at tiny"),
        ("tiny: {objectives: {oo: {steps: 7}}}", "this paper's folder has no objective 'oo'"),
    ],
)
def test_a_paper_changes_nothing_else_of_a_scale(of_a_paper, text, reason):
    with pytest.raises(ManifestError) as error:
        of_a_paper(text)
    assert "scales.yaml:1: " in str(error.value) and reason in str(error.value)


@pytest.mark.parametrize(
    "name", ["full", "rehearsal", "medium", "small", "small-cpu", "curves", "tiny", "smoke"]
)
def test_kernels_are_pinned_below_full_but_where_its_times_are_extrapolated(name, monkeypatch):
    calls = []
    monkeypatch.setattr(kernels, "pin", calls.append)
    scale(name).pin_kernels(SILENT)
    assert calls == ([] if name in ("full", "rehearsal") else [SILENT])
