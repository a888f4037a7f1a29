import json

import numpy as np
import pytest
import torch

from repro.errors import BlockedError
from repro.retrieval.nn.encoder import load_text_encoder
from repro.retrieval.nn.text import tokenised
from repro.retrieval.stages import encode, encode_views, released
from tests.floats import close
from tests.retrieval.datasets.folders import planned, write_lines
from tests.retrieval.nn.test_library_encoder import TEXTS, distilbert, library_model
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer


def params(folder, *, kind="dense", pooling="cls"):
    source = {"kind": "folder", "path": str(folder)}
    how = {"name": "someone/encoder", "revision": "main", "kind": kind, "pooling": pooling}
    return planned("released", source=source, **how)


def encoding(**changes):
    given = {"kind": "queries", "length": 24, "separator": "", "pooling": "cls"}
    return given | {"normalize": False, "precision": "fp32"} | changes


@pytest.fixture
def three_queries(tmp_path):
    records = ({"id": str(n), "text": text} for n, text in enumerate(TEXTS))
    return write_lines(tmp_path / "queries/queries.jsonl", records).parent


def out(folder):
    folder.mkdir()
    return folder


def saved(model, folder):
    for part in (model, tiny_tokenizer()):
        part.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("older", [False, True])
def test_a_directory_of_sentence_transformers_encodes_as_there(tmp_path, three_queries, progress, older):
    theirs = library_model(tmp_path, heads=[("Dense", 32, 16), ("Normalize",)])
    source = tmp_path / "library"
    if older:  # pickled weights, the transformer in a folder of its own
        from safetensors.torch import load_file

        torch.save(load_file(source / "2_Dense/model.safetensors"), source / "2_Dense/pytorch_model.bin")
        (source / "2_Dense/model.safetensors").unlink()
        (source / "0_Transformer").mkdir()
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            (source / name).rename(source / "0_Transformer" / name)
        listed = json.loads((source / "modules.json").read_text())
        listed[0]["path"] = "0_Transformer"
        (source / "modules.json").write_text(json.dumps(listed))
    model = out(tmp_path / "model")
    released.run(params(source, pooling="sentence-transformers"), {}, model, progress)
    assert not list(model.rglob("*.bin"))
    how = encoding(pooling="sentence-transformers", prefix="river ")
    encode.run(how, {"model": model, "texts": three_queries}, out(tmp_path / "vectors"), progress)
    vectors = np.load(tmp_path / "vectors/vectors.npy")
    close(vectors, theirs.encode([f"river {text}" for text in TEXTS]))


def test_a_masked_language_models_head_is_dropped_for_dense_vectors_alone(tmp_path, progress):
    source = saved(tiny_masked_lm(), tmp_path / "source")
    released.run(params(source), {}, out(tmp_path / "model"), progress)
    batch = tokenised(tiny_tokenizer(), TEXTS, length=24)
    with torch.inference_mode():
        vectors = load_text_encoder(tmp_path / "model/model", pooling="cls").eval()(batch)
        expected = tiny_masked_lm().eval().bert(**batch).last_hidden_state[:, 0]
    close(vectors, expected)


@pytest.mark.parametrize("kind", ["splade", "splade-sum"])
def test_splade_encodes_and_searches_as_a_view(tmp_path, three_queries, progress, kind):
    from repro.retrieval.stages import search_views

    source = saved(distilbert(), tmp_path / "source")
    model, views = out(tmp_path / "model"), out(tmp_path / "views")
    released.run(params(source, kind=kind), {}, model, progress)
    how = encoding(views=["sparse"], top_k=None, positions={"cls": True, "sep": True}, head=kind)
    encode_views.run(how, {"model": model, "texts": three_queries}, views, progress)
    search = {"depth": 3, "terms": ["sparse"], "mode": "exact", "list_depth": None}
    search_views.run(search, {"passages": views, "queries": views}, out(tmp_path / "run"), progress)
    assert len((tmp_path / "run/run.trec").read_text().splitlines()) == 9


def test_a_head_that_would_be_lost_is_refused(tmp_path, progress):
    from safetensors.torch import load_file, save_file

    source = saved(tiny_masked_lm(), tmp_path / "source")
    file = source / "model.safetensors"
    weights = load_file(file) | {"embeddingHead.weight": torch.zeros(32, 32)}
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(BlockedError, match=r"embeddingHead\.weight belongs to a head"):
        released.run(params(source), {}, out(tmp_path / "model"), progress)


def test_a_weight_that_would_be_drawn_at_random_is_refused(tmp_path, progress):
    source = saved(tiny_masked_lm().bert, tmp_path / "source")
    with pytest.raises(BlockedError, match=r"do not fit .* is missing"):
        released.run(params(source, kind="splade"), {}, out(tmp_path / "model"), progress)


def test_an_empty_folder_is_blocked_with_a_remedy(tmp_path, progress):
    with pytest.raises(BlockedError) as caught:
        released.run(params(out(tmp_path / "nothing")), {}, out(tmp_path / "model"), progress)
    assert "put all of its files there" in caught.value.remedy


def test_a_prefix_stands_before_the_title_and_titles_can_be_left_out(tmp_path, corpus):
    texts = encode.Texts.read(corpus, encoding(kind="passages", separator=" ", prefix="p: "))
    bare = encode.Texts.read(corpus, encoding(kind="passages", separator=None, prefix="p: "))
    plain = encode.Texts.read(corpus, encoding(kind="passages", separator=" "))
    for (title, text), (nothing, body), (given, original) in zip(
        texts.titled(0, 40), bare.titled(0, 40), plain.titled(0, 40), strict=True
    ):
        assert nothing == "" and body == f"p: {original}"
        assert (title, text) == ((f"p: {given}", original) if given else ("", f"p: {original}"))
    assert {bool(title) for title, _ in plain.titled(0, 40)} == {True, False}


def test_a_cross_encoder_keeps_the_head_that_scores_and_one_without_it_is_refused(tmp_path, progress):
    from transformers import BertForSequenceClassification

    from repro.retrieval.nn.cross_encoder import load_cross_encoder

    reranker = BertForSequenceClassification(tiny_masked_lm().config)
    reranker.config.num_labels = 1
    reranker = BertForSequenceClassification(reranker.config)
    source = saved(reranker, tmp_path / "source")
    how = {"kind": "cross-encoder", "pooling": None}
    released.run(params(source, **how), {}, out(tmp_path / "model"), progress)
    again = load_cross_encoder(tmp_path / "model/model").state_dict()
    assert (again["classifier.weight"] == reranker.state_dict()["classifier.weight"]).all()
    headless = params(saved(tiny_masked_lm(), tmp_path / "mlm"), **how)
    with pytest.raises(BlockedError, match="do not fit"):
        released.run(headless, {}, out(tmp_path / "b"), progress)
