"""``repro verify``: every artefact read; test_bad_store.py has the damaged ones."""


def test_a_store_that_is_not_there_holds_nothing(repro):
    said = repro("verify")
    assert (said.status, said.out, said.err) == (0, "0 artefacts read, 0 damaged\n", "")


def test_a_sound_store_is_read_in_full(repro, measured):
    assert repro("verify").out == "6 artefacts read, 0 damaged\n"


def test_every_damaged_artefact_is_told_and_only_they_are_removed(repro, measured):
    for stage, file in (("qrels", "qrels.trec"), ("queries", "queries.jsonl")):
        [victim] = (measured / "store" / stage).iterdir()
        (victim / file).unlink()
    said = repro("verify")
    assert said.status == 2
    assert [line.split("/")[0] for line in said.out.splitlines()[:2]] == [
        "damaged: qrels",
        "damaged: queries",
    ]
    assert said.out.splitlines()[-1].startswith("run `repro verify --rebuild`")
    said = repro("verify", "--rebuild")
    assert said.status == 0
    assert said.out.splitlines()[-1] == "6 artefacts read, 2 damaged and removed"
    assert repro("verify").out == "4 artefacts read, 0 damaged\n"


def test_what_is_still_being_written_is_left_alone(repro, measured):
    partial = measured / "store/corpus" / ("0" * 64 + ".partial")
    partial.mkdir()
    assert repro("verify", "--rebuild").status == 0
    assert partial.exists()
