"""Impossible scores and facts in artefacts with right checksums."""

import hashlib
import json

import pytest

from repro.store.seal import RECORD, SCORES, _checksum
from tests.cli.conftest import CELL

SCALE = "--scale tiny"
TABLE = f"costa --table 1 {SCALE}"
BIG = 10**400


def _first(value):
    return lambda scores, facts: scores["measures"]["RR@10"].__setitem__(0, value)


def _all(key, value):
    return lambda scores, facts: scores.__setitem__(key, value)


def _fact(name, value):
    return lambda scores, facts: facts.__setitem__(name, value)


CONTENTS = {  # a change, and words of the sentence about it
    "nan": (_first(float("nan")), "scores.json: a score by RR@10 is nan"),
    "infinite": (_first(float("inf")), "scores.json: a score by RR@10 is inf"),
    "500": (_first(500.0), "scores.json: a score by RR@10 is 500.0"),
    "below 0": (_first(-0.1), "scores.json: a score by RR@10 is -0.1"),
    "too large for a float": (_first(BIG), "scores.json: a score by RR@10 is 10000"),
    "a word": (_first("0.5"), "scores.json: a score by RR@10 is not a number"),
    "a truth": (_first(True), "scores.json: a score by RR@10 is not a number"),
    "one too few": (
        lambda scores, facts: scores["measures"]["RR@10"].pop(),
        "it has 149 scores by RR@10 for 150",
    ),
    "another shape": (lambda scores, facts: scores.clear(), "it has no queries, measures and missing"),
    "measures in a list": (_all("measures", [0.5]), "it has no queries, measures and missing"),
    "no scores": (_all("measures", {"RR@10": []}), "its measures are ['RR@10'], not ["),
    "no queries": (_all("queries", []), "it has no queries, repeated queries"),
    "queries that are numbers": (_all("queries", [1]), "its queries, measures and missing queries are not"),
    "a query twice": (lambda s, facts: s["queries"].__setitem__(0, s["queries"][1]), "repeated queries"),
    "other queries": (lambda s, facts: s["queries"].__setitem__(0, "other"), "are not the judged ones"),
    "others missing": (_all("missing", ["other"]), "missing queries that it does not list"),
    "facts in a list": (None, "artefact.json: its facts are not a mapping"),
    "seconds in words": (_fact("seconds", "x"), "artefact.json: its fact seconds is 'x'"),
    "endless seconds": (_fact("seconds", float("inf")), "artefact.json: its fact seconds is 'inf'"),
    "inputs in a list": (_fact("inputs", ["x"]), "artefact.json: its fact inputs is "),
    "kernels in a list": (_fact("kernels", []), "its fact kernels is '[]'"),
    "no time": (_fact("finished", "yesterday"), "its fact finished is 'yesterday'"),
    "tasks without numbers": (_fact("tasks", {"a": {"done": "x"}}), "its fact tasks is "),
}


def _seal(root, name):
    """Change the evaluation of a store and rewrite its checksums."""
    [folder] = (root / "store/evaluate").iterdir()
    scores, record = (json.loads((folder / file).read_text()) for file in (SCORES, RECORD))
    change, _ = CONTENTS[name]
    if change:
        change(scores, record["facts"])
    else:
        record["facts"] = ["x"]
    data = json.dumps(scores).encode()
    (folder / SCORES).write_bytes(data)
    record["files"][SCORES] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / RECORD).write_text(json.dumps(record | {"sha256": _checksum(record)}))
    return folder


@pytest.mark.parametrize("name", CONTENTS)
def test_verify_names_contents_that_no_stage_writes_and_removes_them(repro, measured, name):
    folder = _seal(measured, name)
    said = repro("store verify")
    assert said.status == 2 and "6 artefacts read, 1 damaged\n" in said.out
    line = said.out.splitlines()[0]
    assert line.startswith(f"damaged: evaluate/{folder.name[:12]}: ") and CONTENTS[name][1] in line
    assert repro("store verify --rebuild").status == 0 and not folder.exists()


SHOWING = [  # every outlet of measured numbers, with a word of its number of CELL
    (f"compare cpdae --format csv {SCALE}", "nothing recorded yet"),
    *((f"compare {TABLE} --format {form}", "0.38") for form in ("csv", "json", "latex", "markdown")),
    (f"tables {TABLE}", "costa-table1.tex"),
    (f"report costa {SCALE} --format markdown", "| costa | 1 |"),
    (f"report costa {SCALE} -o page.html", "page.html"),
    (f"report site costa -o pages {SCALE}", "pages"),
    (f"plan {TABLE}", "damaged"),
    (f"show {CELL}", "0.38"),
    ("show coverage", "costa"),
    (f"audit claims costa {SCALE}", ""),
    (f"export run {CELL} {SCALE} -o a.trec", ""),
]


@pytest.mark.parametrize(("line", "words"), SHOWING)
def test_every_other_number_is_shown_beside_such_contents(repro, measured, monkeypatch, line, words):
    monkeypatch.chdir(measured)
    folder = _seal(measured, "nan")
    said = repro(line)
    assert said.status == 0 and words in said.out, said.err
    if line.startswith(("compare", "tables", "report costa")):
        assert f"damaged: {folder}: " in said.err and CONTENTS["nan"][1] in said.err
        assert "`repro store verify --rebuild` removes damaged artefacts" in said.err


def test_a_run_records_the_other_cells_and_names_the_contents(repro, measured):
    folder = _seal(measured, "nan")
    cells = f"{CELL} costa/1/sparse.bm25/dl19.ndcg10"
    said = repro(f"run {cells} {SCALE} --format json")
    assert said.status == 3
    assert [c["verdict"] for c in said.json] == ["failed", "scaled"]
    assert f"evaluate/{folder.name[:12]} is damaged: scores.json: a score by RR@10 is nan" in said.out
    assert repro(f"run {cells} {SCALE} --rebuild damaged").status == 0


@pytest.mark.parametrize(
    "line", [f"compare {TABLE}", f"tables {TABLE}", f"report costa {SCALE} --format markdown"]
)
def test_a_torn_last_line_is_told_where_numbers_are_shown(repro, measured, line):
    path = measured / "results/records/tiny/costa.jsonl"
    path.write_bytes(path.read_bytes() + b'{"cell": ')
    said = repro(line)
    assert said.status == 0
    assert said.err.count(f"unfinished: {path}: its last line is cut off and ignored. Restore it") == 1
