"""``repro convert-records``: records of earlier versions are read again, and what nothing proves is said."""

import json

from tests.cli.conftest import CELL

LINE = ("compare", "--cell", CELL, "--scale", "tiny")


def _made_older(folder):
    path = folder / "results/records/tiny/costa.jsonl"
    content = json.loads(path.read_text())
    for name in ("sha256", "measure", "unit", "assumed"):
        del content[name]
    path.write_text(json.dumps(content) + "\n")
    return path


def test_stored_scores_prove_an_older_record_which_is_refused_until_then(repro, measured):
    [before] = repro(*LINE, "--json").json
    path = _made_older(measured)
    assert repro(*LINE).sentence.startswith(f"{path}:1: a record without a digest of its own")
    said = repro("convert-records")
    assert said.out == f"{path}: 1 of 1 records converted, 1 of them proved by stored scores\n"
    assert repro(*LINE, "--json").json == [before]
    assert repro("convert-records").out == f"{path}: 1 records, none to convert\n"


def test_what_nothing_proves_is_said_and_not_current_until_it_is_measured(repro, measured):
    path = _made_older(measured)
    said = repro("convert-records", "--store", measured / "other")
    assert said.out.splitlines() == [
        f"{path}: 1 of 1 records converted, 0 of them proved by stored scores",
        f"  not vouched for: measure and unit of {CELL}",
    ]
    [cell] = repro(*LINE, "--json").json
    assert not cell["current"] and "taken from the manifest when this was converted" in cell["why"]
    [cell] = repro("run", *LINE[1:], "--json").json
    assert cell["current"] and cell["why"].startswith("measured at scale tiny")


def test_without_records_there_is_nothing_to_convert(repro, folders):
    assert repro("convert-records").out == f"there are no records in {folders}/results\n"
    assert not (folders / "results").exists()
