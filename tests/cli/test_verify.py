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


def test_an_imported_run_stays_and_what_makes_it_again_is_said(repro, folders):
    from repro.graph import Node
    from repro.store import Store

    store, run = Store(folders / "store"), Node("imported_run", {"source": "x"})
    store.build(run, lambda out: (out / "run.trec").write_text("1 Q0 1 1 1 x") and None, waiting=lambda: None)
    (store.path(run) / "run.trec").write_text("")
    said = repro("verify", "--rebuild")
    assert said.status == 2 and store.state(run) == "damaged"
    assert "it stays: `repro import-run` with its file makes it again" in said.out
    assert said.out.endswith("1 artefacts read, 1 damaged, 0 removed\n")


def test_what_is_still_being_written_is_left_alone(repro, measured):
    partial = measured / "store/corpus" / ("0" * 64 + ".partial")
    partial.mkdir()
    assert repro("verify", "--rebuild").status == 0
    assert partial.exists()
