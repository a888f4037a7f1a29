import copy
import itertools

import numpy as np
import pytest
from datasets import Dataset, load_from_disk

from repro.errors import DataError, UsageError
from repro.retrieval.datasets.sentence_splitting import SentenceSplitter, packed, sentences_by_rules
from repro.retrieval.nn import checkpoint
from repro.retrieval.nn.tokens import paired_rows
from repro.retrieval.stages import tokenize
from tests.retrieval.stages.killed_between_blocks import check_killed_between_blocks
from tests.tiny_models import tiny_text, tiny_tokenizer


def tokenised(corpus, model, out, progress, **changes):
    params = {"length": 24, "policy": "chunk", "titles": True, "separator": " "} | changes
    facts = tokenize.run(params, {"corpus": corpus, "model": model}, out, progress)
    return load_from_disk(str(out / "arrow")), facts


def whole(row, separator=" ") -> list[int]:
    text = f"{row['title']}{separator}{row['text']}" if row["title"] else row["text"]
    return tiny_tokenizer()(text, add_special_tokens=False)["input_ids"]


def test_chunks_put_together_are_the_document(corpus, model, tmp_path, progress):
    tokens, facts = tokenised(corpus, model, tmp_path, progress)
    kinds = [str(kind) for kind in tokens.data.schema.types]
    assert tokens.column_names == ["document", "chunk", "input_ids"]
    assert kinds[:2] == ["string", "int32"] and kinds[2].endswith("uint16>")
    found: dict[str, list[int]] = {}
    for row in tokens:
        assert row["chunk"] == -(-len(found.get(row["document"], [])) // 22)
        assert 0 < len(row["input_ids"]) <= 22
        found.setdefault(row["document"], []).extend(row["input_ids"])
    documents = list(load_from_disk(str(corpus / "arrow")))
    assert found == {row["id"]: whole(row) for row in documents}
    assert list(found) == [row["id"] for row in documents]
    assert facts == {"chunks": len(tokens), "documents": 40, "documents_without_tokens": 0}


@pytest.mark.parametrize(("titles", "changes"), [(True, {}), (False, {"title": ""})])
def test_truncation_keeps_the_first_chunk_only(corpus, model, tmp_path, progress, titles, changes):
    how = {"policy": "truncate", "separator": "[SEP]", "titles": titles}
    tokens, _ = tokenised(corpus, model, tmp_path, progress, **how)
    documents = list(load_from_disk(str(corpus / "arrow")))
    assert [row["input_ids"] for row in tokens] == [whole(row | changes, "[SEP]")[:22] for row in documents]
    assert {row["chunk"] for row in tokens} == {0}


def test_a_pair_loses_the_end_of_whichever_is_longer_as_in_fine_tuning(model, tmp_path, progress):
    words = {"short": "king queen", "long": " ".join(["river"] * 30)}
    pairs = [("long", "long"), ("short", "long"), ("long", "short"), ("short", "short"), ("", "long")]
    titles, texts = ([words.get(name, "") for name in side] for side in zip(*pairs, strict=True))
    rows = {"id": [f"d{n}" for n in range(len(pairs))], "title": titles, "text": texts}
    Dataset.from_dict(rows).save_to_disk(str(tmp_path / "corpus/arrow"))
    given = {"policy": "truncate-pair", "separator": "[SEP]"}
    tokens, facts = tokenised(tmp_path / "corpus", model, tmp_path, progress, **given)
    expected = paired_rows(tiny_tokenizer(), titles, texts, length=24).inputs()
    lengths = expected["attention_mask"].sum(dim=1).tolist()
    framed = [ids[1 : n - 1].tolist() for ids, n in zip(expected["input_ids"], lengths, strict=True)]
    assert list(tokens["input_ids"]) == framed and facts["chunks"] == len(pairs)
    sep = tiny_tokenizer().sep_token_id
    kept = [(ids.index(sep), len(ids) - ids.index(sep) - 1) for ids in framed[:3]]
    assert kept == [(10, 11), (2, 19), (19, 2)]  # the tail alone would leave the first and third no text


def test_a_shorter_last_chunk_is_dropped_unless_it_is_the_only_one(corpus, model, tmp_path, progress):
    tokens, _ = tokenised(corpus, model, tmp_path, progress, policy="whole-chunks")
    expected = []
    for ids in map(whole, load_from_disk(str(corpus / "arrow"))):
        chunks = [ids[first : first + 22] for first in range(0, len(ids), 22)]
        expected += [chunk for chunk in chunks if len(chunk) == 22] or chunks
    assert list(tokens["input_ids"]) == expected
    assert any(len(chunk) < 22 for chunk in expected)


@pytest.mark.parametrize("policy", ["chunk", "truncate"])
def test_a_document_without_tokens_gives_no_row(policy, model, tmp_path, progress):
    rows = {"id": ["a", "b", "c"], "title": ["", "", ""], "text": ["king", "  ", "queen"]}
    Dataset.from_dict(rows).save_to_disk(str(tmp_path / "corpus/arrow"))
    tokens, facts = tokenised(tmp_path / "corpus", model, tmp_path, progress, policy=policy)
    assert tokens["document"][:] == ["a", "c"] and facts["documents_without_tokens"] == 1


def test_wrong_parameters_and_empty_corpora_are_refused(corpus, model, tmp_path, progress):
    with pytest.raises(UsageError, match="length of 2 tokens"):
        tokenised(corpus, model, tmp_path, progress, length=2)
    Dataset.from_dict({"id": ["a"], "title": [""], "text": [""]}).save_to_disk(str(tmp_path / "empty/arrow"))
    with pytest.raises(DataError, match="no document has any token"):
        tokenised(tmp_path / "empty", model, tmp_path, progress)


def test_documents_of_fewer_tokens_than_asked_for_are_left_out(corpus, model, tmp_path, progress):
    tokens, facts = tokenised(corpus, model, tmp_path, progress, fewest_tokens=30)
    long = [row["id"] for row in load_from_disk(str(corpus / "arrow")) if len(whole(row)) >= 30]
    assert 0 < len(long) < 40 and list(dict.fromkeys(tokens["document"])) == long
    assert facts["documents"] == len(long)


PACKING = {"overshoot": True, "short_probability": 0.15, "minimum_spans": 2}
SPANS = {"length": 24, "policy": "spans", "splitter": "rules", "span_packing": PACKING, "seed": 42}
SPANS |= {"fields": ["title", "body"]}


def in_spans(corpus, model, out, progress, **changes):
    facts = tokenize.run(SPANS | changes, {"corpus": corpus, "model": model}, out, progress)
    return load_from_disk(str(out / "arrow")), facts


@pytest.fixture(scope="module")
def prose(tmp_path_factory):
    """60 documents p0…p59 of 1 to 30 sentences; their addresses and every other title are words."""
    generator = np.random.default_rng(21)

    def sentence() -> str:
        return tiny_text(generator, int(generator.integers(1, 12))).rstrip(".,-()").capitalize() + "."

    folder = tmp_path_factory.mktemp("prose")
    rows = {
        "id": [f"p{number}" for number in range(60)],
        "title": ["" if n % 2 else "Castle." for n in range(60)],
        "text": [" ".join(sentence() for _ in range(1 + n // 2)) for n in range(60)],
        "url": ["Orbit."] * 60,
    }
    Dataset.from_dict(rows).save_to_disk(str(folder / "arrow"))
    return folder


def test_ids_of_a_large_vocabulary_have_four_bytes(corpus, model, tmp_path, progress, monkeypatch):
    tokenizer = copy.deepcopy(tiny_tokenizer())
    tokenizer.add_tokens([f"<{n}>" for n in range(2**16)])
    monkeypatch.setattr(checkpoint, "load_tokenizer", lambda folder: tokenizer)
    tokens, _ = tokenised(corpus, model, tmp_path, progress)
    assert tokens.features["input_ids"].feature.dtype == "uint32"
    assert tokens[0]["input_ids"] == whole(next(iter(load_from_disk(str(corpus / "arrow")))))[:22]


def sentences_of(row, *columns) -> list[list[int]]:
    text = " ".join(row[c] for c in columns if row[c])
    encoded = [tiny_tokenizer()(one, add_special_tokens=False) for one in sentences_by_rules(text)]
    return [one["input_ids"] for one in encoded]


def test_a_document_in_spans_is_one_row_of_all_its_sentences(prose, model, tmp_path, progress):
    tokens, facts = in_spans(prose, model, tmp_path, progress)
    kinds = [str(kind) for kind in tokens.data.schema.types]
    assert tokens.column_names == ["document", "chunk", "input_ids", "sentences", "spans"]
    assert kinds[:2] == ["string", "int32"] and kinds[2].endswith("uint16>")
    assert all(kind.endswith(" int32>") for kind in kinds[3:])
    documents = {row["id"]: (n, row) for n, row in enumerate(load_from_disk(str(prose / "arrow")))}
    for row in tokens:
        place, source = documents[row["document"]]
        sentences = sentences_of(source, "title", "text")
        assert row["chunk"] == 0 and row["input_ids"] == list(itertools.chain(*sentences))
        assert row["sentences"] == [len(s) for s in sentences]
        how = {"target": 24, "overshoot": True, "short_probability": 0.15}
        assert row["spans"] == packed(row["sentences"], generator=np.random.default_rng((42, place)), **how)
        assert len(row["spans"]) >= 2 and sum(row["spans"]) == len(sentences)
    kept = tokens["document"][:]
    assert kept == [name for name in documents if name in kept] and 0 < len(kept) < 60
    counts = {"chunks": len(kept), "documents": len(kept), "documents_of_too_few_spans": 60 - len(kept)}
    assert facts == counts | {"splitter": "rules 1"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arrow", "blocks"]


def test_spans_that_may_not_overshoot_have_room_for_special_tokens(prose, model, tmp_path, progress):
    strict = {"overshoot": False, "short_probability": 0.0, "minimum_spans": 1}
    tokens, facts = in_spans(prose, model, tmp_path, progress, span_packing=strict)
    assert facts["documents_of_too_few_spans"] == 0
    longest = 0
    for row in tokens:
        ends = np.cumsum([0, *row["spans"]])
        sums = [sum(row["sentences"][a:b]) for a, b in itertools.pairwise(ends)]
        assert all(total <= 22 or count == 1 for total, count in zip(sums, row["spans"], strict=True))
        longest = max(longest, *sums)
    assert longest >= 22


def test_fields_are_joined_in_their_order_and_those_a_corpus_lacks_are_passed_over(
    prose, corpus, model, tmp_path, progress
):
    packing = PACKING | {"minimum_spans": 1}
    given = {"span_packing": packing, "fields": ["url", "title", "body"]}
    tokens, _ = in_spans(prose, model, tmp_path / "a", progress, **given)
    for row, source in zip(tokens, load_from_disk(str(prose / "arrow")), strict=True):
        assert row["input_ids"] == list(itertools.chain(*sentences_of(source, "url", "title", "text")))
    tokens, _ = in_spans(corpus, model, tmp_path / "b", progress, **given)
    for row, source in zip(tokens, load_from_disk(str(corpus / "arrow")), strict=True):
        assert row["input_ids"] == list(itertools.chain(*sentences_of(source, "title", "text")))
    with pytest.raises(DataError, match="no document has 1 span"):
        in_spans(corpus, model, tmp_path / "c", progress, **(given | {"fields": ["url"]}))


def test_an_unknown_splitter_is_refused_before_anything_is_read(tmp_path, progress):
    with pytest.raises(UsageError, match="'lines' is not a known sentence splitter"):
        in_spans(tmp_path, tmp_path, tmp_path, progress, splitter="lines")


def test_a_splitter_whose_model_changed_since_the_plan_is_refused(
    prose, model, tmp_path, progress, monkeypatch
):
    def other(name, data):
        return SentenceSplitter(str.splitlines, "nltk", "the digest of another model")

    monkeypatch.setattr(tokenize, "sentence_splitter", other)
    with pytest.raises(DataError, match="the model of the sentence splitter nltk changed since planning"):
        in_spans(prose, model, tmp_path, progress, splitter="nltk", identity="the digest of the model")


CHUNKS = {"length": 12, "policy": "chunk", "titles": True, "separator": " "}


@pytest.fixture
def small_pieces(monkeypatch):
    for name, value in (("BATCH", 10), ("BLOCK", 20)):
        monkeypatch.setattr(tokenize, name, value)


@pytest.mark.parametrize("params", [CHUNKS, SPANS], ids=["chunks", "spans"])
def test_killed_between_blocks_it_goes_on_to_the_same_bytes(prose, model, tmp_path, small_pieces, params):
    inputs = {"corpus": prose, "model": model}
    facts = check_killed_between_blocks(tokenize, params, inputs, tmp_path, places=(1, 1))
    assert facts["documents"] + facts.get("documents_of_too_few_spans", 0) == 60
