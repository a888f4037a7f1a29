import json
import math
from collections import Counter
from pathlib import Path

import pytest
from datasets import Dataset

from repro import machine
from repro.errors import StageError
from repro.evaluation.runs import read_run
from repro.lucene import java
from repro.progress import Progress
from repro.stages import bm25, lucene_index

pytestmark = pytest.mark.skipif(java.missing() is not None, reason="no Java 21 on this machine")

# Words that Porter's stemmer leaves alone; "the" and "of" are stop words, which lengths do not count.
DOCUMENTS = [
    ("d1", "oak", "the oak stood on moss moss moss"),
    ("d2", "", "moss of the stump"),
    ("d3", "fern", "fern fern oak stump"),
    ("d4", "stump moss", "the fern" + " filler" * 30),
    ("d5", "", "lichen oak oak moss fern stump"),
    ("t2", "", "bark bark ash"),
    ("t1", "", "bark bark ash"),
    ("d6", "bark", ""),
]
QUERIES = {
    "plain": "moss oak",
    "repeated": "moss moss fern",
    "stopped": "moss of the oak",
    "tied": "bark",
    "unknown": "zebra",
    "only-stop-words": "of the",
    "empty": "",
    "odd": '🌿 (moss" AND\tOR\x00 oak* ~ \\',
    "long": " ".join(f"word{i}" for i in range(2000)) + " moss",
}
STOP_WORDS = {"the", "of", "on", "and", "or"}


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """A folder with a corpus, its queries and both kinds of index."""
    folder = tmp_path_factory.mktemp("collection")
    write(folder, [dict(zip(("id", "title", "text"), row, strict=True)) for row in DOCUMENTS], QUERIES)
    for multifield in (False, True):
        index(folder, multifield=multifield)
    return folder


def write(folder: Path, documents: list[dict], queries: dict[str, str]) -> None:
    Dataset.from_list(documents).save_to_disk(str(folder / "corpus" / "arrow"))
    (folder / "queries").mkdir()
    lines = (json.dumps({"id": name, "text": text}) + "\n" for name, text in queries.items())
    (folder / "queries" / "queries.jsonl").write_text("".join(lines))


def index(folder: Path, *, multifield: bool) -> None:
    out = folder / f"index-{multifield}"
    out.mkdir()
    lucene_index.run({"multifield": multifield}, {"corpus": folder / "corpus"}, out, Progress())


def search(folder: Path, out: Path, *, k1=0.9, b=0.4, depth=1000, multifield=False, made=None) -> dict:
    params = {"k1": k1, "b": b, "depth": depth, "multifield": multifield}
    inputs = {"index": folder / f"index-{multifield if made is None else made}", "queries": folder / "queries"}
    return bm25.run(params, inputs, out, Progress())


def words(text: str) -> list[str]:
    return [word for word in text.split() if word not in STOP_WORDS]


def scores_by_the_formula(query: str, texts: dict[str, str], *, k1: float, b: float) -> dict[str, float]:
    """Robertson's BM25 with Lucene's idf, one document and one term at a time."""
    documents = {name: Counter(words(text)) for name, text in texts.items() if words(text)}
    average = sum(sum(counts.values()) for counts in documents.values()) / len(documents)
    scores = Counter()
    for term in words(query):
        having = sum(term in counts for counts in documents.values())
        idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
        for name, counts in documents.items():
            if term in counts:
                tf, length = counts[term], sum(counts.values())
                scores[name] += idf * tf / (tf + k1 * (1 - b + b * length / average))
    return dict(scores)


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (0.82, 0.68)])
def test_scores_are_those_of_the_formula(collection, tmp_path, k1, b):
    search(collection, tmp_path, k1=k1, b=b)
    run = read_run(tmp_path / "run.trec")
    texts = {name: f"{title} {text}" for name, title, text in DOCUMENTS}
    for name in ("plain", "repeated", "stopped"):
        expected = scores_by_the_formula(QUERIES[name], texts, k1=k1, b=b)
        assert dict(run[name]) == pytest.approx(expected, abs=1e-4)  # Anserini rounds to 1e-4


def test_with_several_fields_the_scores_of_title_and_text_add_up(collection, tmp_path):
    search(collection, tmp_path, multifield=True)
    run = read_run(tmp_path / "run.trec")
    kept = [row for row in DOCUMENTS if row[2]]  # Anserini leaves out what has no text
    titles, texts = {row[0]: row[1] for row in kept}, {row[0]: row[2] for row in kept}
    for name in ("plain", "repeated"):
        expected = Counter(scores_by_the_formula(QUERIES[name], titles, k1=0.9, b=0.4))
        expected.update(scores_by_the_formula(QUERIES[name], texts, k1=0.9, b=0.4))
        assert dict(run[name]) == pytest.approx(dict(expected), abs=1e-4)


def test_a_query_without_a_hit_is_counted_and_left_out(collection, tmp_path):
    facts = search(collection, tmp_path)
    run = read_run(tmp_path / "run.trec")
    assert set(QUERIES) - set(run) == {"unknown", "only-stop-words", "empty"}
    assert (facts["queries"], facts["queries_without_hits"]) == (9, 3)
    assert facts["hits"] == sum(map(len, run.values()))


def test_what_a_query_language_would_choke_on_is_text(collection, tmp_path):
    search(collection, tmp_path)
    run = read_run(tmp_path / "run.trec")
    assert run["odd"] == run["plain"]
    assert [name for name, _ in run["long"]] == ["d1", "d2", "d5", "d4"]


def test_ties_keep_the_order_of_document_ids_that_anserini_gives(collection, tmp_path):
    search(collection, tmp_path)
    assert [name for name, _ in read_run(tmp_path / "run.trec")["tied"]] == ["d6", "t1", "t2"]


def test_depth_cuts_each_ranking(collection, tmp_path):
    search(collection, tmp_path, depth=2)
    run = read_run(tmp_path / "run.trec")
    assert [len(run[name]) for name in ("plain", "tied")] == [2, 2]


def test_nothing_is_left_but_the_run_and_its_log(collection, tmp_path):
    search(collection, tmp_path)
    left = ["lucene.log", "raw.npy", "run.ir_metadata.yml", "run.trec"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


def test_the_run_does_not_depend_on_the_number_of_threads(collection, tmp_path, monkeypatch):
    runs = []
    for threads in (1, 4):
        folder = tmp_path / str(threads)
        folder.mkdir()
        write(folder, [dict(zip(("id", "title", "text"), row, strict=True)) for row in DOCUMENTS], QUERIES)
        monkeypatch.setattr(machine, "cores", lambda threads=threads: threads)
        index(folder, multifield=False)
        search(folder, folder)
        runs.append((folder / "run.trec").read_bytes())
    assert runs[0] == runs[1]


def test_an_index_of_the_other_kind_is_refused(collection, tmp_path):
    with pytest.raises(StageError, match="made with multifield False, but the search asks for True"):
        search(collection, tmp_path, multifield=True, made=False)
