"""``repro audit`` for people and programs."""

from repro.manifest import papers as at_hand
from repro.store.results import Record, Results

KEYS = {"severity", "kind", "against", "paper", "id", "places", "values", "says", "explanation"}


def test_every_finding_is_an_object_with_as_many_places_as_values(repro):
    rows = repro("audit --format json").json
    assert rows and all(set(row) == KEYS and len(row["places"]) == len(row["values"]) for row in rows)
    assert repro("audit --format json").json == rows


def test_strict_tells_errors_by_the_exit_status(repro, toy):
    assert repro("audit").status == 0
    assert repro("audit --strict").status == 0
    toy.write_text(toy.read_text().replace('["0.1", "-"]', '["0.1", "0.3"]'))
    at_hand.papers.cache_clear()
    said = repro("audit --strict")
    assert said.status == 1 and "toy/1/mark/bm25/dl/*" in said.out
    assert repro("audit").status == 0


def test_people_see_places_values_and_explanations(repro):
    said = repro("audit simlm").out
    assert "simlm/2/dense.simlm/dl19.ndcg10 71.4" in said and "a misquotation" in said
    assert "evidence" in said and "another paper" in said


def test_a_record_that_proves_itself_altered_is_an_error_of_its_paper(repro, folders):
    results = Results(folders / "results")
    results.append(
        [Record("costa/1/sparse.bm25/dev.rr10", "tiny", 0.5, None, "f" * 64, 9, 0, "RR@10", "fraction")]
    )
    path = results.path("tiny", "costa")
    path.write_text(path.read_text().replace("0.5", "0.6"))
    [row] = [row for row in repro("audit costa --format json").json if row["kind"] == "record"]
    assert (row["severity"], row["places"]) == ("error", [f"{path}:1"]) and row["says"].startswith("altered")
    assert repro("audit costa --strict").status == 1
    assert "record" not in {row["kind"] for row in repro("audit simlm --format json").json}


def test_references_are_counted_by_verdict_and_the_right_ones_listed_too(repro):
    said = repro("audit costa --references").out
    assert "135 pointers (114 right" in said and "absent: the last number is 9" in said
    rows = repro("audit costa --references --format json").json
    assert {"paper", "at", "means", "to", "verdict", "why", "against", "reading"} == set(rows[0])
    assert {row["verdict"] for row in rows} == {"right", "wrong", "partly", "absent"}
