"""Encoders in every form of folder of sentence-transformers have its vectors."""

import json
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from repro.graph import Node
from repro.plugins.yours.encoders import UserEncoder
from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.nn.checkpoint import quiet
from repro.retrieval.stages import encode_by_library
from repro.retrieval.stages.vectors import Views
from repro.running.requirements import Machine
from tests.floats import close
from tests.retrieval.stages.conftest import texts_of
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore")


def plain(folder, model=None, tokenizer=None):
    (model or tiny_masked_lm()).save_pretrained(folder)
    (tokenizer or tiny_tokenizer()).save_pretrained(folder)
    return folder


def dense_module(name, *arguments, **settings):
    from sentence_transformers.sentence_transformer import modules

    return getattr(modules, name)(*arguments, **settings)


def transformer(folder, **settings):
    return dense_module("Transformer", str(plain(folder / "plain")), **settings)


def save(folder, *modules, kind="SentenceTransformer", **settings):
    import sentence_transformers

    model = getattr(sentence_transformers, kind)(modules=list(modules), **settings)
    model.save(str(folder / "it"), create_model_card=False)


def dense(*heads, pooling="mean", include_prompt=True, max_seq_length=24, **settings):
    def write(folder):
        first = transformer(folder, max_seq_length=max_seq_length)
        pooled = dense_module("Pooling", 32, pooling_mode=pooling, include_prompt=include_prompt)
        torch.manual_seed(3)
        save(folder, first, pooled, *(dense_module(*head) for head in heads), **settings)

    return write


def lower_casing(folder):
    tokenizer = tiny_tokenizer().__class__(vocab=tiny_tokenizer().get_vocab(), do_lower_case=False)
    plain(folder / "plain", tokenizer=tokenizer)
    save(folder, dense_module("Transformer", str(folder / "plain")), dense_module("Pooling", 32))
    (folder / "it/sentence_bert_config.json").write_text('{"max_seq_length": 24, "do_lower_case": true}')


def t5(folder):
    from transformers import T5Config, T5EncoderModel

    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2}
    torch.manual_seed(4)
    plain(folder / "plain", T5EncoderModel(T5Config(vocab_size=len(tiny_tokenizer()), **sizes)))
    first = dense_module("Transformer", str(folder / "plain"), max_seq_length=24)
    others = [("Pooling", 32), ("Dense", 32, 16), ("Normalize",)]
    save(folder, first, *(dense_module(*other) for other in others))


def routed(folder):
    from sentence_transformers.base.modules import Router

    plain(folder / "a")
    plain(folder / "b", tiny_masked_lm(seed=7))
    queries, documents = (
        [
            dense_module("Transformer", str(folder / name), max_seq_length=length),
            dense_module("Pooling", 32, pooling_mode=mode),
        ]
        for name, length, mode in (("a", 8, "cls"), ("b", 24, "mean"))
    )
    router = Router.for_query_document(query_modules=queries, document_modules=documents)
    save(folder, router, dense_module("Normalize"))


def static(folder):
    torch.manual_seed(5)
    save(folder, dense_module("StaticEmbedding", tiny_tokenizer(), embedding_dim=16))


def splade_modules(folder):
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    first = Transformer(str(plain(folder / "plain")), transformer_task="fill-mask", max_seq_length=24)
    return [first, SpladePooling("max")]


def splade(folder, **settings):
    save(folder, *splade_modules(folder), kind="SparseEncoder", **settings)


def inference_free(folder):
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    weights = torch.rand(len(tiny_tokenizer()), generator=torch.Generator().manual_seed(6))
    queries = [SparseStaticEmbedding(tokenizer=tiny_tokenizer(), weight=weights)]
    router = Router.for_query_document(query_modules=queries, document_modules=splade_modules(folder))
    save(folder, router, kind="SparseEncoder")


def adapter(folder):
    from peft import LoraConfig
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(modules=[transformer(folder), dense_module("Pooling", 32)])
    torch.manual_seed(9)
    model.add_adapter(LoraConfig(r=2, target_modules=["query", "value"], init_lora_weights=False))
    model.save(str(folder / "it"), create_model_card=False)


PROMPTS = {"query": "who ", "document": "river ", "other": "king "}
FORMS = {
    **{f"{mode} pooling": dense(pooling=mode) for mode in ("cls", "mean", "lasttoken")},
    "two poolings": dense(pooling=["cls", "mean"]),
    "heads": dense(("Dense", 32, 16), ("LayerNorm", 16), ("Normalize",)),
    "dropout": dense(("Dropout", 0.5)),
    "dot": dense(similarity_fn_name="dot"),
    "prompts": dense(prompts=PROMPTS),
    "a default prompt": dense(prompts={"other": "king "}, default_prompt_name="other"),
    "prompts outside of the pooling": dense(prompts=PROMPTS, include_prompt=False),
    "fewer numbers": dense(truncate_dim=8, similarity_fn_name="dot"),
    "no length": dense(max_seq_length=None),
    "lower case": lower_casing,
    "T5": t5,
    "two routes": routed,
    "static": static,
    "SPLADE": splade,
    "SPLADE with a cosine": lambda folder: splade(folder, similarity_fn_name="cosine"),
    "SPLADE cut to ten terms": lambda folder: splade(folder, max_active_dims=10),
    "sparse queries without a transformer": inference_free,
    "plain": lambda folder: plain(folder / "it"),
    "adapter": pytest.param(adapter, marks=pytest.mark.skipif(not find_spec("peft"), reason="needs peft")),
}


def given(folder, side, texts, out, **facts):
    encoder = UserEncoder.find(str(folder), None, facts)
    source = Node("queries", {"dataset": "tiny/passage/dev"})
    node = encoder.ranking(source, source, depth=5, cap=None).inputs[side]
    out.mkdir(exist_ok=True)
    params = Machine(None, None).resolve(node).params
    encode_by_library.run(dict(params), {"texts": texts}, out, Progress())
    views = Views.read(out)
    view = "dense" if "dense" in views.files else "sparse"
    rows = views.files[view].read(0, len(views))
    return rows.toarray() if isinstance(rows, csr_array) else rows


def expected(folder, kind, corpus, queries):
    """The vectors of the library, of length 1 where it compares by the cosine."""
    from sentence_transformers import SentenceTransformer, SparseEncoder

    settings = folder / "config_sentence_transformers.json"
    is_sparse = settings.exists() and json.loads(settings.read_text()).get("model_type") == "SparseEncoder"
    with quiet():
        model = (SparseEncoder if is_sparse else SentenceTransformer)(str(folder))
    texts = texts_of(queries)
    if kind == "passages":
        texts = titled(corpus, lambda title, text: f"{title} {text}".strip())
    method = model.encode_query if kind == "queries" else model.encode_document
    vectors = method(texts, convert_to_tensor=True)
    vectors = (vectors.to_dense() if vectors.is_sparse else vectors).float()
    if model.similarity_fn_name == "cosine":
        vectors = torch.nn.functional.normalize(vectors, dim=-1)
    return vectors.cpu().numpy()


@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS)
def test_vectors_are_those_of_the_library(tmp_path, corpus, queries, write):
    write(tmp_path)
    for kind, texts in (("passages", corpus), ("queries", queries)):
        ours = given(tmp_path / "it", kind, texts, tmp_path / kind)
        theirs = expected(tmp_path / "it", kind, corpus, queries)
        assert ours.shape == theirs.shape and len(np.unique(theirs.round(5), axis=0)) > 3
        close(ours, theirs)


def test_queries_by_an_encoder_of_their_own_are_read_as_its_folder_says(tmp_path, corpus, queries):
    dense(similarity_fn_name="dot")(tmp_path / "a")
    dense(pooling="cls", prompts=PROMPTS)(tmp_path / "b")
    other = str(tmp_path / "b/it")
    how = {"query_model": other, "similarity": "cosine"}
    ours = given(tmp_path / "a/it", "queries", queries, tmp_path / "out", **how)
    close(ours, expected(tmp_path / "b/it", "queries", corpus, queries))
    described = UserEncoder.find(str(tmp_path / "a/it"), None, {"query_model": other}).described
    assert "queries with the prompt 'who '" in described
    assert "similarity dot of the passages' encoder (queries': cosine)" in described


def by_hand(folder, texts, *, pooling="mean", length=24):
    from sentence_transformers import SentenceTransformer

    first = dense_module("Transformer", str(folder), max_seq_length=length)
    parts = [first, dense_module("Pooling", 32, pooling_mode=pooling)]
    return SentenceTransformer(modules=parts).encode(texts)


def titled(corpus, form):
    rows = read_rows(corpus)[:]
    return [form(title, text) for title, text in zip(rows["title"], rows["text"], strict=True)]


@pytest.mark.parametrize(
    "facts, form, settings",
    [
        ({"pooling": "cls"}, lambda title, text: f"{title} {text}".strip(), {"pooling": "cls"}),
        ({"passage_length": 9}, lambda title, text: f"{title} {text}".strip(), {"length": 9}),
        ({"separator": "none"}, lambda title, text: text, {}),
        ({"separator": "[SEP]"}, lambda title, text: f"{title}[SEP]{text}" if title else text, {}),
        ({"separator": "pair"}, lambda title, text: (title, text) if title else text, {}),
        ({"passage_prefix": "king "}, lambda title, text: "king " + f"{title} {text}".strip(), {}),
        ({"passage_prefix": "t: {title} x: "}, lambda title, text: f"t: {title or 'none'} x: {text}", {}),
    ],
)
def test_what_the_user_says_stands_above_the_folder(tmp_path, corpus, facts, form, settings):
    dense(similarity_fn_name="dot")(tmp_path)
    ours = given(tmp_path / "it", "passages", corpus, tmp_path / "out", **facts)
    close(ours, by_hand(tmp_path / "plain", titled(corpus, form), **settings))


def test_the_first_numbers_and_the_nearest_by_distance(tmp_path, corpus, queries):
    dense()(tmp_path)
    how = {"truncate_dim": 6, "similarity": "euclidean"}
    sides = (("passages", corpus), ("queries", queries))
    passages, topics = (given(tmp_path / "it", kind, texts, tmp_path / kind, **how) for kind, texts in sides)
    whole = by_hand(tmp_path / "plain", titled(corpus, lambda title, text: f"{title} {text}".strip()))
    close(passages[:, :6], whole[:, :6])
    distances = np.linalg.norm(topics[:, None, :6] - passages[None, :, :6], axis=-1)
    assert (np.argsort(-(topics @ passages.T), axis=1)[:, :3] == np.argsort(distances, axis=1)[:, :3]).all()


@pytest.mark.parametrize("kind, over_positions", [("splade", "max"), ("splade-sum", "sum")])
def test_a_masked_language_model_is_splade_where_its_user_says_so(tmp_path, queries, kind, over_positions):
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    plain(tmp_path / "it")
    first = Transformer(str(tmp_path / "it"), transformer_task="fill-mask")
    model = SparseEncoder(modules=[first, SpladePooling(over_positions)])
    ours = given(tmp_path / "it", "queries", queries, tmp_path / "out", kind=kind)
    close(ours, model.encode_query(texts_of(queries)).to_dense().cpu().numpy())


def test_a_scale_cuts_each_side_at_its_tokens_and_no_side_reads_more_for_it(tmp_path):
    from repro.retrieval.nn import library_encoder

    routed(tmp_path)
    model = library_encoder.load(tmp_path / "it", {"kind": "dense", "cap": 16})
    assert [library_encoder.reading(model, kind)[1] for kind in ("queries", "passages")] == [8, 16]


def test_lengths_in_all_their_places_are_cut_and_said(tmp_path, corpus, queries):
    dense(max_seq_length=40)(tmp_path)
    path = tmp_path / "it/sentence_bert_config.json"
    places = {"query_length": 6, "processing_kwargs": {"text": {"max_length": 12}}}
    for number, (added, said) in enumerate((({"query_length": 6}, (40, 6)), (places, (12, 12)))):
        path.write_text(json.dumps(json.loads(path.read_text()) | added))
        described = UserEncoder.find(str(tmp_path / "it"), None, {}).described
        assert all(f"at most {limit} tokens" in described for limit in said)
        ours = given(tmp_path / "it", "queries", queries, tmp_path / str(number))
        close(ours, expected(tmp_path / "it", "queries", corpus, queries))
        how = {"query_length": 5, "similarity": "dot"}
        short = given(tmp_path / "it", "queries", queries, tmp_path / f"short {number}", **how)
        close(short, by_hand(tmp_path / "plain", texts_of(queries), length=5))


def test_memory_that_runs_out_makes_batches_smaller(tmp_path, corpus, queries, monkeypatch):
    from sentence_transformers import SentenceTransformer

    dense()(tmp_path)
    whole, sizes = SentenceTransformer.encode_query, []

    def small(self, texts, *, batch_size, **options):
        sizes.append(batch_size)
        if batch_size > 8:
            raise RuntimeError("CUDA out of memory. Tried to allocate")
        return whole(self, texts, batch_size=batch_size, **options)

    theirs = expected(tmp_path / "it", "queries", corpus, queries)
    monkeypatch.setattr(SentenceTransformer, "encode_query", small)
    close(given(tmp_path / "it", "queries", queries, tmp_path / "out"), theirs)
    assert {32, 16, 8} <= set(sizes)


def test_blocks_that_are_there_are_not_encoded_again(tmp_path, corpus, queries, monkeypatch):
    from repro.retrieval.nn import library_encoder

    splade(tmp_path)
    monkeypatch.setattr(encode_by_library, "BLOCK", 16)
    vectors = given(tmp_path / "it", "passages", corpus, tmp_path / "out")
    close(vectors, expected(tmp_path / "it", "passages", corpus, queries))
    whole, sizes = library_encoder.encode, []

    def noted(model, texts, **how):
        sizes.append(len(texts))
        return whole(model, texts, **how)

    monkeypatch.setattr(library_encoder, "encode", noted)
    again = given(tmp_path / "it", "passages", corpus, tmp_path / "out")
    assert (again == vectors).all() and set(sizes) == {1, 2}  # to look, for the width, and beside a long text
