"""An exported encoder gives the suite's vectors in other libraries."""

import json

import numpy as np
import pytest
import torch

from repro.errors import DataError, StoreError, UsageError
from repro.exchange.encoder_export import MeasuredEncoder, export
from repro.graph import Node, walk
from repro.plugins.yours.encoders import UserEncoder
from repro.progress import Progress
from repro.retrieval.nn.encoder import Projector
from repro.retrieval.nn.text import tokenised
from repro.retrieval.nn.view_encoder import ViewEncoder
from repro.retrieval.stages import encode, encode_by_library, encode_views
from repro.running.requirements import Machine
from repro.store import Store
from tests.floats import close
from tests.retrieval.nn.test_library_encoder import TEXTS
from tests.tiny_models import save_tiny_model, tiny_masked_lm, tiny_tokenizer

MODEL = Node("initialise", {"seed": 0}, {"tokenizer": Node("vocabulary", {}, {"corpus": Node("corpus", {})})})


def encoded(kind, length, **changes):
    params = {
        "kind": kind,
        "length": length,
        "separator": "[SEP]" if kind == "passages" else "",
        "pooling": "cls",
        "normalize": False,
        "precision": "fp32",
    }
    stage = "encode_views" if "views" in changes else "encode"
    texts = Node(kind.replace("passages", "corpus"), {})
    return Node(stage, params | changes, {"model": MODEL, "texts": texts})


def run_of(**changes):
    sides = {kind: encoded(kind, length, **changes) for kind, length in (("passages", 24), ("queries", 9))}
    return Node("search_views" if "views" in changes else "search", {"depth": 5}, sides)


def stored(root, work) -> Store:
    store = Store(root)
    store.build(MODEL, work)
    return store


def plain(directory):
    save_tiny_model(directory)


def with_projector(architecture, layers):
    def work(directory):
        save_tiny_model(directory)
        with torch.random.fork_rng():
            torch.manual_seed(4)
            head = Projector(32, architecture=architecture, layers=layers, initializer_range=0.3)
        head.save(directory / "model", encodes=True)

    return work


def with_views(by):
    def work(directory):
        with torch.random.fork_rng():
            torch.manual_seed(5)
            model = ViewEncoder(
                tiny_masked_lm(),
                tiny_tokenizer(),
                views=["dense"],
                vocabulary_head="transform",
                sparse_positions={"cls": False, "sep": False},
                dense_reduction={"to": 8, "by": by} if by else None,
            )
        model.save(directory / "model")

    return work


VIEW = {"views": ["dense"], "top_k": None, "positions": {"cls": False, "sep": False}, "head": "transform"}
CASES = {
    "plain": (plain, {}),
    "mean and cosine": (plain, {"pooling": "mean", "normalize": True}),
    "a prefix": (plain, {"prefix": "river "}),
    "a linear projector": (with_projector("linear", 1), {}),
    "two layers": (with_projector("nonlinear", 2), {"normalize": True}),
    "a view": (with_views(None), VIEW),
    "a projected view": (with_views("linear"), VIEW | {"normalize": True}),
    "a truncated view": (with_views("truncate"), VIEW),
}


def suite_vectors(run, model, tmp_path):
    records = [{"id": str(n), "text": text} for n, text in enumerate(TEXTS)]
    (tmp_path / "texts").mkdir(exist_ok=True)
    (tmp_path / "texts/queries.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    node, out = run.inputs["queries"], tmp_path / f"vectors-{model.name[:8]}"
    out.mkdir()
    stage = encode_views if node.stage == "encode_views" else encode
    stage.run(dict(node.params), {"model": model, "texts": tmp_path / "texts"}, out, Progress())
    return np.load(out / "vectors.npy")


@pytest.mark.parametrize("name", CASES)
def test_the_vectors_are_the_suites_in_both_libraries_and_back(tmp_path, name):
    library = pytest.importorskip("sentence_transformers")
    work, changes = CASES[name]
    run, store = run_of(**changes), stored(tmp_path / "store", work)
    export(MeasuredEncoder.of(run), store, tmp_path / "exported", card="# x\n", about={"from": "x"})
    ours = suite_vectors(run, store.path(MODEL), tmp_path)
    model = library.SentenceTransformer(str(tmp_path / "exported"))
    assert model.max_seq_length == 24
    model.max_seq_length = 9
    close(model.encode(TEXTS, prompt_name="query"), ours)
    texts = Node("queries", {"dataset": "tiny/passage/dev"})
    found = UserEncoder.find(str(tmp_path / "exported"), None, {}).ranking(texts, texts, depth=5, cap=None)
    assert [found.inputs[side].params["length"] for side in ("queries", "passages")] == [9, 24]
    again = tmp_path / "back"
    again.mkdir()
    back = Machine(None, None).resolve(found.inputs["queries"])
    encode_by_library.run(dict(back.params), {"texts": tmp_path / "texts"}, again, Progress())
    close(np.load(again / "vectors.npy"), ours)


def test_transformers_loads_model_and_tokenizer(tmp_path):
    from transformers import AutoModel, AutoTokenizer

    run, store = run_of(), stored(tmp_path / "store", plain)
    export(MeasuredEncoder.of(run), store, tmp_path / "exported", card="", about={})
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "exported")
    model = AutoModel.from_pretrained(tmp_path / "exported").eval()
    with torch.inference_mode():
        vectors = model(**tokenised(tokenizer, TEXTS, length=9)).last_hidden_state[:, 0].numpy()
    close(vectors, suite_vectors(run, store.path(MODEL), tmp_path))


@pytest.mark.parametrize(
    "run, said",
    [
        (run_of(**VIEW | {"views": ["dense", "sparse"]}), "dense and sparse vectors"),
        (Node("rerank", {}, {"model": MODEL}), "made by rerank"),
        (Node("bm25", {}), "made by bm25"),
        (
            Node(
                "search",
                {},
                {
                    "passages": encoded("passages", 9),
                    "queries": Node("encode", {}, {"model": Node("backbone", {"name": "a"})}),
                },
            ),
            "two encoders, for passages",
        ),
    ],
)
def test_what_is_no_single_dense_encoder_is_refused(run, said):
    with pytest.raises(UsageError, match=said):
        MeasuredEncoder.of(run)


def test_a_directory_with_something_in_it_is_left_alone(tmp_path):
    store = stored(tmp_path / "store", plain)
    (tmp_path / "there").mkdir()
    (tmp_path / "there/mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        export(MeasuredEncoder.of(run_of()), store, tmp_path / "there", card="", about={})
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["mine"]


def test_a_failed_export_leaves_nothing_behind(tmp_path):
    def broken(directory):
        with_views("linear")(directory)
        (directory / "model/dense_projection.safetensors").unlink()

    store = stored(tmp_path / "store", broken)
    with pytest.raises(DataError, match="is missing"):
        export(MeasuredEncoder.of(run_of(**VIEW)), store, tmp_path / "new", card="", about={})
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_model_that_was_never_made_is_said(tmp_path):
    with pytest.raises(UsageError, match="not in the store"):
        export(MeasuredEncoder.of(run_of()), Store(tmp_path / "store"), tmp_path / "new", card="", about={})


def test_what_makes_a_damaged_or_removed_model_again_is_said(tmp_path):
    store, run = stored(tmp_path / "store", plain), run_of()
    store.remember(walk([run]))
    (store.path(MODEL) / "artefact.json").write_text("")
    with pytest.raises(StoreError, match="`repro run --rebuild damaged` builds it again"):
        export(MeasuredEncoder.of(run), store, tmp_path / "new", card="", about={})
    store.discard(MODEL)
    with pytest.raises(UsageError, match="Run its cell at this scale first"):
        export(MeasuredEncoder.of(run), store, tmp_path / "new", card="", about={})
