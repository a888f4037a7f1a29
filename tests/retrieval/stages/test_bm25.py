import json
import math
from collections import Counter
from pathlib import Path

import pytest
from datasets import Dataset

from repro.machine import system
from repro.progress import Progress
from repro.retrieval.evaluation.runs import read_run
from repro.retrieval.stages import bm25, lucene_index
from tests.retrieval.stages import outputs

pytestmark = pytest.mark.skipif(system.missing_java() is not None, reason="no Java 21 on this machine")

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
    folder = tmp_path_factory.mktemp("collection")
    write(folder, DOCUMENTS, QUERIES)
    for multifield in (False, True):
        index(folder, multifield=multifield)
    return folder


def write(folder: Path, documents: list[tuple[str, str, str]], queries: dict[str, str]) -> None:
    columns = dict(zip(("id", "title", "text"), map(list, zip(*documents, strict=True)), strict=True))
    Dataset.from_dict(columns).save_to_disk(str(folder / "corpus" / "arrow"))
    (folder / "queries").mkdir()
    lines = (json.dumps({"id": name, "text": text}) + "\n" for name, text in queries.items())
    (folder / "queries" / "queries.jsonl").write_text("".join(lines))


def index(folder: Path, *, multifield: bool) -> None:
    out = folder / f"index-{multifield}"
    out.mkdir()
    lucene_index.run({"multifield": multifield}, {"corpus": folder / "corpus"}, out, Progress())


def search(folder: Path, out: Path, *, k1=0.9, b=0.4, depth=1000, multifield=False) -> dict:
    params = {"k1": k1, "b": b, "depth": depth, "multifield": multifield}
    inputs = {"index": folder / f"index-{multifield}", "queries": folder / "queries"}
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


@pytest.fixture(scope="module")
def answered(collection, tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    facts = search(collection, out)
    return out, read_run(out / "run.trec"), facts


def test_the_output_is_the_recorded_one_as_long_as_the_version_is(answered, renewing):
    out, _, facts = answered
    outputs.check("bm25", out, facts, renew=renewing)


def test_scores_are_those_of_the_formula(answered):
    check_against_the_formula(answered[1], k1=0.9, b=0.4)


@pytest.fixture(scope="module")
def shallow(collection, tmp_path_factory):
    out = tmp_path_factory.mktemp("shallow")
    search(collection, out, k1=0.82, b=0.68, depth=2)
    return read_run(out / "run.trec")


def test_other_parameters_give_the_scores_of_the_formula_too(shallow):
    check_against_the_formula(shallow, k1=0.82, b=0.68)


def check_against_the_formula(run, *, k1, b):
    texts = {name: f"{title} {text}" for name, title, text in DOCUMENTS}
    for name in ("plain", "repeated", "stopped"):
        expected = scores_by_the_formula(QUERIES[name], texts, k1=k1, b=b)
        best = dict(sorted(expected.items(), key=lambda pair: -pair[1])[: len(run[name])])
        assert dict(run[name]) == pytest.approx(best, abs=1e-4)  # Anserini rounds to 1e-4
        assert len(best) in (2, len(expected))


def test_with_several_fields_the_scores_of_title_and_text_add_up(collection, tmp_path):
    search(collection, tmp_path, multifield=True)
    run = read_run(tmp_path / "run.trec")
    kept = [row for row in DOCUMENTS if row[2]]  # Anserini leaves out what has no text
    titles, texts = {row[0]: row[1] for row in kept}, {row[0]: row[2] for row in kept}
    for name in ("plain", "repeated"):
        expected = Counter(scores_by_the_formula(QUERIES[name], titles, k1=0.9, b=0.4))
        expected.update(scores_by_the_formula(QUERIES[name], texts, k1=0.9, b=0.4))
        assert dict(run[name]) == pytest.approx(dict(expected), abs=1e-4)


def test_a_query_without_a_hit_is_counted_and_left_out(answered):
    _, run, facts = answered
    assert set(QUERIES) - set(run) == {"unknown", "only-stop-words", "empty"}
    assert (facts["queries"], facts["queries_without_hits"]) == (9, 3)
    assert facts["hits"] == sum(map(len, run.values()))


def test_what_a_query_language_would_choke_on_is_text(answered):
    assert answered[1]["odd"] == answered[1]["plain"]


def test_a_query_may_have_more_terms_than_lucene_allows_by_default(answered):
    assert [name for name, _ in answered[1]["long"]] == ["d1", "d2", "d5", "d4"]


def test_ties_keep_the_order_of_document_ids_that_anserini_gives(answered):
    ranking = answered[1]["tied"]
    assert [name for name, _ in ranking] == ["t1", "t2", "d6"]
    assert ranking[0][1] - ranking[1][1] == pytest.approx(1e-6, rel=0.1)


def test_nothing_is_left_but_the_run_and_its_log(answered):
    left = sorted(path.name for path in answered[0].iterdir())
    assert left == ["lucene.log", "raw.npy", "run.ir_metadata.yml", "run.trec"]


@pytest.mark.nightly
def test_the_run_does_not_depend_on_the_number_of_threads(answered, tmp_path, monkeypatch):
    threads = system.cores() + 3
    monkeypatch.setattr(system, "cores", lambda: threads)
    write(tmp_path, DOCUMENTS, QUERIES)
    index(tmp_path, multifield=False)
    search(tmp_path, tmp_path)
    assert (tmp_path / "run.trec").read_bytes() == (answered[0] / "run.trec").read_bytes()


@pytest.mark.nightly
# BM25 in the BEIR tables of pyserini's own reproduction page, nDCG@10.
@pytest.mark.parametrize(
    ("name", "multifield", "published"),
    [("nfcorpus", 0, 0.3218), ("nfcorpus", 1, 0.3254), ("scifact", 0, 0.6789), ("scifact", 1, 0.6647)],
)
def test_published_figures_are_met_to_four_decimals(real_data, tmp_path, name, multifield, published):
    import pytrec_eval

    folder, judged = real_data / "beir" / name, {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        judged.setdefault(query, {})[document] = int(grade)
    texts = {row["_id"]: row["text"] for row in json_lines(folder / "queries.jsonl")}
    documents = [(row["_id"], row["title"], row["text"]) for row in json_lines(folder / "corpus.jsonl")]
    write(tmp_path, documents, {q: texts[q] for q in judged})
    index(tmp_path, multifield=bool(multifield))
    search(tmp_path, tmp_path, depth=10, multifield=bool(multifield))
    run = {query: dict(ranking) for query, ranking in read_run(tmp_path / "run.trec").items()}
    scores = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(run)
    mean = sum(score["ndcg_cut_10"] for score in scores.values()) / len(judged)
    assert round(mean, 4) == published


def json_lines(path: Path) -> list[dict]:
    with open(path) as lines:
        return [json.loads(line) for line in lines]
