import json
from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest

from repro.manifest import cells
from repro.plugins import contributed
from repro.store.results import Results, line_of, record_of
from tests.cli.conftest import folders as folders
from tests.cli.conftest import repro as repro

RESULTS = Path(__file__).resolve().parents[3] / "results"
CELL, AT_FULL = "costa/1/sparse.bm25/dev.rr10", "cotmae_v2/3/bm25/scifact"


@pytest.fixture
def jane(repro, folders):
    mine = Results(folders / "results")
    records = [
        next(r for r in Results(RESULTS).read("tiny", "costa") if r.cell == CELL and r.seed is None),
        next(r for r in Results(RESULTS).read("full", "cotmae_v2") if r.cell == AT_FULL and not r.origin),
    ]
    mine.append(records)
    copy(RESULTS / "data.json", folders / "results")
    said = repro("export", "records", CELL, "--scale", "tiny", "--by", "Jane Doe", "-o", folders / "a.jsonl")
    assert (said.status, said.err) == (0, f"1 records in {folders}/a.jsonl\n")
    assert repro("export", "records", AT_FULL, "--by", "Jane Doe", "-o", folders / "b.jsonl").status == 0
    path = folders / "jane.jsonl"
    path.write_bytes((folders / "a.jsonl").read_bytes() + (folders / "b.jsonl").read_bytes())
    for file in (folders / "results").rglob("*.jsonl"):
        file.unlink()
    (folders / "a.jsonl").unlink()
    return path


def lines_by_others(repro, cell: str) -> list[str]:
    return [line for line in repro("show", cell).out.splitlines() if line.startswith("run by others")]


def test_an_unchanged_file_is_shown_with_its_person_its_date_and_its_doubts(repro, jane, folders):
    before = {cell: repro("compare", cell, "--format", "json").json for cell in (CELL, AT_FULL)}
    said = repro("import", "records", jane)
    assert said.status == 0 and (folders / "results/contributed/jane.jsonl").read_bytes() == jane.read_bytes()
    record = record_of(jane.read_bytes().split(b"\n")[0])
    [line] = lines_by_others(repro, CELL)
    assert f"{record.measured:.6g} at scale tiny by Jane Doe on {record.recorded[:10]}" in line
    [note] = repro("compare", AT_FULL, "--format", "json").json[0]["others"][-1:]
    assert note["name"] == "Jane Doe" and note["run_by_others"].startswith("Jane Doe on 2026-")
    for cell, verdicts in before.items():
        after = repro("compare", cell, "--format", "json").json
        assert [c["verdict"] for c in after] == [c["verdict"] for c in verdicts]
        assert [c["measured"] for c in after] == [c["measured"] for c in verdicts] == [None]


def test_a_changed_digit_is_refused_with_its_line_and_nothing_is_kept(repro, jane, folders):
    first, second, _ = jane.read_bytes().split(b"\n")
    value = json.loads(second)["measured"]
    jane.write_bytes(first + b"\n" + second.replace(b"%r" % value, b"%r" % (value - 0.1)) + b"\n")
    said = repro("import", "records", jane)
    assert said.status == 2 and said.sentence.startswith(f"{jane}:2: ") and "altered" in said.sentence
    assert not (folders / "results/contributed").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cell": "costa/1/sparse.bm24/dev.rr10"}, "no row sparse.bm24"),
        ({"scale": "huge"}, "huge"),
        ({"unit": "percent"}, "percent is not the unit"),
        ({"origin": {}}, "no person"),
    ],
)
def test_a_line_that_fits_no_cell_or_person_is_refused(repro, jane, change, says):
    record = record_of(jane.read_bytes().split(b"\n")[0])
    jane.write_bytes(line_of(replace(record, **change)))
    said = repro("import", "records", jane)
    assert said.status == 2 and f"{jane}:1: " in said.sentence and says in said.sentence


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"fingerprint": "0" * 64}, "outdated"),
        ({"code": "0" * 16}, "other code"),
        ({"rows": {"beir/scifact documents": "0" * 64}}, "other data"),
        ({"environment": {"software": {"pyserini": "1.0.0"}}}, "other libraries"),
        ({"readings": {"no-such-choice": "x"}}, "outdated"),
    ],
)
def test_what_differs_from_here_is_a_doubt(repro, jane, change, kind):
    record = record_of(jane.read_bytes().split(b"\n")[1])
    jane.write_bytes(line_of(replace(record, **change)))
    assert repro("import", "records", jane).status == 0
    [line] = lines_by_others(repro, AT_FULL)
    assert f"{kind}: " in line


def test_another_value_than_ours_is_a_doubt(repro, jane):
    record = record_of(jane.read_bytes().split(b"\n")[0])
    Results(jane.parent / "results").append([replace(record, origin={}, measured=record.measured / 2)])
    assert "other result" in repro("import", "records", jane).out


def test_a_folder_is_imported_and_a_name_of_other_content_is_kept(repro, jane):
    jane.write_bytes(jane.read_bytes().replace(b"\n", b"\r\n"))
    for _ in range(2):
        assert repro("import", "records", jane.parent).status == 0
    jane.write_bytes(jane.read_bytes().split(b"\n")[0] + b"\n")
    assert "has other content" in repro("import", "records", jane).sentence


def test_a_file_that_another_process_adds_or_removes_is_noticed(repro, jane, folders):
    assert lines_by_others(repro, CELL) == []
    (folders / "results/contributed").mkdir(parents=True)
    copy(jane, folders / "results/contributed")
    assert len(lines_by_others(repro, CELL)) == 1
    (folders / "results/contributed/jane.jsonl").unlink()
    assert lines_by_others(repro, CELL) == []


def test_a_whole_value_has_no_point_and_an_absent_folder_is_said(repro, jane, folders, monkeypatch):
    record = replace(record_of(jane.read_bytes().splitlines()[1]), measured=1.0)
    monkeypatch.setattr(contributed, "records_of", lambda cell: [record])
    assert [note.text for note in contributed.notes_on(cells.cell(AT_FULL))] == ["1"]
    Results(folders / "results").append([replace(record, origin={})])
    said = repro("export", "records", AT_FULL, "--by", "Jane", "-o", folders / "absent/x.jsonl")
    assert said.status == 2 and "absent" in said.err
