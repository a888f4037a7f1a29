from __future__ import annotations

import pytest
from datasets import Dataset, load_from_disk

from repro.errors import DataError, UsageError
from repro.stages import tokenize
from tests.tiny_models import tiny_tokenizer


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
    assert kinds[:2] == ["string", "int32"] and kinds[2].endswith("int32>")
    found: dict[str, list[int]] = {}
    for row in tokens:
        assert row["chunk"] == -(-len(found.get(row["document"], [])) // 22)
        assert 0 < len(row["input_ids"]) <= 22
        found.setdefault(row["document"], []).extend(row["input_ids"])
    documents = list(load_from_disk(str(corpus / "arrow")))
    assert found == {row["id"]: whole(row) for row in documents}
    assert list(found) == [row["id"] for row in documents]
    assert facts == {"chunks": len(tokens), "documents": 40, "documents_without_tokens": 0}


def test_truncation_keeps_the_first_chunk_only(corpus, model, tmp_path, progress):
    tokens, _ = tokenised(corpus, model, tmp_path, progress, policy="truncate", separator="[SEP]")
    documents = list(load_from_disk(str(corpus / "arrow")))
    assert [row["input_ids"] for row in tokens] == [whole(row, "[SEP]")[:22] for row in documents]
    assert {row["chunk"] for row in tokens} == {0}


def test_a_shorter_last_chunk_is_dropped_unless_it_is_the_only_one(corpus, model, tmp_path, progress):
    tokens, _ = tokenised(corpus, model, tmp_path, progress, policy="whole-chunks")
    expected = []
    for ids in map(whole, load_from_disk(str(corpus / "arrow"))):
        chunks = [ids[first : first + 22] for first in range(0, len(ids), 22)]
        expected += [chunk for chunk in chunks if len(chunk) == 22] or chunks
    assert list(tokens["input_ids"]) == expected
    assert any(len(chunk) < 22 for chunk in expected)


def test_titles_may_be_left_out(corpus, model, tmp_path, progress):
    tokens, _ = tokenised(corpus, model, tmp_path, progress, titles=False, policy="truncate")
    documents = list(load_from_disk(str(corpus / "arrow")))
    assert list(tokens["input_ids"]) == [whole(row | {"title": ""})[:22] for row in documents]


def test_a_document_without_tokens_gives_no_row(model, tmp_path, progress):
    rows = {"id": ["a", "b", "c"], "title": ["", "", ""], "text": ["king", "  ", "queen"]}
    Dataset.from_dict(rows).save_to_disk(str(tmp_path / "corpus/arrow"))
    tokens, facts = tokenised(tmp_path / "corpus", model, tmp_path, progress)
    assert tokens["document"][:] == ["a", "c"] and facts["documents_without_tokens"] == 1


def test_nothing_is_written_into_the_corpus_and_nothing_else_is_left(corpus, model, tmp_path, progress):
    before = sorted(path.name for path in (corpus / "arrow").iterdir())
    tokenised(corpus, model, tmp_path, progress)
    assert sorted(path.name for path in (corpus / "arrow").iterdir()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["arrow"]


def test_an_interrupted_attempt_is_overwritten(corpus, model, tmp_path, progress):
    (tmp_path / "scratch.arrow").write_bytes(b"half")
    (tmp_path / "arrow").mkdir()
    (tmp_path / "arrow/data-00000-of-00001.arrow").write_bytes(b"half")
    tokens, facts = tokenised(corpus, model, tmp_path, progress)
    assert len(tokens) == facts["chunks"]


def test_wrong_parameters_and_empty_corpora_are_refused(corpus, model, tmp_path, progress):
    with pytest.raises(UsageError, match="no policy 'slice'"):
        tokenised(corpus, model, tmp_path, progress, policy="slice")
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
