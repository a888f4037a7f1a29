import importlib
import json
import shutil
import threading

import numpy as np
import pytest
import torch
from datasets import Dataset, load_from_disk
from torch import distributed

from repro.errors import BlockedError, DataError, StageError, UsageError
from repro.graph import Node
from repro.progress import Progress
from repro.retrieval.nn import encoder as encoder_of_texts
from repro.retrieval.nn import packed_texts, precision
from repro.retrieval.nn.encoder import load_text_encoder
from repro.retrieval.nn.text import passage_text, tokenised
from repro.retrieval.stages import encode, encode_views, search
from repro.store import Store
from tests.floats import close
from tests.retrieval.stages.conftest import folders, texts_of
from tests.tiny_models import save_tiny_model, tiny_tokenizer


def params(**changes):
    given = {"kind": "passages", "length": 32, "separator": "[SEP]", "pooling": "cls"}
    return given | {"normalize": False, "precision": "fp32"} | changes


def naive(model, texts, *, length=32, pooling="cls", normalize=False):
    encoder = load_text_encoder(model / "model", pooling=pooling).eval()
    with torch.inference_mode():
        vectors = [encoder(tokenised(tiny_tokenizer(), [text], length=length))[0].numpy() for text in texts]
    return np.stack([v / np.linalg.norm(v) for v in vectors] if normalize else vectors)


def passages(corpus):
    rows = load_from_disk(str(corpus / "arrow"))
    return [passage_text(row["title"], row["text"], separator="[SEP]") for row in rows]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("changes", [{}, {"pooling": "mean"}, {"normalize": True}, {"length": 10}])
def test_vectors_are_those_of_encoding_one_text_after_another(
    model, corpus, tmp_path, progress, monkeypatch, changes, large
):
    monkeypatch.setattr(precision, "SMALL", 0 if large else precision.SMALL)
    facts = encode.run(params(**changes), {"model": model, "texts": corpus}, tmp_path, progress)
    vectors = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    assert vectors.shape == (40, 32) and vectors.dtype == np.float32
    close(vectors, naive(model, passages(corpus), **changes))
    assert (tmp_path / "ids.txt").read_text().splitlines() == [f"d{number}" for number in range(40)]
    assert facts == {"texts": 40, "size": 32}
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["ids.txt", "vectors.npy"]


def test_vectors_may_be_rounded_to_half_the_disk_and_are_searched_as_others(
    model, corpus, queries, tmp_path, progress
):
    *kinds, topics, run = folders(tmp_path, "float32", "float16", "queries", "run")
    encode.run(params(kind="queries"), {"model": model, "texts": queries}, topics, progress)
    for folder in kinds:
        encode.run(params(numbers=folder.name), {"model": model, "texts": corpus}, folder, progress)
    whole, half = (np.load(folder / "vectors.npy") for folder in kinds)
    assert half.dtype == np.float16 and half.nbytes == whole.nbytes / 2
    np.testing.assert_array_equal(half, whole.astype(np.float16))
    search.run({"depth": 5}, {"passages": kinds[1], "queries": topics}, run, progress)
    asked = np.load(topics / "vectors.npy")
    best = np.sort(asked.astype(np.float64) @ half.astype(np.float64).T)[:, ::-1][:, :5]
    scores = [float(line.split()[4]) for line in (run / "run.trec").read_text().splitlines()]
    close(np.reshape(scores, best.shape), best, dtype="float32")
    assert not np.isfinite(encode.rounded(np.full((1, 2), 1e6, np.float32), "float16")).any()


def test_queries_are_encoded_from_their_own_file(model, queries, tmp_path, progress):
    encode.run(params(kind="queries"), {"model": model, "texts": queries}, tmp_path, progress)
    close(np.load(tmp_path / "vectors.npy"), naive(model, texts_of(queries)))


@pytest.mark.parametrize(("large", "reads"), [(False, "padded"), (True, "packed")])
def test_a_large_model_reads_texts_end_to_end_and_a_small_one_as_the_library_has_it(
    model, corpus, tmp_path, progress, monkeypatch, large, reads
):
    seen = set()

    def noted(name, forward):
        return lambda *given, **named: seen.add(name) or forward(*given, **named)

    monkeypatch.setattr(precision, "SMALL", 0 if large else precision.SMALL)
    for name, reader in (("packed", packed_texts.PackedTexts), ("padded", encoder_of_texts.Encoder)):
        monkeypatch.setattr(reader, "forward", noted(name, reader.forward))
    encode.run(params(), {"model": model, "texts": corpus}, tmp_path, progress)
    assert seen == {reads}


@pytest.mark.parametrize("stage", [encode, encode_views])
def test_an_encoding_killed_while_the_store_seals_it_is_not_encoded_again(
    model, corpus, tmp_path, progress, monkeypatch, stage
):
    seal = importlib.import_module("repro.store.seal")  # the package has a function of this name
    monkeypatch.setattr(stage, "BLOCK", 8)
    given = params() if stage is encode else view_params()
    node, store, found = Node(stage.__name__.split(".")[-1], given), Store(tmp_path / "store"), []

    def work(out):
        found.append(stage.run(given, {"model": model, "texts": corpus}, out, progress))
        return {}

    def killed(file, advance):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(seal, "sha256", killed)
        with pytest.raises(KeyboardInterrupt):
            store.build(node, work)
    path = store.build(node, work)
    assert [facts.get("resumed_at") for facts in found] == [None, 40]
    assert not (path / "blocks").exists() and seal.damage(path) == []
    assert not any(name.startswith("blocks") for name in seal.read_json(path / "artefact.json")["files"])


def test_a_vector_that_is_not_finite_stops_the_stage(corpus, tmp_path, progress):
    from safetensors.torch import load_file, save_file

    save_tiny_model(tmp_path / "model")
    file = tmp_path / "model/model/model.safetensors"
    weights = load_file(file)
    weights["bert.embeddings.LayerNorm.bias"][0] = float("nan")
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(StageError, match="rows 0 to 40 is not finite"):
        encode.run(params(), {"model": tmp_path / "model", "texts": corpus}, tmp_path, progress)


@pytest.mark.parametrize("stage", [encode, encode_views])
def test_an_id_with_a_line_break_is_refused(model, tmp_path, progress, stage):
    rows = {"id": ["d0", "d1\nd2"], "title": ["", ""], "text": ["king", "queen"]}
    Dataset.from_dict(rows).save_to_disk(str(tmp_path / "corpus/arrow"))
    given = params() if stage is encode else view_params()
    with pytest.raises(DataError, match=r"the id 'd1\\nd2' is empty or contains white space"):
        stage.run(given, {"model": model, "texts": tmp_path / "corpus"}, tmp_path, progress)


def test_a_tokenizer_that_pads_at_the_left_gives_the_same_vectors(model, corpus, queries, tmp_path, progress):
    shutil.copytree(model, tmp_path / "left")
    config = tmp_path / "left/model/tokenizer_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"padding_side": "left"}))
    for name, folder in (("of left", tmp_path / "left"), ("of right", model)):
        (tmp_path / name).mkdir()
        encode.run(params(), {"model": folder, "texts": corpus}, tmp_path / name, progress)
    left, right = (np.load(tmp_path / name / "vectors.npy") for name in ("of left", "of right"))
    np.testing.assert_array_equal(left, right)


def test_wrong_parameters_and_empty_inputs_are_refused(model, corpus, tmp_path, progress):
    inputs = {"model": model, "texts": corpus}
    for changes, words in [
        ({"pooling": "max"}, "'max' is not a known pooling"),
        ({"length": 65}, "65 tokens is more than the model's 64 positions"),
    ]:
        with pytest.raises(UsageError, match=words):
            encode.run(params(**changes), inputs, tmp_path, progress)
    with pytest.raises(BlockedError):
        encode.run(params(precision="fp16"), inputs, tmp_path, progress)
    (tmp_path / "queries.jsonl").write_text("")
    with pytest.raises(DataError, match="no text to encode"):
        encode.run(params(kind="queries"), {"model": model, "texts": tmp_path}, tmp_path, progress)


def test_title_and_text_as_a_pair_are_two_segments(model, corpus, tmp_path, progress):
    encode.run(params(separator="pair"), {"model": model, "texts": corpus}, tmp_path, progress)
    encoder = load_text_encoder(model / "model", pooling="cls").eval()
    rows, vectors = load_from_disk(str(corpus / "arrow")), np.load(tmp_path / "vectors.npy")
    with torch.inference_mode():
        for row, vector in zip(rows, vectors, strict=True):
            texts = (row["title"], row["text"]) if row["title"] else (row["text"],)
            batch = tiny_tokenizer()(*texts, truncation=True, max_length=32, return_tensors="pt")
            close(vector, encoder(batch)[0])


def _not_yet_connected(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "BLOCK", 8)
        inputs = {"model": folder / "model", "texts": folder / "corpus"}
        encode.run(params(), inputs, folder / "together", Progress())
    assert not distributed.is_initialized()


def _connected(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode_views, "BLOCK", 8)
        inputs = {"model": folder / "model", "texts": folder / "corpus"}
        encode_views.run(view_params(), inputs, folder / "views together", Progress())
    assert distributed.is_initialized()


def view_params():
    return params() | {"views": ["sparse"], "positions": "all", "head": "splade", "top_k": None}


def test_two_processes_write_the_bytes_of_one(
    model, corpus, tmp_path, progress, monkeypatch, in_two_processes
):
    monkeypatch.setattr(encode, "BLOCK", 8)
    monkeypatch.setattr(encode_views, "BLOCK", 8)
    inputs = {"model": model, "texts": corpus}
    folders(tmp_path, "alone", "together", "views alone", "views together")
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "corpus").symlink_to(corpus)
    encode.run(params(), inputs, tmp_path / "alone", progress)
    encode_views.run(view_params(), inputs, tmp_path / "views alone", progress)
    in_two_processes(_not_yet_connected, tmp_path, connected=False)
    in_two_processes(_connected, tmp_path)
    for kind in ("", "views "):
        alone, together = (
            {path.name: path.read_bytes() for path in (tmp_path / f"{kind}{name}").glob("*.*")}
            for name in ("alone", "together")
        )
        assert alone.keys() >= {"ids.txt"} and together == alone


def vectors(batches):
    return lambda: [{"vectors": np.ones(4, dtype=np.float32)}] * len(batches[0][0])


def test_texts_are_made_tokens_while_the_model_is_at_those_before(tmp_path):
    ready, waited = threading.Event(), []

    def prepare(texts):
        if texts == ["second"]:
            ready.set()
        return [([0], {})]

    def encode_one(batches):
        waited.append(ready.wait(timeout=10))  # the model is at the first text, and nobody asks for the next
        return vectors(batches)

    texts = {0: ["first"], 1: ["second"]}
    how = (lambda first, end: texts[first], prepare, encode_one, lambda n: None)
    assert encode.write_blocks(tmp_path, [(0, 1), (1, 2)], *how) == [0, 1]
    assert waited == [True, True] and {path.name for path in tmp_path.glob("*.npz")} == {"0.npz", "1.npz"}
