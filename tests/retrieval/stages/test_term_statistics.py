import json

import numpy as np
import pytest
from datasets import Dataset, Features, Sequence, Value, load_from_disk

from repro.errors import DataError
from repro.retrieval.stages import term_statistics
from repro.retrieval.stages.term_statistics import frequencies
from tests.tiny_models import tiny_tokenizer


def counted(tokens, model, out, progress):
    facts = term_statistics.run({}, {"tokens": tokens, "model": model}, out, progress)
    loaded = [np.load(out / f"{name}_frequency.npy") for name in ("collection", "document")]
    return *loaded, facts


def save_tokens(folder, rows, kind="int32"):
    features = Features({"document": Value("string"), "input_ids": Sequence(Value(kind))})
    columns = {"document": ["d"] * len(rows), "input_ids": rows}
    Dataset.from_dict(columns, features=features).save_to_disk(str(folder / "arrow"), num_shards=1)
    return folder


def test_counts_are_those_of_loops_over_all_rows(tokens, model, tmp_path, progress):
    collection, documents, facts = counted(tokens, model, tmp_path, progress)
    rows = load_from_disk(str(tokens / "arrow"))["input_ids"][:]
    size = len(tiny_tokenizer())
    occurrences, texts = [0] * size, [0] * size
    for row in rows:
        for token in row:
            occurrences[token] += 1
        for token in set(row):
            texts[token] += 1
    assert collection.tolist() == occurrences and documents.tolist() == texts
    assert collection.dtype == documents.dtype == np.int64
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert counts == {"texts": len(rows), "tokens": sum(map(len, rows))}
    assert facts == counts | {"entries": size, "entries_seen": sum(one > 0 for one in occurrences)}


@pytest.mark.parametrize("kind", ["uint16", "int32", "int64"])
def test_batches_end_anywhere_and_rows_may_be_empty(model, tmp_path, progress, monkeypatch, kind):
    generator = np.random.default_rng(0)
    rows = [generator.integers(0, 60, int(n)).tolist() for n in generator.integers(0, 9, 50)]
    whole = counted(save_tokens(tmp_path / "tokens", rows, kind), model, tmp_path, progress)
    for size in (1, 7, 50):
        monkeypatch.setattr(term_statistics, "BATCH", size)
        parts = counted(tmp_path / "tokens", model, tmp_path, progress)
        assert (parts[0] == whole[0]).all() and (parts[1] == whole[1]).all() and parts[2] == whole[2]
    assert whole[1].max() <= 50 and whole[0].sum() == sum(map(len, rows))


def test_the_order_of_texts_and_tokens_does_not_matter():
    ids, lengths = np.array([3, 1, 1, 0, 3]), np.array([3, 2])
    collection, documents = frequencies([(ids, lengths)], vocabulary_size=5)
    again = frequencies([(ids[[4, 3]], lengths[1:]), (ids[[2, 0, 1]], lengths[:1])], vocabulary_size=5)
    assert collection.tolist() == again[0].tolist() == [1, 2, 0, 2, 0]
    assert documents.tolist() == again[1].tolist() == [1, 1, 0, 2, 0]


def test_no_rows_and_no_model_are_data_errors(tokens, model, tmp_path, progress):
    with pytest.raises(DataError, match="no texts to count"):
        counted(save_tokens(tmp_path / "none", []), model, tmp_path, progress)
    with pytest.raises(DataError, match="cannot be read as a model directory"):
        counted(tokens, tmp_path, tmp_path, progress)


def test_an_interrupted_attempt_is_overwritten(tokens, model, tmp_path, progress):
    (tmp_path / "document_frequency.npy").write_bytes(b"half")
    assert counted(tokens, model, tmp_path, progress)[1].sum() > 0
    names = ["collection_frequency.npy", "counts.json", "document_frequency.npy"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
