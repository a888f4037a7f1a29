from dataclasses import astuple, fields

import pytest

from repro.graph import Node
from repro.manifest.papers import known_checkpoints
from repro.retrieval.recipe.training import MLM
from repro.running.cost import shapes
from repro.running.cost.amounts import stage_costs
from repro.running.cost.estimate import Throughput, assumed_throughput
from repro.running.cost.shapes import BASE, Shape, TextLength
from repro.running.cost.work import Batching, Work, forward, work

BERT = Node("backbone", {"name": "bert-base-uncased", "revision": "main"})
MARCO = Node("corpus", {"dataset": "msmarco-passage"})
QUERIES = Node("queries", {"dataset": "msmarco-passage/dev/small"})
TRAINING = Node("queries", {"dataset": "msmarco-passage/train/judged"})
TRAINED = {"max_steps": None, "epochs": None}


def _tokens(policy, length, corpus=MARCO):
    return Node("tokenize", {"policy": policy, "length": length}, {"corpus": corpus, "model": BERT})


def _pretrain(tokens, **params):
    stated = {"texts_per_batch": 8, "length": tokens.params["length"], **TRAINED, **params}
    return Node("pretrain", stated, {"model": BERT, "tokens": tokens})


def test_a_forward_pass_is_what_torch_counts():
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import BertConfig, BertModel

    sizes, length = Shape(3, 32, 96, 50), 24
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    model.set_attn_implementation("eager")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(2, length, dtype=torch.long))
    assert counter.get_total_flops() == 2 * length * forward(sizes, length)


def test_epochs_are_counted_in_texts_and_steps_end_them():
    tokens = _tokens("truncate", 144)
    real, longest = 56 * 1.35 + 2, TextLength(56 * 1.35 + 2, 144).padded(8)
    assert work(_pretrain(tokens, epochs=2)).training == pytest.approx(
        work(_pretrain(tokens, max_steps=2 * -(-8841823 // 8))).training
    )
    fewer = work(_pretrain(tokens, epochs=2, max_steps=10)).training
    assert fewer == work(_pretrain(tokens, max_steps=10)).training
    head = real * 2 * 768 * 30522 * 0.15
    assert fewer == pytest.approx(3 * 80 * (longest * forward(BASE, longest) + head))


def test_a_collection_that_nobody_counted_has_no_work_rather_than_none_to_do():
    node = _pretrain(_tokens("truncate", 64, Node("corpus", {"dataset": "wikipedia"})), epochs=1)
    assert work(node).training is None and not work(node).is_known
    chunks = _tokens("chunk", 512, Node("corpus", {"dataset": "wikipedia"}))
    assert shapes.rows(chunks) == 6617648  # 2.5e9 words x 1.35 tokens / 510


def test_a_fine_tuning_counts_queries_and_passages():
    params = {"queries_per_batch": 8, "passages_per_query": 4, "query_length": 8, "passage_length": 32}
    qrels = Node("qrels", {"dataset": TRAINING.params["dataset"]})
    mined = Node("mine", {}, {"run": Node("search"), "qrels": qrels})
    inputs = {"model": BERT, "training_set": mined, "corpus": MARCO, "queries": TRAINING}
    node = Node("finetune", {**params, **TRAINED, "max_steps": 10}, inputs)
    by_hand = 3 * 10 * 8 * (8 * forward(BASE, 8) + 4 * 32 * forward(BASE, 32))
    assert work(node).training == pytest.approx(by_hand)
    epoch = Node("finetune", {**params, **TRAINED, "epochs": 1}, inputs)
    assert work(epoch).training == pytest.approx(by_hand / 10 * 62868)  # 502,939 queries, 8 a step
    alone = {name: value for name, value in params.items() if name != "query_length"}
    together = Node("finetune", {**alone, **TRAINED, "max_steps": 10}, inputs)
    assert work(together).training == pytest.approx(3 * 10 * 8 * 4 * 32 * forward(BASE, 32))
    assert work(epoch).core_seconds == pytest.approx(62868 * 8 * (8 + 4 * 32) * 1.8e-6)
    again = by_hand * 4 / 3  # parts are encoded once more, by the cached gradient; pairs meet in no loss
    assert work(node, Batching(part=2)).training == pytest.approx(again)
    assert work(together, Batching(part=2)).training == work(together).training


def test_passages_of_ms_marco_are_as_long_as_the_spread_has_it():
    """The longest of 8, 16 and 64 that were drawn of 12,585 passages of 77.7 tokens, cut to 144."""
    for texts, counted in {8: 122.6, 16: 134.1, 64: 143.5}.items():
        assert TextLength(77.7, 144).padded(texts) == pytest.approx(counted, rel=0.05)


def test_texts_are_read_as_the_variables_say():
    passages, padded = TextLength(78, 144), {"REPRO_PADDING_FREE": "0"}
    free, gpu = Batching.of({}, 80e9), Batching.of(padded, 80e9)
    cpu = Batching.of({}, None)
    assert free.trained(passages, 64) == free.encoded(passages) == cpu.encoded(passages) == 78
    assert gpu.trained(passages, 64) == passages.padded(64) > 140 and gpu.encoded(passages) == 78 * 1.16
    assert not Batching.of({}, 80e9, packs=False).packed and not assumed_throughput("t4").packs
    assert Batching.of({"REPRO_MICRO_BATCH": "2"}, None).part == 2
    step = {"objective": MLM.identity, "length": 512, "precision": "fp16"}
    large = Node("pretrain", {**step, "texts_per_batch": 4096}, {"model": BERT})
    assert gpu.examples(large) < 4096 == Batching.of({}, None).examples(large)


def test_encoding_and_search_count_every_text_once_and_every_pair():
    passages = Node("encode", {"kind": "passages", "length": 64}, {"model": BERT, "texts": MARCO})
    queries = Node("encode", {"kind": "queries", "length": 32}, {"model": BERT, "texts": QUERIES})
    assert work(passages).inference == pytest.approx(8841823 * 64 * forward(BASE, 64))
    assert work(passages).stored == 8841823 * 768 * 4  # the 27 GB of an index
    halved = Node("encode", {**passages.params, "numbers": "float16"}, passages.inputs)
    assert work(halved).stored == work(passages).stored / 2
    found = Node("search", {"depth": 1000}, {"passages": passages, "queries": queries})
    assert work(found).search == work(found).operations == 2 * 8841823 * 6980 * 768


@pytest.mark.parametrize(
    ("terms", "top_k", "numbers"),
    [
        (["dense", "sparse"], 768, 768 + 5 * 768),
        (["dense"], 768, 768),
        (["sparse"], 100, 500),
        (["sparse"], None, 3840),
    ],
)
def test_a_search_over_views_counts_sparse_values_by_the_time_that_they_take(terms, top_k, numbers):
    how = {"length": 144, "views": ["dense", "sparse"], "top_k": top_k}
    sides = {"passages": Node("encode_views", {"kind": "passages", **how}, {"model": BERT, "texts": MARCO})}
    sides["queries"] = Node("encode_views", {"kind": "queries", **how}, {"model": BERT, "texts": TRAINING})
    found = work(Node("search_views", {"depth": 200, "terms": terms}, sides))
    assert found.search == found.operations == 2 * 8841823 * 502939 * numbers
    assert found.waited == pytest.approx(502939 * 200 * 2.2e-5) and found.core_seconds == 0


def test_sizes_come_from_initialise_or_a_checkpoints_config(tmp_path):
    sizes = {"hidden_size": 64, "layers": 2, "heads": 2, "intermediate_size": 128}
    made = Node("initialise", sizes, {"tokenizer": Node("vocabulary", {"size": 2000})})
    assert shapes.shape(made) == Shape(2, 64, 128, 2000)
    assert shapes.shape(Node("pretrain", {}, {"model": made})) == shapes.shape(made)
    (tmp_path / "config.json").write_text(
        '{"num_hidden_layers": 6, "hidden_size": 384, "intermediate_size": 1536, "vocab_size": 9}'
    )
    source = {"kind": "folder", "path": str(tmp_path)}
    assert shapes.shape(Node("backbone", {"name": "x", "source": source})) == Shape(6, 384, 1536, 9)
    assert shapes.shape(BERT) == shapes.shape(Node("backbone", {"name": "not in the catalogue"})) == BASE
    for checkpoint, entry in known_checkpoints().items():
        sizes = astuple(shapes.shape(Node("released", {"name": checkpoint})))
        assert sizes == tuple(entry.sizes[field.name] for field in fields(Shape)), checkpoint
    generator = shapes.shape(Node("backbone", {"name": "google/electra-base-generator"}))
    assert generator == Shape(12, 256, 1024, 30522)
    assert shapes.shape(Node("backbone", {**BERT.params, "layers": 0})).layers == 0


def test_every_node_of_every_paper_has_an_estimate_that_is_not_negative(everything_at_full):
    from repro.manifest.cells import select
    from repro.running.plan import plan
    from repro.running.requirements import Machine
    from repro.running.scale import scale

    tiny = plan(select((), tables=(), rows=(), cells=()), scale=scale("tiny"), machine=Machine())
    for whole in (everything_at_full, tiny):
        works = {n.fingerprint: work(n) for n in whole.nodes}
        assert len(works) > 1000
        for node in whole.nodes:
            found = works[node.fingerprint]
            if node.stage in ("pretrain", "encode", "search"):
                of_words = node.stage == "encode" and shapes.shape(node).layers == 0
                assert found.operations > 0 or of_words, node
            amounts = (found.training, found.inference, found.stored, found.core_seconds, found.beside)
            assert all(v is None or v >= 0 for v in amounts)
        assert sum(not w.is_known for w in works.values()) < 0.02 * len(works)


def test_what_no_model_does_has_seconds_of_a_core_and_bytes():
    corpus = work(MARCO)
    assert corpus.stored == 8841823 * 56 * 6 and corpus.beside == 5e8
    assert 60 < corpus.core_seconds < 300
    index = Node("lucene_index", {"multifield": False}, {"corpus": MARCO})
    assert 0.1 < work(index).stored / corpus.stored < 0.4 and work(index).core_seconds > 600
    run = Node("bm25", {"depth": 1000}, {"index": index, "queries": QUERIES})
    assert work(run).stored == 6980 * 1000 * 49 and 300 < work(run).core_seconds < 3600
    qrels = Node("qrels", {"dataset": TRAINING.params["dataset"]})
    mined = Node("mine", {"per_query": 200, "depth": 200}, {"run": run, "qrels": qrels})
    assert work(mined).stored == 502939 * 200 * 11 and 120 < work(mined).core_seconds < 900
    triples = Node("official_negatives", {"dataset": "msmarco-passage/train/triples-v2", "per_query": 30})
    assert work(triples).core_seconds == pytest.approx(12 * 60, rel=0.05)
    assert work(triples).beside == pytest.approx(9.5e9, rel=0.02)
    unknown = Node("tokenize", {"policy": "spans"}, {"corpus": Node("corpus", {"dataset": "made-up"})})
    assert work(unknown).stored is None and work(unknown).core_seconds is None
    tuned = work(_pretrain(_tokens("chunk", 512), max_steps=10))
    assert tuned.beside == BASE.all_weights * 24  # two checkpoints with AdamW's moments


def test_a_step_takes_no_less_than_the_launches_of_its_layers():
    rates = Throughput("GPU", 1e12, 1e12, "of the test", layer=2e-3)
    assert rates.hours(Work(training=3.6e12, launched=1000)) == pytest.approx(3.6 / 3600)
    assert rates.hours(Work(training=1e12, launched=1000)) == pytest.approx(2 / 3600)
    slow = assumed_throughput("h100")
    assert slow.fastest.layer == pytest.approx(104 * 260e-6 / 80, rel=0.01)
    tokens = 64 * (9 + 2) + 64 * 16 * (72 + 2)  # benchmarks/gpu_models.py: of a step of fine-tuning
    assert slow.layer == pytest.approx(tokens / 223_649 / (4 * 2 * 12 * 4 / 3), rel=0.02)


def test_every_measured_number_has_a_source():
    for stage, cost in stage_costs().items():
        measured = (cost.seconds, cost.bytes, cost.beside)
        assert bool(cost.source) == any(measured), stage
