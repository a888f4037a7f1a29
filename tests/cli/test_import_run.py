"""Runs by others: imported, compared, exported and read again."""

import gzip
import hashlib
import re
import shutil
from dataclasses import replace

import pytest
import pytrec_eval
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.manifest.cells import select
from repro.manifest.papers import papers
from repro.retrieval.datasets.reading import judgements
from repro.retrieval.datasets.sources import locate
from repro.retrieval.evaluation.run_writer import END, START
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store
from repro.store.results import Record, Results, line_of
from tests.floats import close

CELLS = """\
paper: toy
title: A toy
tables:
- id: "1"
  about: one system
  columns:
  - {id: near, dataset: tiny/passage/dl19, measure: nDCG@10}
  - {id: deep, dataset: tiny/passage/dl19, measure: R@1000}
  rows:
  - {id: bm25, label: BM25, cells: ["0.1", "0.2"]}
  - {id: close, label: Close, cells: ["1.000", "0.2"]}
"""
NEAR = "toy/1/bm25/near"
SOURCE = ("--source", "a friend")
TAKEN = "`repro import run` needs a FILE with its cells"
READINGS = """\
- id: k1
  kind: silence
  where: Table 1
  paper: no parameter is given
  evidence: none
  choices: {tuned: 0.82, plain: 0.9}
  default: tuned
"""


@pytest.fixture
def judged(toy, folders):
    toy.write_text(CELLS)
    papers.cache_clear()
    found = {}
    for j in judgements(locate("tiny/passage/dl19", "qrels", None)):
        found.setdefault(j.query, {})[j.document] = j.grade
    assert len(found) > 3
    return found


@pytest.fixture
def file(judged, folders):
    """A TREC run of ten judged documents a query at most, all of one score, ranks from 0."""
    lines = [
        f"{qid} Q0 {document} {rank} 1.5 theirs\n"
        for qid, grades in judged.items()
        for rank, document in enumerate(sorted(grades)[:10])
    ]
    path = folders / "theirs.trec"
    path.write_text("".join(lines))
    return path


def _records(folders):
    return Results(folders / "results").read("full", "toy")


def _trec_eval(qrels, lines, measure):
    run = pytrec_eval.parse_run(lines)
    found = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    return sum(of[measure.replace("_cut.", "_cut_")] for of in found.values()) / len(qrels)


def test_an_imported_run_scores_what_trec_eval_gives_and_is_recorded_once(repro, file, folders, judged):
    said = repro("import run", file, NEAR, "--source", "a friend", "--format", "json")
    assert said.status == 0, said.err
    [found] = said.json
    with open(file) as lines:
        close(found["measured"], _trec_eval(judged, lines, "ndcg_cut.10"))
    assert (found["new"], found["form"], found["missing"]) == (True, "TREC", 0)
    assert found["nudged"] == found["lines"] - len(judged)
    assert "run by others, theirs.trec: " in found["why"]
    assert "re-encoded" not in found["why"]
    [record] = _records(folders)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert record.origin == {
        "kind": "import",
        "file": "theirs.trec",
        "sha256": digest,
        "source": "a friend",
        "tag": "theirs",
        "dataset": "tiny/passage/dl19",
        "ignore_identical_ids": False,
        "judgements": "qrels",
    }
    assert list(record.rows) == ["tiny/passage/dl19 qrels"] and len(*record.rows.values()) == 64
    again = file.rename(folders / "renamed.trec")
    assert [one["new"] for one in repro("import run", again, NEAR, *SOURCE, "--format", "json").json] == [
        False
    ]
    assert _records(folders) == [record]


def test_the_verdict_of_an_imported_run_is_shown_at_every_width(narrow, repro, file):
    command = ("import", "run", file, NEAR, "toy/1/close/near", *SOURCE)
    assert repro(*command).status == 0
    narrow(*command)


@pytest.mark.parametrize("name, change", [("artefact.json", b""), ("run.trec", b"?\n"), ("raw.npy", b"??")])
def test_an_imported_run_that_was_damaged_is_made_again_from_its_file(repro, file, folders, name, change):
    assert repro("import run", file, NEAR, *SOURCE).status == 0
    [stored] = (folders / "store/imported_run").iterdir()
    content = (stored / name).read_bytes()
    (stored / name).write_bytes(content[:-2] + change)
    shutil.rmtree(folders / "store/evaluate")
    assert repro("import run", file, NEAR, *SOURCE).status == 0
    assert repro("store verify").status == 0 and stored.is_dir()


def test_a_cell_that_a_run_cannot_be_scored_for_is_refused(repro, file):
    said = repro("compare", file, "toy/1/bm25/far")
    assert "toy/1 has no column far" in said.refusal
    elsewhere = repro("compare", file, NEAR, "--dataset", "tiny/passage/dev")
    assert "no column is scored on tiny/passage/dev" in elsewhere.refusal
    deep = repro("compare", file, "toy/1/bm25/deep")
    assert deep.status == 0 and "computed on the top 10 (the run contains no more)" in deep.out


def test_topics_that_the_run_does_not_answer_are_counted_and_told(repro, file, judged):
    first = next(iter(judged))
    file.write_text("".join(line for line in file.open() if line.split()[0] != first))
    said = repro("import run", file, NEAR, *SOURCE)
    assert said.status == 0, said.err
    assert f"{len(judged) - 1} of {len(judged)} judged queries (1 missing)" in said.out
    assert "1 new records, 1 in all." in said.out


def test_a_cell_that_looks_deeper_than_the_run_goes_is_refused_and_nothing_recorded(repro, file, folders):
    said = repro("import run", file, NEAR, *SOURCE, "toy/1/bm25/deep")
    assert said.refusal == (
        f"{file}: the run has 10 documents a query, toy/1/bm25/deep needs 1000 (R@1000). "
        "Take a deeper run, or name other cells."
    )
    assert _records(folders) == []


def test_an_ms_marco_file_gives_what_its_trec_form_gives(repro, file, folders):
    fields = [line.split() for line in file.open()]
    trec = [f"{q} Q0 {d} {int(r) + 1} {-int(r)} theirs\n" for q, _, d, r, _, _ in fields]
    file.write_text("".join(trec))
    tabbed = folders / "tabbed.gz"
    tabbed.write_bytes(gzip.compress("".join(f"{f[0]}\t{f[2]}\t{int(f[3]) + 1}\n" for f in fields).encode()))
    values = [
        repro("import run", f, NEAR, *SOURCE, "--format", "json").json[0]["measured"] for f in (file, tabbed)
    ]
    assert values[0] == values[1] > 0


def test_compare_shows_every_imported_run_beside_ours_and_judges_each_by_itself(repro, file, folders, judged):
    repro("import run", file, NEAR, *SOURCE)
    other = folders / "other.trec"
    other.write_text("".join(line for line in file.open() if line.split()[0] != min(judged)))
    repro("import run", other, NEAR, *SOURCE)
    [cell] = repro(f"compare {NEAR} --format json").json
    first, last = (r.measured for r in _records(folders))
    assert (cell["measured"], cell["verdict"], cell["why"]) == (
        None,
        "not run",
        "no recipe makes this row yet",
    )
    assert [(run["file"], run["measured"]) for run in cell["imported"]] == [
        ("theirs.trec", first),
        ("other.trec", last),
    ]
    assert first != last and cell["imported"][0]["verdict"] == "inconclusive"
    assert cell["imported"][0]["why"].startswith("run by others, theirs.trec: ")
    said = repro(f"compare {NEAR} --strict")
    assert said.status == 0, "what others ran fails nothing of ours"


@pytest.fixture
def both(repro, file, toy, folders, judged):
    toy.write_text(CELLS.replace("label: BM25,", "label: BM25, recipe: words, with: {depth: 10},"))
    papers.cache_clear()
    made = plan(select(cells=(NEAR,)), scale=scale("full"), machine=Machine())
    text = file.read_text()

    def ours(out):
        (out / "run.trec").write_text(text)

    Store(folders / "store").build(made.measurements[0].runs[0], ours)
    assert repro(f"run {NEAR}").status == 0
    file.write_text("".join(line for line in file.open() if line.split()[0] != min(judged)))
    assert repro("import run", file, NEAR, *SOURCE, "--toolkit", "Lucene").status == 0


def test_our_run_is_tested_against_a_run_of_the_same_system_query_by_query(repro, both, judged):
    [cell] = repro(f"compare {NEAR} --format json").json
    [test], [run] = cell["paired"], cell["imported"]
    assert (test["over"], test["maker"]) == ("theirs.trec", "Lucene")
    assert test["difference"] == pytest.approx(cell["measured"] - run["measured"]) and test["difference"] > 0
    assert (test["wins"], test["ties"], test["losses"]) == (1, len(judged) - 1, 0)
    assert test["p"] == test["holm_p"] == pytest.approx(0.3236, abs=1e-3)
    assert test["interval"][0] <= test["difference"] <= test["interval"][1]
    assert "theirs.trec" in repro(f"compare {NEAR}").out


def test_a_run_is_judged_by_the_reading_that_it_is_said_to_follow(repro, file, toy):
    asking = CELLS.replace("label: BM25,", "label: BM25, recipe: words, with: {depth: 10},")
    toy.write_text(asking)
    recipes = toy.with_name("recipes.py")
    recipes.write_text(recipes.read_text().replace("k1=0.9,", 'k1=request.reading("k1"),'))
    toy.with_name("readings.yaml").write_text(READINGS)
    papers.cache_clear()
    about = ("import", "run", file, NEAR, *SOURCE, "--toolkit", "Lucene", "--format", "json")
    for choice, readings, name in (("tuned", {}, "higher"), ("plain", {"k1": "plain"}, "not comparable")):
        [found] = repro(*about, "--reading", f"k1={choice}").json
        assert (found["readings"], found["verdict"], found["origin"]["toolkit"]) == (readings, name, "Lucene")
    [cell] = repro(f"compare {NEAR} --format json").json
    assert [(run["toolkit"], run["verdict"]) for run in cell["imported"]] == [("Lucene", "not comparable")]
    [cell] = repro(f"compare {NEAR} --reading k1=plain --format json").json
    assert len(cell["imported"]) == 1
    for reading, words in (
        ("k1=mean", "reading k1 has no choice mean. Its choices: tuned, plain."),
        ("b=plain", "'b' is not a known reading of these cells"),
    ):
        assert words in repro(*about, "--reading", reading).sentence


def test_a_record_of_the_suites_own_wins_and_tells_of_the_imported_one(repro, file, folders):
    repro("import run", file, NEAR, *SOURCE)
    own = Record(NEAR, "full", 0.1, None, "f" * 64, 9, 0, "nDCG@10", "fraction")
    Results(folders / "results").append([own])
    repro("import run", file, NEAR, *SOURCE)
    [cell] = repro(f"compare {NEAR} --format json").json
    assert (cell["measured"], cell["verdict"]) == (0.1, "exact")
    assert [run["file"] for run in cell["imported"]] == ["theirs.trec"]


@pytest.mark.parametrize(
    "changes",
    [
        {"nDCG@10": "RR@10"},
        {"  columns:": "  unit: percent\n  columns:", "1.000": "100.0", '"0.2"': '"20.0"'},
    ],
    ids=["another measure", "another unit"],
)
def test_a_run_that_was_scored_otherwise_than_the_cell_is_not_its_measurement(repro, file, toy, changes):
    repro("import run", file, NEAR, *SOURCE)
    for before, after in changes.items():
        toy.write_text(toy.read_text().replace(before, after, 1))
    papers.cache_clear()
    [cell] = repro(f"compare {NEAR} --format json").json
    assert (cell["measured"], cell["verdict"]) == (None, "not run")
    assert cell["why"].endswith("theirs.trec was scored in another way than the cell: import it again")
    [again] = repro("import run", file, NEAR, *SOURCE, "--format", "json").json
    assert again["new"]
    [cell] = repro(f"compare {NEAR} --format json").json
    assert [run["measured"] for run in cell["imported"]] == [again["measured"]]
    assert cell["why"] == "no recipe makes this row yet"


def test_an_imported_run_that_gave_another_result_is_told_once_by_the_newer(repro, file, folders):
    repro("import run", file, NEAR, *SOURCE)
    [kept] = _records(folders)
    Results(folders / "results").append([replace(kept, measured=0.123)])
    [cell] = repro(f"compare {NEAR} --format json").json
    assert [run["measured"] for run in cell["imported"]] == [0.123]
    said = repro("import run", file, NEAR, *SOURCE)
    assert all(text in said.err for text in ("0 of 1 equal the record.", f"{NEAR} ", "(0.123 on record, "))
    assert repro(f"compare {NEAR} --format json").json[0]["imported"][0]["measured"] == kept.measured


def test_a_run_that_was_scored_by_other_judgements_is_not_the_cells_measurement(repro, file, toy, folders):
    repro("import run", file, NEAR, *SOURCE)
    path = folders / "results/records/full/toy.jsonl"
    [kept] = _records(folders)
    path.write_bytes(line_of(replace(kept, fingerprint="f" * 64)))
    [cell] = repro(f"compare {NEAR} --format json").json
    assert (cell["measured"], cell["verdict"]) == (None, "not run")


def test_an_annotated_export_is_a_plain_run_below_its_header_and_is_imported_again(
    repro, file, folders, judged
):
    value = repro("import run", file, NEAR, *SOURCE, "--format", "json").json[0]["measured"]
    plain = repro(f"export run {NEAR}").out
    target = folders / "annotated.trec"
    assert repro(f"export run {NEAR} --annotate -o", target).status == 0
    head, end, body = target.read_text().partition(END + "\n")
    assert head.startswith(START + "\n")
    assert (end, body) == (END + "\n", plain)
    metadata = yaml.safe_load("\n".join(line.removeprefix("# ") for line in head.splitlines()[1:]))
    assert metadata == {
        "schema-version": 0.1,
        "tag": "theirs",
        "data": {"test collection": {"name": "tiny/passage/dl19"}},
        "research goal": {"evaluation": {"reported measures": ["nDCG@10"]}},
    }
    close(_trec_eval(judged, body.splitlines(), "ndcg_cut.10"), value)
    [again] = repro("import run", target, NEAR, *SOURCE, "--format", "json").json
    assert (again["measured"], again["nudged"]) == (value, 0)


def test_a_run_over_questions_judged_by_answers_is_scored_by_its_passages_texts(repro, toy, folders):
    toy.write_text(CELLS.replace("tiny/passage/dl19, measure: nDCG@10", "tiny/wiki/test, measure: Success@1"))
    papers.cache_clear()
    from repro.retrieval.datasets.reading import documents, queries

    def words(text):
        return f" {' '.join(re.findall('[a-z]+', text.lower()))} "

    texts = {d.id: words(d.text) for d in documents(locate("tiny/wiki/test", "documents", None))}
    asked = list(queries(locate("tiny/wiki/test", "queries", None)))
    right = {q.id: [d for d, text in texts.items() if words(q.answers[0]) in text] for q in asked}
    answered = [qid for qid, found in right.items() if found][1:]
    path = folders / "answers.tsv"
    path.write_text("".join(f"{qid}\t{right[qid][0]}\t1\n" for qid in answered))
    said = repro("import run", path, NEAR, *SOURCE, "--format", "json")
    assert said.status == 0, said.err
    [found] = said.json
    assert found["measured"] == pytest.approx(len(answered) / len(asked)) != 0
    assert found["missing"] == len(asked) - len(answered)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["import", "run"], f"{TAKEN}, or --public DIR alone"),
        (["import", "run", "--public", "x", NEAR], f"{TAKEN}, or"),
        (["import", "run", __file__, NEAR], "the record needs the origin of the run. Add it, e.g. --source"),
        (["import", "run", "--public", "none"], "none has none of the public runs"),
        (["export", "run", NEAR], f"{NEAR} has no record at scale full. Run or import it first"),
        (["export", "run", "toy/1/bm25"], "'toy/1/bm25' is not the name of a cell"),
    ],
)
def test_a_mistake_is_one_sentence(repro, judged, arguments, sentence):
    assert repro(*arguments).refusal.startswith(sentence)


def test_public_runs_go_to_every_cell_of_their_system_within_their_depth(repro, file, folders, monkeypatch):
    from repro.exchange import public_runs

    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    entries = [
        public_runs.PublicRun(name, digest, "tiny/passage/dl19", 10, system, "a toolkit", None)
        for name, system in (("theirs.trec", "bm25"), ("absent.trec", "bm25"), ("twin.trec", "nobody"))
    ]
    (folders / "twin.trec").write_bytes(file.read_bytes())
    monkeypatch.setattr(public_runs, "public_runs", lambda: tuple(entries))
    said = repro("import run --public", folders, "--format", "json")
    assert said.status == 0, said.err
    assert [(one["id"], one["origin"]["source"]) for one in said.json] == [(NEAR, "public run by a toolkit")]
    assert said.err.splitlines()[-3:] == [
        f"not in {folders}: absent.trec",
        "left out: toy/1/bm25/deep needs more documents than theirs.trec (10)",
        "left out: twin.trec, as no paper prints nobody on tiny/passage/dl19",
    ]
    (folders / "twin.trec").write_text("other bytes")
    refused = repro("import run --public", folders)
    assert refused.refusal.startswith(f"{folders / 'twin.trec'}: its bytes are not those of the public run")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text("q1\t 0.\n-e#", max_size=40).map(str.encode))
def test_any_bytes_are_refused_with_a_sentence_and_status_2(repro, judged, folders, content):
    path = folders / "bytes"
    path.write_bytes(content)
    said = repro("import run", path, NEAR, *SOURCE)
    assert said.refusal.startswith(f"{path}:")
    assert not (folders / "results/records").exists()
