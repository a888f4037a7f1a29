import json

import numpy as np
import pytest
import torch
from datasets import load_from_disk

from repro.errors import BlockedError, DataError, StageError, UsageError
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.nn.checkpoint import save_model
from repro.retrieval.nn.text import passage_text, tokenised
from repro.retrieval.nn.view_encoder import load_view_encoder, top_k
from repro.retrieval.stages import encode, encode_views, finetune, index_size, search_views
from tests.floats import close
from tests.killed import check_killed_and_continued
from tests.retrieval.nn.test_multi_view_bi_encoder import OPTIONS, POSITIONS, strong_model
from tests.retrieval.stages.conftest import folders, logged, texts_of
from tests.stage_inputs import fine_tuning
from tests.tiny_models import tiny_tokenizer

FILES = {
    "dense": {"vectors.npy"},
    "sparse": {"indptr.npy", "indices.npy", "values.npy"},
    "": {"ids.txt", "views.json"},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    save_model(strong_model(), tiny_tokenizer(), folder / "model")
    return folder


def params(**changes):
    given = {"kind": "passages", "views": ["dense", "sparse"], "length": 32, "separator": "[SEP]"}
    given |= {"normalize": False, "top_k": 12, "positions": POSITIONS, "head": "transform"}
    return given | {"precision": "fp32"} | changes


def sparse_matrix(folder):
    from scipy.sparse import csr_matrix

    arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("values", "indices", "indptr")]
    widths = json.loads((folder / "views.json").read_text())
    return csr_matrix(tuple(arrays), shape=(len(arrays[2]) - 1, widths["sparse"])).toarray()


def naive(model, texts, *, length=32, top_k_of=12, normalize=False, positions=POSITIONS, head="transform"):
    how = {"sparse_positions": positions, "vocabulary_head": head}
    encoder = load_view_encoder(model / "model", views=["dense", "sparse"], **how).eval()
    found = {"dense": [], "sparse": []}
    for text in texts:
        with torch.inference_mode():
            views = encoder(tokenised(tiny_tokenizer(), [text], length=length))
        if top_k_of is not None:
            views["sparse"] = top_k(views["sparse"], top_k_of)
        for view, vectors in views.items():
            vector = vectors[0].numpy()
            found[view].append(vector / np.linalg.norm(vector) if normalize else vector)
    return {view: np.stack(vectors) for view, vectors in found.items()}


def passages(corpus):
    rows = load_from_disk(str(corpus / "arrow"))
    return [passage_text(row["title"], row["text"], separator="[SEP]") for row in rows]


@pytest.mark.parametrize(
    ("changes", "alike"),
    [
        ({}, {}),
        ({"normalize": True}, {"normalize": True}),
        ({"length": 10}, {"length": 10}),
        ({"top_k": None}, {"top_k_of": None}),
        ({"head": "plain"}, {"head": "plain"}),
        ({"positions": {"cls": True, "sep": True}}, {"positions": {"cls": True, "sep": True}}),
    ],
)
def test_views_are_those_of_encoding_one_text_after_another(
    model, corpus, tmp_path, progress, changes, alike
):
    facts = encode_views.run(params(**changes), {"model": model, "texts": corpus}, tmp_path, progress)
    expected = naive(model, passages(corpus), **alike)
    close(np.load(tmp_path / "vectors.npy", mmap_mode="r"), expected["dense"])
    found = sparse_matrix(tmp_path)
    close(found, expected["sparse"])
    assert (tmp_path / "ids.txt").read_text().splitlines() == [f"d{number}" for number in range(40)]
    assert facts == {"texts": 40, "size": 32, "values": int((expected["sparse"] != 0).sum())}
    for name, kind in (("indptr", np.int64), ("indices", np.int32), ("values", np.float32)):
        assert np.load(tmp_path / f"{name}.npy").dtype == kind
    assert {path.name for path in tmp_path.glob("*.*")} == set.union(*FILES.values())


@pytest.mark.parametrize("view", ["dense", "sparse"])
def test_one_view_writes_its_own_files_only(model, queries, tmp_path, progress, view):
    given = params(kind="queries", views=[view])
    encode_views.run(given, {"model": model, "texts": queries}, tmp_path, progress)
    expected = naive(model, texts_of(queries))[view]
    found = np.load(tmp_path / "vectors.npy") if view == "dense" else sparse_matrix(tmp_path)
    close(found, expected)
    assert {path.name for path in tmp_path.glob("*.*")} == FILES[view] | FILES[""]


@pytest.mark.parametrize("stage", [encode, encode_views])
@pytest.mark.parametrize("damaged", [None, "changed", "cut", "short"])
def test_an_interrupted_encoding_takes_over_the_blocks_that_are_whole(
    model, corpus, tmp_path, progress, monkeypatch, stage, damaged
):
    monkeypatch.setattr(stage, "BLOCK", 8)
    how = params() | ({"pooling": "cls"} if stage is encode else {})
    inputs = {"model": model, "texts": corpus}
    folders(tmp_path, "straight", "killed")
    stage.run(how, inputs, tmp_path / "straight", progress)
    done, encoding = [], stage._batch_encoder

    def counted(*arguments):
        honest = encoding(*arguments)

        def one(batches):
            done.extend(place for places, _ in batches for place in places)
            if len(done) > 32 and killing:
                raise KeyboardInterrupt
            return honest(batches)

        return one

    monkeypatch.setattr(stage, "_batch_encoder", counted)
    killing = True
    with pytest.raises(KeyboardInterrupt):
        stage.run(how, inputs, tmp_path / "killed", progress)
    killing = False
    done.clear()
    block = tmp_path / "killed/blocks/8.npz"
    content = bytearray(block.read_bytes())
    if damaged == "changed":
        content[len(content) // 2] ^= 1
    block.write_bytes(content[:-30] if damaged == "cut" else content)
    if damaged == "short":
        np.savez(block, vectors=np.zeros((3, 32), np.float32))
    facts = stage.run(how, inputs, tmp_path / "killed", progress)
    assert facts["resumed_at"] == (8 if damaged else 24) and len(done) == (24 if damaged else 16)
    for path in (tmp_path / "straight").glob("*.*"):
        assert (tmp_path / "killed" / path.name).read_bytes() == path.read_bytes()


def test_what_cannot_be_encoded_is_refused(model, corpus, queries, tmp_path, progress):
    inputs = {"model": model, "texts": corpus}
    for changes, said in [
        ({"views": ["colour"]}, "'colour' is not a known view"),
        ({"head": "none"}, "'none' is not a known vocabulary head"),
        ({"length": 65}, "65 tokens is more than the model's 64 positions"),
    ]:
        with pytest.raises(UsageError, match=said):
            encode_views.run(params(**changes), inputs, tmp_path, progress)
    with pytest.raises(BlockedError, match="needs a CUDA GPU"):
        encode_views.run(params(precision="fp16"), inputs, tmp_path, progress)
    (tmp_path / "queries.jsonl").write_text("")
    with pytest.raises(DataError, match="no text to encode"):
        encode_views.run(params(kind="queries"), {"model": model, "texts": tmp_path}, tmp_path, progress)


def test_a_vector_that_is_not_finite_stops_the_stage(corpus, tmp_path, progress):
    broken = strong_model()
    broken.cls.predictions.bias.data[7] = float("inf")
    save_model(broken, tiny_tokenizer(), tmp_path / "broken/model")
    with pytest.raises(StageError, match="not finite"):
        encode_views.run(params(), {"model": tmp_path / "broken", "texts": corpus}, tmp_path, progress)


def test_texts_without_any_sparse_value_are_empty_rows(corpus, tmp_path, progress):
    silent = strong_model()
    silent.cls.predictions.bias.data -= 1000
    save_model(silent, tiny_tokenizer(), tmp_path / "silent/model")
    (tmp_path / "out").mkdir()
    inputs = {"model": tmp_path / "silent", "texts": corpus}
    facts = encode_views.run(params(views=["sparse"]), inputs, tmp_path / "out", progress)
    assert facts == {"texts": 40, "values": 0} and (sparse_matrix(tmp_path / "out") == 0).all()


def test_the_size_of_views_counts_values(model, corpus, tmp_path, progress):
    folders(tmp_path, "views", "size")
    encode_views.run(params(), {"model": model, "texts": corpus}, tmp_path / "views", progress)
    values = len(np.load(tmp_path / "views/values.npy"))
    how = {"bytes_per_number": 4, "bytes_per_gb": 1000}
    facts = index_size.run(how, {"passages": tmp_path / "views"}, tmp_path / "size", progress)
    expected = (40 * 32 * 4 + values * 4) / 1000
    scores = json.loads((tmp_path / "size/scores.json").read_text())
    assert scores["measures"]["GB"] == [expected] and facts["values"] == values and facts["vectors"] == 40


OBJECTIVE = {
    "name": "multi-view-contrastive",
    "version": 1,
    "path": "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder",
}


def tuning(**changes):
    options = OPTIONS | {
        "top_k": 30,
        "flops_weight": {"queries": 0.02, "passages": 0.02, "ramp_steps": 10},
        "dense_reduction": {"to": 24, "by": "linear"},
        "in_batch_negatives": "own",
    }
    given = {"queries_per_batch": 5, "epochs": 30, "learning_rate": 2e-3, "warmup_ratio": 0.0}
    return fine_tuning(**OBJECTIVE, options=options | changes, **given)


@pytest.mark.parametrize("views", [["dense", "sparse"], ["sparse"]])
def test_a_model_is_trained_encoded_and_searched(judged_training, corpus, queries, tmp_path, progress, views):
    folders(tmp_path, "trained", "passages", "queries", "run")
    how = tuning(views=views, hybrid_similarity=views)
    finetune.run(how, judged_training, tmp_path / "trained", progress)
    losses = logged(tmp_path / "trained", "contrastive")
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])
    inputs = {}
    for kind, texts, length in (("passages", corpus, 32), ("queries", queries, 12)):
        given = params(kind=kind, length=length, top_k=30, views=views)
        source = {"model": tmp_path / "trained", "texts": texts}
        facts = encode_views.run(given, source, tmp_path / kind, progress)
        assert facts.get("size") == (24 if "dense" in views else None)
        inputs[kind] = tmp_path / kind
    how = {"depth": 10, "terms": views, "mode": "exact", "list_depth": None}
    search_views.run(how, inputs, tmp_path / "run", progress)
    run = read_run(tmp_path / "run/run.trec")
    assert len(run) == 12 and all(len(ranking) == 10 for ranking in run.values())
    matrices = [sum_of_views(folder, views) for folder in inputs.values()]
    scores = sum(queries @ passages.T for passages, queries in zip(*matrices, strict=True))
    assert run["q0"][0][0] == f"d{scores[0].argmax()}"
    better = [scores[n, n] > np.delete(scores[n], n)[n : n + 10].mean() for n in range(10)]
    assert sum(better) >= 9  # its positive is above the mean of its negatives


def sum_of_views(folder, views):
    return [np.load(folder / "vectors.npy") if view == "dense" else sparse_matrix(folder) for view in views]


@pytest.mark.nightly
def test_a_training_killed_at_step_7_ends_with_the_same_bytes(judged_training, tmp_path):
    check_killed_and_continued(finetune, tuning() | {"epochs": 5}, judged_training, tmp_path)


def test_a_trained_dense_view_is_what_the_plain_encoder_makes_of_the_model(
    judged_training, corpus, tmp_path, progress
):
    folders(tmp_path, "trained", "views", "plain")
    alone = {"views": ["dense"], "hybrid_similarity": ["dense"], "dense_reduction": None}
    finetune.run(tuning(**alone) | {"max_steps": 3}, judged_training, tmp_path / "trained", progress)
    inputs = {"model": tmp_path / "trained", "texts": corpus}
    encode_views.run(params(views=["dense"]), inputs, tmp_path / "views", progress)
    given = params(pooling="cls")
    encode.run(given, inputs, tmp_path / "plain", progress)
    one, other = (np.load(tmp_path / name / "vectors.npy") for name in ("views", "plain"))
    np.testing.assert_array_equal(one, other)
