from __future__ import annotations

import csv

from repro.writers import figures


def _exhibit(*grades, text="soap", **changes):
    found = [
        {"rank": rank, "id": f"d{rank}", "title": "", "text": text, "score": 12.5, "grade": grade}
        for rank, grade in enumerate(grades, 1)
    ]
    query = {"wanted": "Green soap", "id": "q", "text": "green soap", "found": True, "passages": found}
    return {"kind": "passages", "queries": [query | changes]}


def _page(path, *pairs, note=""):
    figures.passages(pairs, path, note=note)
    return path.read_text(encoding="utf-8").splitlines()


def test_systems_stand_beside_each_other_rank_by_rank(tmp_path):
    lines = _page(tmp_path / "p.md", ("old", _exhibit(None)), ("new", _exhibit(2, 0)), note="at scale tiny")
    assert lines[0] == "## green soap" and lines[-1] == "*at scale tiny*"
    assert lines[2:4] == ["| rank | old | new |", "| --: | --- | --- |"]
    first, second = (line.split(" | ") for line in lines[4:6])
    assert "not judged" in first[1] and "relevant (grade 2)" in first[2]
    assert second[1] == "–" and "not relevant (grade 0)" in second[2]


def test_a_query_that_stands_in_for_another_says_so(tmp_path):
    lines = _page(tmp_path / "p.md", ("x", _exhibit(1, found=False, text="other")))
    assert "Stands in for “Green soap”, which is not among these queries." in lines


def test_a_query_without_passages_has_an_empty_table(tmp_path):
    lines = _page(tmp_path / "p.md", ("x", _exhibit()))
    assert lines[-1] == "| --: | --- |"


def test_nothing_in_a_passage_becomes_markup_or_breaks_the_table(tmp_path):
    exhibit = _exhibit(0)
    exhibit["queries"][0]["passages"][0]["text"] = "a | b\n# c <i> `d` *e*"
    lines = _page(tmp_path / "p.md", ("x", exhibit))
    assert r"a \| b \# c &lt;i&gt; \`d\` \*e\*" in lines[4] and len(lines) == 5


def test_all_of_it_lies_beside_as_csv(tmp_path):
    _page(tmp_path / "p.md", ("old", _exhibit(None)), ("new", _exhibit(2, 0)))
    with open(tmp_path / "p.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["system"], r["rank"], r["id"], r["grade"]) for r in rows] == [
        ("old", "1", "d1", ""),
        ("new", "1", "d1", "2"),
        ("new", "2", "d2", "0"),
    ]
