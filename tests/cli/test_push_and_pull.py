"""``repro push`` and ``repro pull``: what one made, another verifies without making it."""

import shutil

from tests.cli.conftest import CELL

SELECTION = ("--cell", CELL, "--scale", "tiny")


def test_what_one_pushed_another_pulls_and_compares_without_running(repro, measured):
    there = measured / "there"
    said = repro("push", there, *SELECTION, "--inputs")
    assert (said.status, said.out) == (0, "6 artefacts: 6 sent, 0 already there, 0 absent\n")
    shutil.rmtree(measured / "store")
    said = repro("pull", there, *SELECTION)
    assert (said.status, said.out) == (0, "1 artefacts: 1 fetched, 0 already there, 0 absent\n")
    assert "0 run now" in repro("run", *SELECTION).err
    said = repro("pull", there, *SELECTION, "--inputs")
    assert said.out == "6 artefacts: 5 fetched, 1 already there, 0 absent\n"
    assert repro("verify").out == "6 artefacts read, 0 damaged\n1 records read, 0 damaged\n"


def test_scores_that_were_pulled_can_be_computed_again_from_the_run(repro, measured):
    there = measured / "there"
    repro("push", there, *SELECTION, "--inputs")
    [scores] = (measured / "store/evaluate").glob("*/scores.json")
    before = scores.read_bytes()
    shutil.rmtree(measured / "store")
    repro("pull", there, *SELECTION, "--inputs")
    shutil.rmtree(measured / "store/evaluate")
    assert "1 run now" in repro("run", *SELECTION).err
    assert scores.read_bytes() == before


def test_a_place_that_has_nothing_is_told_by_the_exit_status(repro, folders):
    (folders / "nothing").mkdir()
    said = repro("pull", folders / "nothing", *SELECTION)
    assert (said.status, said.out) == (4, "1 artefacts: 0 fetched, 0 already there, 1 absent\n")


def test_what_is_absent_for_want_of_the_senders_data_names_them(repro, folders):
    (folders / "nothing").mkdir()
    said = repro("pull", folders / "nothing", "--cell", CELL)
    assert said.status == 4 and said.out == "1 artefacts: 0 fetched, 0 already there, 1 absent\n"
    first, *sources = said.err.splitlines()
    assert first.startswith("fingerprints follow from data") and sources
    assert all("repro data fetch" in line for line in sources)


def test_an_empty_address_is_refused_before_anything_is_written(repro, measured, monkeypatch):
    (measured / "cwd").mkdir()
    monkeypatch.chdir(measured / "cwd")
    for address in ("", " "):
        said = repro("push", address, *SELECTION)
        assert said.sentence == "the address of the other store is empty; give a folder or URL"
    assert list((measured / "cwd").iterdir()) == []


def test_a_place_that_is_a_file_is_named_with_what_to_do(repro, measured):
    (measured / "file").write_text("")
    said = repro("push", measured / "file", *SELECTION)
    assert (said.status, said.out) == (2, "") and "--store" not in said.err
    assert f"the place {measured}/file cannot be used: that path is a file; name another\n" in said.err


def test_a_store_edited_on_the_way_is_refused(repro, measured):
    there = measured / "there"
    repro("push", there, *SELECTION)
    [scores] = (there / "evaluate").glob("*/scores.json")
    scores.write_text(scores.read_text().replace("0.", "1."))
    shutil.rmtree(measured / "store")
    said = repro("pull", there, *SELECTION)
    assert said.status == 2
    assert "is refused: scores.json is not what its record says; it was not stored" in said.sentence
    assert not list((measured / "store").glob("evaluate/*/scores.json"))


def test_a_selection_and_an_address_are_asked_for(repro):
    assert "name a paper" in repro("push", "somewhere").sentence
    assert (
        "cannot be opened: Protocol not known: nowhere" in repro("pull", "nowhere://x", *SELECTION).sentence
    )


def test_one_artefact_is_sent_and_fetched_by_its_first_digits(repro, measured):
    there = measured / "there"
    [made] = (measured / "store/evaluate").iterdir()
    said = repro("push", there, *SELECTION, "--only", made.name[:12])
    assert (said.status, said.out) == (0, "1 artefacts: 1 sent, 0 already there, 0 absent\n")
    shutil.rmtree(measured / "store")
    said = repro("pull", there, *SELECTION, "--only", made.name)
    assert said.out == "1 artefacts: 1 fetched, 0 already there, 0 absent\n"
    assert [folder.name for folder in (measured / "store/evaluate").iterdir()] == [made.name]


def test_digits_that_name_no_single_artefact_are_refused(repro, measured):
    said = repro("push", measured / "there", *SELECTION, "--only", "zz")
    assert said.sentence == "the selection has no artefact whose fingerprint begins with 'zz'"
    said = repro("pull", measured / "there", *SELECTION, "--only", "")
    assert said.sentence == "the selection has no artefact whose fingerprint begins with ''"
