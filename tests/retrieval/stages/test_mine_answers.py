import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset, load_from_disk

from repro.errors import DataError
from repro.retrieval.datasets.arrow import SCORED_EXAMPLES
from repro.retrieval.evaluation.answers import contains_answer
from repro.retrieval.evaluation.run_writer import rankings, write_run
from repro.retrieval.stages import mine_answers
from repro.retrieval.stages.finetune import confident
from repro.retrieval.stages.mine_answers import annotated, example
from tests.bounded_memory import peak_growth
from tests.retrieval.datasets.folders import write_lines
from tests.retrieval.datasets.rows_at_once import check_rows
from tests.retrieval.stages.conftest import folders
from tests.retrieval.stages.killed_between_blocks import check_killed_between_blocks

TEXTS = ["nothing", "it was in Par\u00eds.", "Paris", "Parisian", "old PARI\u0301S", "so what", "Rome"]
PARAMS = {"depth": 100, "per_query": 100, "seed": 1, "extra_positives": True}


@pytest.fixture
def inputs(tmp_path):
    names = ("run", "qrels", "queries", "corpus")
    inputs = dict(zip(names, folders(tmp_path, *names), strict=True))
    rows = {"id": [f"d{n}" for n in range(7)], "title": ["Paris"] * 7, "text": TEXTS}
    Dataset.from_dict(rows).save_to_disk(str(inputs["corpus"] / "arrow"))
    questions = {"q1": ["Par\u00eds"], "q2": ["Rome", "Athens"], "q3": ["nowhere"]}
    records = ({"id": q, "text": q, "answers": answers} for q, answers in questions.items())
    write_lines(inputs["queries"] / "queries.jsonl", records)
    ranking = [(f"d{n}", 10.0 - n) for n in range(7)]
    write_run(inputs["run"], {"q1": ranking, "q2": ranking[::2], "q3": ranking}, tag="x")
    (inputs["qrels"] / "qrels.trec").write_text("q1 0 d2 1\nq1 0 d5 2\nq1 0 d0 0\n")
    return inputs


def mined(inputs, tmp_path, progress, **changes):
    out = Path(tempfile.mkdtemp(dir=tmp_path))
    facts = mine_answers.run(PARAMS | changes, inputs, out, progress)
    return {row["query"]: row for row in load_from_disk(str(out / "arrow"))}, facts


def test_the_annotated_passage_comes_first_and_found_answers_follow_by_rank(inputs, tmp_path, progress):
    rows, facts = mined(inputs, tmp_path, progress)
    assert rows["q1"]["positives"] == ["d5", "d1", "d4"]
    assert rows["q1"]["positive_scores"] == [1000.0, 9.0, 6.0]
    # titles are not searched, accents are not removed, and a longer word is another word
    scores = dict(zip(rows["q1"]["negatives"], rows["q1"]["negative_scores"], strict=True))
    assert scores == {"d0": 10.0, "d2": 8.0, "d3": 7.0, "d6": 4.0}
    assert rows["q2"]["positives"] == ["d6"] and rows["q2"]["positive_scores"] == [4.0]
    assert facts == {"queries": 2, "queries_left_out": 1, "queries_not_judged": 2}


def test_without_extra_positives_the_annotated_or_the_first_answer_is_alone(inputs, tmp_path, progress):
    rows, _ = mined(inputs, tmp_path, progress, extra_positives=False)
    assert rows["q1"]["positives"] == ["d5"] and rows["q2"]["positives"] == ["d6"]
    assert set(rows["q1"]["negatives"]) == {"d0", "d2", "d3", "d6"}  # found answers are no negatives either
    (inputs["qrels"] / "qrels.trec").write_text("q9 0 d1 1\n")
    rows, _ = mined(inputs, tmp_path, progress, extra_positives=False)
    assert rows["q1"]["positives"] == ["d1"] and rows["q1"]["positive_scores"] == [9.0]


def test_only_the_first_passages_count(inputs, tmp_path, progress):
    rows, _ = mined(inputs, tmp_path, progress, depth=3)
    assert rows["q1"]["positives"] == ["d5", "d1"] and set(rows["q1"]["negatives"]) == {"d0", "d2"}
    assert "q2" not in rows


def test_the_invariants_of_a_row_hold_for_random_rankings():
    draw = np.random.default_rng(0)
    for number in range(1000):
        size = int(draw.integers(1, 12))
        documents = [f"d{n}" for n in draw.permutation(20)[:size]]
        scores = np.sort(draw.normal(size=size))[::-1].tolist()
        hits = (draw.random(size) < 0.4).tolist()
        best = f"d{draw.integers(20)}" if draw.random() < 0.5 else None
        per_query = int(draw.integers(1, 6))
        how = {"best": best, "extra_positives": True, "per_query": per_query, "seed": number}
        row = example("q", documents, scores, hits, **how)
        answered = {d for d, hit in zip(documents, hits, strict=True) if hit} | ({best} if best else set())
        others = set(documents) - answered
        if not answered or not others:
            assert row is None
            continue
        assert set(row["positives"]) == answered and len(row["positives"]) == len(answered)
        assert len(row["negatives"]) == min(per_query, len(others)) and set(row["negatives"]) <= others
        assert row["positives"][0] == best or best is None
        known = dict(zip(documents, scores, strict=True)) | ({best: 1000.0} if best else {})
        for side in ("positive", "negative"):
            assert row[f"{side}_scores"] == [known[d] for d in row[f"{side}s"]]
        trusted = [row["positives"][n] for n in confident(row["positive_scores"], row["negative_scores"])]
        assert trusted[0] == row["positives"][0]
        assert row == example("q", documents, scores, hits, **how)


def test_further_positives_are_judged_by_scores_rounded_in_turn(inputs, tmp_path, progress):
    scores = {"d5": 0.7, "d1": 0.61242, "d0": 0.61218, "d4": 0.61248, "d6": 0.2}
    write_run(inputs["run"], {"q1": sorted(scores.items(), key=lambda pair: -pair[1])}, tag="x")

    def trusted(**changes):
        row = mined(inputs, tmp_path, progress, **changes)[0]["q1"]
        places = confident(row["positive_scores"], row["negative_scores"])
        return [row["positives"][place] for place in places]

    assert trusted() == ["d5", "d4", "d1"]  # both outscore d0, the best negative
    assert trusted(score_decimals=[3]) == ["d5"]
    assert trusted(score_decimals=[4, 3]) == ["d5", "d4"]  # .61248 is .6125 and then .613


def test_the_annotated_passage_is_the_first_of_the_best_grade():
    assert annotated({"a": 1, "b": 2, "c": 2, "d": -1}) == "b"
    assert annotated({"a": 0, "b": -1}) is None and annotated({}) is None


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("run/run.trec", "q1 Q0 d77 1 3.0 x\n", "document 'd77' is not in the corpus"),
        ("run/run.trec", "q3 Q0 d1 1 3.0 x\n", "no question has both a positive and a negative"),
        ("run/run.trec", "q3 Q0 d1 1 high x\n", "run.trec: query 'q3': the score 'high'"),
        ("queries/queries.jsonl", '{"id": "q1", "text": "t"}\n', "queries.jsonl: not lines of JSON"),
    ],
)
def test_what_is_missing_or_malformed_is_a_data_error(inputs, tmp_path, progress, file, line, said):
    (tmp_path / file).write_text(line)
    with pytest.raises(DataError, match=said):
        mined(inputs, tmp_path, progress)


@pytest.fixture
def many(inputs, monkeypatch):
    """4,000 questions of which every fifth has no passage without an answer; blocks of 40 kB of the run."""
    monkeypatch.setattr(mine_answers, "BLOCK", 40_000)
    answers = [["Par\u00eds"], ["Rome"], ["it"], ["what", "old"], []]
    records = ({"id": f"q{n}", "text": "?", "answers": answers[n % 5]} for n in range(4000))
    write_lines(inputs["queries"] / "queries.jsonl", records)
    rankings = {f"q{n}": [(f"d{m}", 9.0 - m) for m in range(n % 3, 7)] for n in range(4000)}
    write_run(inputs["run"], rankings, tag="x")
    return inputs


def test_blocks_of_questions_have_the_rows_of_all_in_memory(many, tmp_path, progress):
    facts = mine_answers.run(PARAMS | {"depth": 4}, many, tmp_path, progress)
    answers = {f"q{n}": [["Par\u00eds"], ["Rome"], ["it"], ["what", "old"], []][n % 5] for n in range(4000)}
    rows = []
    for query, documents, scores in rankings(many["run"] / "run.trec"):
        hits = [contains_answer(TEXTS[int(name[1:])], answers[query]) for name in documents[:4]]
        best = {"q1": "d5"}.get(query)
        how = {"best": best, "extra_positives": True, "per_query": 100, "seed": 1}
        rows.append(example(query, documents[:4], scores[:4], hits, **how))
    rows = [row for row in rows if row is not None]
    assert check_rows(tmp_path / "arrow", rows, SCORED_EXAMPLES) > 2
    assert facts["queries"] == len(rows) > 1000 and facts["queries_left_out"] == 4000 - len(rows)


def test_killed_between_blocks_it_goes_on_to_the_same_bytes(many, tmp_path):
    check_killed_between_blocks(mine_answers, PARAMS, many, tmp_path, places=(2, 5))


def test_memory_holds_one_block_of_the_run(many, tmp_path, progress, monkeypatch):
    monkeypatch.setattr(mine_answers, "contains_answer", lambda text, answers, tokenless: len(text) == 7)
    monkeypatch.setattr(mine_answers, "BLOCK", 1 << 19)
    names = [f"d{n}" for n in range(200)]
    rows = {"id": names, "title": names, "text": ["nothing", "much"] * 100}
    Dataset.from_dict(rows).save_to_disk(str(tmp_path / "passages/arrow"))
    inputs = many | {"corpus": tmp_path / "passages"}
    ranking = [(name, 900.0 - n) for n, name in enumerate(names)]
    for name, count in (("few", 100), ("all", 1600)):
        (tmp_path / name).mkdir()
        write_run(tmp_path / name, {f"q{n}": ranking for n in range(count)}, tag="x")
    mined(inputs | {"run": tmp_path / "few"}, tmp_path / "few", progress)
    work = partial(mine_answers.run, PARAMS, inputs | {"run": tmp_path / "all"}, tmp_path, progress)
    assert peak_growth(work) < 28_000_000  # the rankings of all take 38 MB
