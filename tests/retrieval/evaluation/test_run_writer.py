import numpy as np
import pytest
import yaml

from repro.errors import DataError, StoreError
from repro.retrieval.evaluation import run_writer as module
from repro.retrieval.evaluation.run_writer import (
    END,
    START,
    complete_metadata,
    header,
    parts,
    rankings,
    read_metadata,
    resources,
    write_run,
)
from repro.retrieval.evaluation.runs import read_run


def tied_run(seed: int, queries: int = 12, documents: int = 40, levels: int = 5) -> dict:
    random = np.random.default_rng(seed)
    run = {}
    for q in range(queries):
        scale = 10.0 ** random.integers(-6, 7)
        scores = random.integers(-levels, levels, documents) * scale + random.choice([0.0, 711.845])
        ids = random.permutation(10 * documents)[:documents]
        run[f"q{q}"] = [(f"d{d:07d}", float(s)) for d, s in zip(ids, scores, strict=True)]
    return run


def as_trec_eval_ranks(pairs):
    return [d for d, _ in sorted(pairs, key=lambda pair: (float(np.float32(pair[1])), pair[0]), reverse=True)]


def trec_eval_order(scores: dict[str, float]) -> list[str]:
    import pytrec_eval

    places = {}
    for document in scores:
        found = pytrec_eval.RelevanceEvaluator({"q": {document: 1}}, {"recip_rank"}).evaluate({"q": scores})
        places[document] = found["q"]["recip_rank"]
    return sorted(places, key=places.__getitem__, reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_broken_as_trec_eval_breaks_them(tmp_path, seed):
    run = tied_run(seed)
    write_run(tmp_path, run, "tag")
    written = read_run(tmp_path / "run.trec")
    assert {q: [d for d, _ in written[q]] for q in written} == {q: as_trec_eval_ranks(run[q]) for q in run}
    for q in list(run)[:3]:
        order = [d for d, _ in written[q]]
        assert order == trec_eval_order(dict(run[q])) == trec_eval_order(dict(written[q]))


@pytest.mark.parametrize("seed", range(5))
def test_written_scores_fall_strictly_as_float32_and_as_double(tmp_path, seed):
    write_run(tmp_path, tied_run(seed), "tag")
    for pairs in read_run(tmp_path / "run.trec").values():
        double = np.array([score for _, score in pairs])
        narrow = double.astype(np.float32)
        assert (np.diff(double) < 0).all()
        assert (narrow[1:] < narrow[:-1]).all()
        assert (narrow == double).all()  # nothing is lost in narrowing: both readers see one number


@pytest.mark.nightly
def test_every_reader_of_the_ecosystem_sees_one_ranking(tmp_path):
    import ir_measures
    import pytrec_eval
    import ranx

    run = tied_run(7)
    write_run(tmp_path, run, "tag")
    path = tmp_path / "run.trec"
    expected = {q: as_trec_eval_ranks(run[q]) for q in run}
    with open(path) as file:
        parsed = pytrec_eval.parse_run(file)
    theirs: dict = {}
    for scored in ir_measures.read_trec_run(str(path)):
        theirs.setdefault(scored.query_id, {})[scored.doc_id] = scored.score
    through_ranx = ranx.Run.from_file(str(path), kind="trec")
    assert through_ranx.name == "tag"
    for q in run:
        assert sorted(parsed[q], key=parsed[q].get, reverse=True) == expected[q]
        assert sorted(theirs[q], key=theirs[q].get, reverse=True) == expected[q]
        assert list(through_ranx[q]) == expected[q]


def test_scores_that_already_fall_are_written_as_they_are(tmp_path):
    facts = write_run(tmp_path, {"1": [("a", 1.5), ("b", 0.1), ("c", -3.0)]}, "tag")
    assert (tmp_path / "run.trec").read_text() == (
        f"1 Q0 a 1 1.5 tag\n1 Q0 b 2 {float(np.float32(0.1))!r} tag\n1 Q0 c 3 -3.0 tag\n"
    )
    assert facts == {"queries": 1, "lines": 3, "nudged": 0}


def test_only_what_does_not_fall_is_moved_and_raw_scores_lie_beside(tmp_path):
    facts = write_run(tmp_path, {"1": [("a", 2.0), ("b", 2.0), ("c", 1.0)], "2": [("a", 3.0)]}, "tag")
    after_two = float(np.nextafter(np.float32(2), np.float32(0)))
    written = read_run(tmp_path / "run.trec")
    assert written == {"1": [("b", 2.0), ("a", after_two), ("c", 1.0)], "2": [("a", 3.0)]}
    raw = np.load(tmp_path / "raw.npy")
    assert raw.dtype == np.float32
    assert raw.tolist() == [2.0, 2.0, 1.0, 3.0]
    assert facts == {"queries": 2, "lines": 4, "nudged": 1}


def test_ties_at_zero_do_not_end_in_subnormal_numbers(tmp_path):
    write_run(tmp_path, {"1": [(f"d{i}", 0.0) for i in range(5)]}, "tag")
    scores = [score for _, score in read_run(tmp_path / "run.trec")["1"]]
    assert scores[0] == 0
    assert all(abs(score) >= np.finfo(np.float32).tiny for score in scores[1:])


def test_arrays_query_by_query_give_the_same_file_as_a_mapping(tmp_path):
    run = tied_run(3)
    blocks = ((q, [d for d, _ in pairs], np.array([s for _, s in pairs])) for q, pairs in run.items())
    for name, form in (("mapping", run), ("blocks", blocks)):
        (tmp_path / name).mkdir()
        write_run(tmp_path / name, form, "tag")
    for file in ("run.trec", "raw.npy"):
        assert (tmp_path / "mapping" / file).read_bytes() == (tmp_path / "blocks" / file).read_bytes()


@pytest.mark.parametrize("queries", [0, 1, 9, 120])
def test_raw_scores_are_the_file_that_numpy_would_write(tmp_path, queries):
    scores = np.random.default_rng(0).normal(size=(queries, 100)).astype(np.float32)
    names = [f"d{number}" for number in range(100)]
    counts = write_run(tmp_path, ((f"q{n}", names, row) for n, row in enumerate(scores)), "tag")
    assert counts == {"queries": queries, "lines": 100 * queries, "nudged": 0}
    np.save(tmp_path / "expected.npy", -np.sort(-scores, axis=1).reshape(-1))
    assert (tmp_path / "raw.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()


def test_raw_scores_are_on_the_disk_while_later_queries_are_searched(tmp_path):
    names, sizes = [f"d{number}" for number in range(5000)], []

    def searched():
        for number in range(3):
            sizes.append((tmp_path / "raw.npy").stat().st_size)
            yield f"q{number}", names, np.arange(5000, dtype=np.float32)

    write_run(tmp_path, searched(), "tag")
    assert sizes[2] - sizes[1] == 4 * 5000


def test_writing_again_replaces_what_an_interrupted_attempt_left(tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a 1 ")
    write_run(tmp_path, {"1": [("a", 1.0)], "2": []}, "tag")
    assert read_run(tmp_path / "run.trec") == {"1": [("a", 1.0)]}


@pytest.mark.parametrize(
    ("run", "reason", "tag"),
    [
        ({"1": [("a b", 1.0)]}, "'a b' is empty or contains white space", "tag"),
        ({"1": [("", 1.0)]}, "'' is empty", "tag"),
        ({"1 2": [("a", 1.0)]}, "query id '1 2'", "tag"),
        ({"1": [("a", 1.0), ("a", 0.5)]}, "'1': a document is given twice", "tag"),
        ({"1": [("a", float("nan"))]}, "the score of document 'a' is not a finite float32 number", "tag"),
        ({"1": [("a", 1e39)]}, "not a finite float32", "tag"),
        ([("1", ["a"], [1.0]), ("1", ["b"], [1.0])], "query '1' is given twice", "tag"),
        ({}, "tag 'my run'", "my run"),
    ],
)
def test_what_no_run_file_can_hold_is_refused(tmp_path, run, reason, tag):
    with pytest.raises(DataError, match=reason):
        write_run(tmp_path, run, tag)


def test_metadata_states_only_what_is_known_under_the_names_of_ir_metadata(tmp_path):
    write_run(tmp_path, {"1": [("a", 1.0)]}, "tag")
    path = tmp_path / "run.ir_metadata.yml"
    assert yaml.safe_load(path.read_text()) == {
        "schema-version": 0.1,
        "tag": "tag",
        "method": {"automatic": True, "score ties": "reverse alphabetical order"},
    }
    retrieval = [{"name": "bm25", "method": "BM25", "k1": 0.9}]
    write_run(tmp_path, {"1": [("a", 1.0)]}, "tag", method={"retrieval": retrieval})
    assert yaml.safe_load(path.read_text())["method"]["retrieval"] == retrieval


HARDWARE = {"cpu": "A CPU", "cores": 2, "architecture": "x86_64", "gpu": None, "memory_gib": 8, "system": "L"}
ENVIRONMENT = {"commit": "abc", "hardware": HARDWARE, "software": {"numpy": "2.4"}}


def test_the_header_is_yaml_behind_comment_marks_between_its_two_lines():
    first, *body, last = header({"tag": "t", "actor": {"team": "é: # x"}}).splitlines()
    assert (first, last) == (START, END) == ("# ir_metadata.start", "# ir_metadata.end")
    assert all(line.startswith("# ") for line in body)
    content = yaml.safe_load("\n".join(line[2:] for line in body))
    assert content == {"schema-version": 0.1, "tag": "t", "actor": {"team": "é: # x"}}


def test_what_the_suite_knows_is_put_under_the_schemas_keys_and_what_it_does_not_is_absent():
    known = {"tag": "t", "method": {"automatic": True}, "data": {"test collection": {"name": "old"}}}
    collection = {"name": "x", "ir_datasets": "x"}
    found = complete_metadata(known, collection=collection, measures=["RR@10"], environment=ENVIRONMENT)
    assert found == {
        "tag": "t",
        "method": {"automatic": True},
        "data": {"test collection": {"name": "x", "ir_datasets": "x"}},
        "research goal": {"evaluation": {"reported measures": ["RR@10"]}},
        "platform": {
            "hardware": {
                "cpu": {"model": "A CPU", "architecture": "x86_64", "number of cores": 2},
                "ram": "8 GiB",
            },
            "operating system": {"kernel": "L"},
            "software": {"libraries": ["numpy==2.4"]},
        },
        "implementation": {"source": {"lang": ["Python"], "commit": "abc"}},
    }
    assert complete_metadata(known, collection={}, measures=[], environment={}) == known


def test_the_gpus_of_a_machine_are_one_text_as_the_model_of_its_cpu_is():
    environment = {"hardware": {"gpu": ["A GPU, 1 MiB", "B GPU, 2 MiB"]}}
    platform = complete_metadata({}, collection={}, measures=[], environment=environment)["platform"]
    assert platform["hardware"]["gpu"] == {"model": "A GPU, 1 MiB; B GPU, 2 MiB"}


def test_version_0_2_states_its_number_under_its_own_key_and_once():
    _, first, *_ = header({"schema-version": 0.1, "tag": "t"}, version="0.2").splitlines()
    assert first == "# schema version: 0.2"
    assert "schema-version" not in header({"schema-version": 0.1}, version="0.2")


def test_resources_are_what_the_artefact_took_and_nothing_where_its_facts_are_silent():
    facts = {"finished": "2026-01-02T03:04:05+00:00", "seconds": 1.5, "peak_memory_kib": 2048, "lines": 3}
    assert resources(facts) == {
        "runtime": {
            "start time": "2026-01-02T03:04:03.500+00:00",
            "stop time": "2026-01-02T03:04:05+00:00",
            "wallclock": "1500 ms",
        },
        "ram": {"used process": {"max": 2048}},
    }
    assert resources({"lines": 3}) == {}


@pytest.mark.parametrize("key", ["schema-version: 0.1", "schema version: 0.2", "schema version: '0.2'"])
@pytest.mark.parametrize(
    "marks", [("", ""), ("ir_metadata.start\n", "ir_metadata.end\n"), (START + "\n", END + "\n")]
)
def test_both_versions_are_read_with_and_without_their_marks(tmp_path, key, marks):
    path = tmp_path / "run.ir_metadata.yml"
    path.write_text(f"{marks[0]}{key}\ntag: t\nresources:\n  runtime: {{wallclock: 2 ms}}\n{marks[1]}")
    read = read_metadata(path)
    assert (read["tag"], read["resources"]) == ("t", {"runtime": {"wallclock": "2 ms"}})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("schema-version: 0.3\n", r"ir_metadata 0\.3 is not supported, only 0\.1 and 0\.2"),
        ("a: [", r"run.ir_metadata.yml: damaged"),
    ],
)
def test_another_version_and_damaged_metadata_are_refused(tmp_path, content, said):
    path = tmp_path / "run.ir_metadata.yml"
    path.write_text(content)
    with pytest.raises(StoreError, match=said):
        read_metadata(path)


def test_a_written_run_is_read_back_query_by_query(tmp_path):
    run = {f"q{n}": [(f"d{rank}", 3.5 - rank) for rank in range(n + 1)] for n in range(4)}
    write_run(tmp_path, run, tag="x")
    found = list(rankings(tmp_path / "run.trec"))
    (tmp_path / "empty").touch()
    assert [query for query, _, _ in found] == list(run) and list(rankings(tmp_path / "empty")) == []
    again = {query: list(zip(documents, scores, strict=True)) for query, documents, scores in found}
    assert again == read_run(tmp_path / "run.trec")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("q Q0 d 1 nan t\n", "run.trec: query 'q': the score 'nan' is not a finite float32 number"),
        ("q Q0 d 1 1 t\nq Q0 e 1 1 t\n", "run.trec: query 'q': not line 2 of its ranking"),
        ("q Q0 d 1 1 t\np Q0 d 1 1 t\nq Q0 e 1 1 t\n", "the lines of query 'q' are not consecutive"),
        ("\n", "run.trec: query '': not line 1"),
    ],
)
def test_a_file_that_is_no_ranking_is_a_data_error(tmp_path, lines, said):
    (tmp_path / "run.trec").write_text(lines)
    with pytest.raises(DataError, match=said):
        list(rankings(tmp_path / "run.trec"))


@pytest.mark.parametrize("reach", [5, 1 << 16])
@pytest.mark.parametrize("size", [1, 7, 40, 333, 10_000])
def test_parts_of_a_file_have_every_query_once_and_whole(tmp_path, monkeypatch, size, reach):
    monkeypatch.setattr(module, "LINE", reach)
    run = {f"q{n}": [(f"d{rank}", 3.5 - rank) for rank in range(1 + n * 7 % 11)] for n in range(30)}
    write_run(tmp_path, run, tag="x")
    path = tmp_path / "run.trec"
    found = [one for begin in parts(path, size) for one in rankings(path, begin, begin + size)]
    assert found == list(rankings(path))


def test_an_error_in_a_part_names_the_query(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("q Q0 d 1 2 t\nq Q0 e 2 1 t\np Q0 d 1 2 t\np Q0 d 3 1 t\no Q0 d 1 - t\n")
    assert len(list(rankings(path, 0, 5))) == 1 and list(rankings(path, 1, 20)) == []
    with pytest.raises(DataError, match=r"run\.trec: query 'p': not line 2 of its ranking"):
        list(rankings(path, 20, 30))
    with pytest.raises(DataError, match=r"run\.trec: query 'o': the score '-'"):
        list(rankings(path, 50, 60))
    path.write_bytes(b"q Q0 d 1 2 t\np Q0 d 1 2 t\np Q0 \xff 2 1 t\n")
    with pytest.raises(DataError, match=r"run\.trec: not UTF-8"):
        list(rankings(path, 5, 20))
    for read in (rankings, lambda path: parts(path, 5)):
        with pytest.raises(DataError, match="no such file"):
            list(read(tmp_path / "other"))


@pytest.mark.parametrize("exponents", [(1, 254), (100, 160)])
def test_scores_are_printed_as_python_prints_floats(exponents):
    """Bits of float32 numbers drawn at random, in both ways of printing."""
    bits = np.random.default_rng(0).integers(exponents[0] << 23, exponents[1] << 23, 20_000, dtype=np.uint32)
    scores = np.concatenate(
        (bits.view(np.float32), -bits.view(np.float32), np.float32([0, -0.0, 1e-3, 1e-4, 1e16]))
    )
    for some in (scores, scores[abs(scores) >= 1e-3], scores[:0]):
        assert module._decimals(some) == [repr(float(score)) for score in some]
