"""Scales of a user, and the rehearsal with the papers' data."""

import re
from pathlib import Path

import pytest

from repro.errors import ManifestError, UsageError
from repro.graph import Node, walk
from repro.manifest.cells import cell, exhibits
from repro.running import scale as module
from repro.running.plan import plan
from repro.running.recipe_calls import not_at
from repro.running.requirements import Machine
from repro.running.scale import known_scales, scale, user_scale, with_scale_of
from tests.running.test_scale import TRAINED

QRELS = Node("qrels", {"dataset": "msmarco-passage/train/judged"})
TRIPLES = {"dataset": "msmarco-passage/train/triples-v2", "per_query": 30, "seed": 1}
TITLED = Node("corpus", {"dataset": "msmarco-passage/rocketqa", "text": "{text}", "untitled": "-"})
UNEQUAL = """mine:
  about: x
  backbone:
    initialise: {hidden_size: 30, heads: 4, layers: 1, intermediate_size: 8, max_positions: 8,
      dropout: 0, deviation: 1, seed: 1}
    pretrain: {max_steps: 1, texts_per_batch: 1, learning_rate: 1, length: 8}
    vocabulary: 99
    corpus: tiny/text
"""


@pytest.fixture
def described(tmp_path):
    def call(text):
        (tmp_path / "mine.yaml").write_text(text)
        return user_scale(tmp_path / "mine.yaml")

    return call


def stages(node):
    return {n.stage: n for n in walk([node])}


def test_full_data_with_fewer_steps_changes_and_lengthens_nothing_but_trainings(described):
    mine = described("mine: {about: full data, like: full, steps: 100}").rewriter()
    fewer = mine(TRAINED)
    assert (fewer.params["max_steps"], fewer.params["epochs"]) == (100, 6)
    assert fewer.inputs["tokens"].fingerprint == TRAINED.inputs["tokens"].fingerprint
    assert {**fewer.params, "max_steps": None} == {**TRAINED.params}
    short = Node("pretrain", {**TRAINED.params, "max_steps": 7}, TRAINED.inputs)
    assert mine(short).params["max_steps"] == 7


def test_a_replacement_takes_the_place_of_a_cap_of_the_scale_that_it_is_like(described):
    tuned = Node("finetune", {"passages_per_query": 4}, TRAINED.inputs)
    capped, name = described("mine: {about: x, like: small-cpu}"), "passages_per_query"
    assert capped.rewriter()(tuned).params[name] == capped.facts.caps[name] == 2
    larger = described("mine: {about: x, like: small-cpu, replace: {passages_per_query: 8}}")
    assert larger.rewriter()(tuned).params[name] == 8
    tuned = Node("finetune", {"queries_per_batch": 16}, TRAINED.inputs)
    again = described("mine: {about: x, like: tiny, caps: {queries_per_batch: 4}}")
    assert again.rewriter()(tuned).params["queries_per_batch"] == 4


def test_batches_of_the_papers_stay_unless_they_are_capped(described):
    assert scale("rehearsal").rewriter()(TRAINED).params["texts_per_batch"] == 64
    capped = described("mine: {about: x, like: rehearsal, caps: {texts_per_batch: 8}}").rewriter()(TRAINED)
    assert (capped.params["texts_per_batch"], capped.params["max_steps"]) == (8, 10)
    first = stages(capped)["corpus"].params["first"]
    assert first == scale("rehearsal").facts.first.documents


def test_a_rehearsal_keeps_checkpoints_official_negatives_and_lengths():
    official = Node("official_negatives", TRIPLES, {"qrels": QRELS})
    rehearsed = scale("rehearsal").rewriter()
    made = stages(rehearsed(Node("finetune", {}, {**TRAINED.inputs, "training_set": official})))
    assert made["official_negatives"].params == {**TRIPLES, "first": 2_000_000}
    assert made["backbone"].params == {"name": "bert-base-uncased", "revision": "main"}
    assert made["backbone"].fingerprint == TRAINED.inputs["model"].fingerprint
    assert made["tokenize"].params == TRAINED.inputs["tokens"].params


def test_judgements_and_negatives_name_the_first_rows_of_the_collection_that_is_read():
    made = scale("rehearsal").rewriter()
    graph = Node("mine", {}, {"run": Node("weigh_terms", {}, {"corpus": TITLED}), "qrels": QRELS})
    titled = stages(made(graph))
    assert titled["qrels"].inputs["corpus"].params == {**TITLED.params, "first": 20000}
    assert titled["qrels"].inputs["queries"].params == {**QRELS.params, "first": 500}
    official = made(Node("official_negatives", TRIPLES))
    assert official.inputs["queries"].params["dataset"] == "msmarco-passage/train/judged"
    assert official.inputs["corpus"].params["dataset"] == "msmarco-passage"
    answers = Node("qrels", {"dataset": "dpr-w100/natural-questions/test"})
    assert made(answers).inputs == {}


def test_no_source_of_another_scale_has_a_limit_in_its_fingerprint():
    official = Node("official_negatives", TRIPLES, {"qrels": QRELS})
    assert scale("full").rewriter()(official).fingerprint == official.fingerprint
    tiny = [n for n in walk([scale("tiny").rewriter()(official)]) if n.stage == "qrels"]
    assert not any("first" in n.params or "queries" in n.inputs for n in tiny)


@pytest.mark.parametrize(("gpus", "precision"), [(None, "fp32"), (["NVIDIA H100"], "fp16")])
def test_half_precision_is_rehearsed_in_fp32_where_there_is_no_gpu(monkeypatch, gpus, precision):
    monkeypatch.setattr(module, "_gpus", lambda: gpus)
    assert scale("rehearsal").rewriter()(TRAINED).params["precision"] == precision
    assert scale("full").rewriter()(TRAINED).params["precision"] == "fp16"


def test_a_scale_is_known_by_its_name_as_long_as_its_file_is_at_hand(tmp_path):
    (tmp_path / "mine.yaml").write_text("mine: {about: x, steps: 5}")
    with with_scale_of(tmp_path / "mine.yaml") as mine:
        assert scale("mine") == mine and "mine" in known_scales()
    with pytest.raises(UsageError, match="'mine' is not a known scale"):
        scale("mine")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("tiny: {about: x}", 1, "tiny: 'tiny' is a built-in scale, choose another name"),
        ("mine:\n  about: x\n  first:\n    documents: 0", 4, "mine.first.documents: Input should be greater"),
        ("mine: {about: x, steps: {pretrain: {steps: 40}}}", 1, "mine.steps: steps are a number above 0"),
        ("mine: {about: x, caps: {depth: 1}, replace: {depth: 2}}", 1, "'depth' is in caps and in replace"),
        ("mine:\n  about: x\n  frist: 3", 3, "mine.frist: 'frist' is not a known key. Did you mean first?"),
        ("mine:\n  about: x\n  like: tiny\n  first: {queries: 3}", 4, "tiny does not use the papers' data"),
        (UNEQUAL, 4, "hidden_size 30 is not a multiple of heads 4"),
    ],
)
def test_a_fault_of_a_file_is_one_sentence_with_line_and_field(described, text, line, reason):
    with pytest.raises(ManifestError) as error:
        described(text)
    assert f"mine.yaml:{line}: " in str(error.value) and reason in str(error.value)


def test_a_backbone_of_ones_own_goes_with_stand_ins_only(described):
    width = "hidden_size: 8, layers: 1, heads: 1, intermediate_size: 8, max_positions: 8"
    initialise = f"{{{width}, dropout: 0, deviation: 0.2, seed: 1}}"
    training = "{max_steps: 1, texts_per_batch: 1, learning_rate: 0.1, length: 8}"
    parts = f"vocabulary: 9, initialise: {initialise}, pretrain: {training}"
    backbone = f"{{corpus: tiny/text, {parts}}}"
    with pytest.raises(ManifestError, match="the papers' data need their checkpoints"):
        described(f"mine: {{about: x, backbone: {backbone}}}")
    assert described(f"mine: {{about: x, like: tiny, backbone: {backbone}}}").facts.backbone.vocabulary == 9
    with pytest.raises(ManifestError, match="'tiny/texts' is not a known dataset"):
        described(f"mine: {{about: x, like: tiny, backbone: {{corpus: tiny/texts, {parts}}}}}")
    with pytest.raises(ManifestError, match=r"backbone\.initialise\.hidden_size: this key is missing"):
        described(f"mine: {{about: x, like: tiny, backbone: {backbone.replace('hidden_size: 8, ', '')}}}")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("steps: {pretrian: 400}", "'pretrian' is not a known training. Did you mean pretrain?"),
        ("learning_rate: {tune: {factor: 2, most: 1}}", "tune: 'tune' is not a known training. Did you"),
        ("caps: {lenght: 7}", "caps.lenght: 'lenght' is not a known number to cap. Did you mean length?"),
        ("replace: {precison: fp32}", "replace.precison: 'precison' is not a known parameter. Did you mean"),
        ("objectives: {costs: {steps: 3}}", "'costs' is not a known objective. Did you mean costa?"),
    ],
)
def test_an_entry_that_would_change_nothing_is_refused(described, entry, reason):
    with pytest.raises(ManifestError) as error:
        described(f"mine: {{about: x, {entry}}}")
    assert f"mine.yaml:1: mine.{entry.partition(':')[0]}." in str(error.value) and reason in str(error.value)


def test_an_objective_has_the_parameter_that_a_scale_replaces(described):
    mine = described("mine: {about: x, objectives: {costa: {replace: {queries_per_batch: 4}}}}")
    trained = Node("pretrain", TRAINED.params | {"objective": {"name": "costa"}}, TRAINED.inputs)
    words = "'queries_per_batch' is not a known parameter of costa for scale mine to replace"
    with pytest.raises(UsageError, match=words):
        mine.rewriter()(trained)


def test_what_a_scale_replaces_is_not_changed_back_where_there_is_no_gpu(monkeypatch, described):
    monkeypatch.setattr(module, "_gpus", lambda: None)
    assert scale("small").rewriter()(TRAINED).params["precision"] == "fp32"
    assert scale("small").notes and not scale("small-cpu").notes
    own = described("mine: {about: x, like: rehearsal, replace: {precision: bf16}}")
    assert own.rewriter()(TRAINED).params["precision"] == "bf16"
    both = "mine: {about: x, like: small, replace: {precision: bf16}, without_gpu: {precision: fp16}}"
    assert described(both).rewriter()(TRAINED).params["precision"] == "fp16"
    monkeypatch.setattr(module, "_gpus", lambda: ["NVIDIA H100"])
    assert scale("small").rewriter()(TRAINED).params["precision"] == "bf16"
    assert scale("small-cpu").rewriter()(TRAINED).params["precision"] == "fp32"


def test_passages_are_encoded_with_as_many_tokens_as_fine_tuning_reads(described):
    mine = described("mine: {about: x, caps: {length: 64, passage_length: 96}}").rewriter()
    texts = ({"kind": kind, "length": 256} for kind in ("passages", "queries"))
    assert [mine(Node("encode", params)).params["length"] for params in texts] == [96, 64]


def test_lengths_inside_a_text_shrink_with_it_unless_a_scale_keeps_them(described):
    options = {"span_tokens": {"phrase": [4, 16]}}
    params = {"objective": TRAINED.params["objective"], "length": 512, "max_steps": 5}
    node = Node("pretrain", params | {"options": options})
    for more, lengths in (("", [1, 2]), (", keeps_lengths: true", [4, 16])):
        mine = described(f"mine: {{about: x, caps: {{length: 64}}{more}}}").rewriter()
        assert mine(node).params["options"]["span_tokens"] == {"phrase": lengths}
    assert described("mine: {about: x, like: small}").facts.keeps_lengths


def test_the_scales_that_the_page_shows_are_read_and_do_what_they_say(described):
    page = Path(__file__).resolve().parents[2] / "docs/explained/scales.md"
    blocks = re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    shown = {made.name: made for made in map(described, blocks)}
    assert shown.keys() == {"fewer-steps", "less-data", "shorter"}
    replaced = [made.facts.replace["queries_per_batch"] for made in (shown["shorter"], scale("small-cpu"))]
    assert replaced[0] > replaced[1]


def test_a_scale_for_some_recipes_alone_measures_no_other_nor_does_one_that_is_like_it(described):
    table, point = cell("costa/7/tau-0_1/dev.rr10"), cell("head_to_head/figure-steps/cls.500/pool.rr10")
    for one in (scale("curves"), described("mine: {about: x, like: curves}")):
        assert not_at(table, one) == f"scale {one.name} measures only cells with a recipe for this scale"
        assert not_at(point, one) == ""
    assert not_at(table, scale("small-cpu")) == "" != not_at(point, scale("small-cpu"))
    shown = exhibits(("costa",), ())
    plans = [plan([], scale=scale(at), machine=Machine(), exhibits=shown) for at in ("tiny", "curves")]
    assert shown and list(plans[0].exhibits) == shown and plans[1].exhibits == {}
    freed = described("mine: {about: x, like: curves, named_only: false}")
    assert not_at(table, freed) == not_at(point, freed) == ""


def test_steps_in_proportion_keep_the_ratio_of_two_trainings(described):
    steps = "{pretrain: {steps: 40, of: 1000}}"
    mine = described(f"mine: {{about: x, like: tiny, steps: {steps}}}").rewriter()
    trainings = (Node("pretrain", {**TRAINED.params, "max_steps": n}, {}) for n in (500, 2050, None))
    made = [mine(node) for node in trainings]
    assert [node.params["max_steps"] for node in made] == [20, 82, 40]
    assert {node.params["epochs"] for node in made} == {None}
