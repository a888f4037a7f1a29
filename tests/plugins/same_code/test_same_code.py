from dataclasses import replace

import pytest

from repro.locations import committed_results
from repro.plugins import same_code
from repro.plugins.same_code import KEPT, Comparison, Output, SameCode
from repro.progress import Progress
from repro.running import provenance
from repro.running.recomputation import digest_of_contents
from repro.stage_table import TRAININGS
from repro.store import Store

OLD = {
    "a search": Output("search", "1", "code 1", "x"),
    "b search": Output("search", "2", "code 1", "y"),
    "a pretrain": Output("pretrain papers.p:P", "3", "code p", "z"),
}


def edited(outputs, stage="search", code="code 2"):
    """The outputs by another version of a stage's code."""
    return {n: replace(o, code=code) if o.stage.startswith(stage) else o for n, o in outputs.items()}


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.setattr(same_code, "committed_results", lambda: tmp_path)
    monkeypatch.setattr(provenance, "OF_THIS_CODE", tmp_path)
    made = SameCode(Store(tmp_path / "store"), Progress())
    assert set(made.write(Comparison({}, OLD, [], []))) == {"search", "pretrain papers.p:P"}
    return made


def test_equal_outputs_add_a_digest_to_the_stage_s_line_and_keep_the_others(command):
    assert command.write(Comparison(OLD, edited(OLD), [], [], 2)) == ["search"]
    lines = provenance.equal_code()
    assert lines["search"]["recorded"] == "code 1" and lines["search"]["same"] == ["code 1", "code 2"]
    assert lines["search"]["evidence"] == "2 outputs at smoke, 2 cells at tiny"
    assert lines["pretrain papers.p:P"]["same"] == ["code p"]
    assert list(lines)[-1] == "search"


def test_a_line_does_not_grow_with_every_edit(command):
    before = OLD
    for number in range(2, 12):
        after = edited(before, code=f"code {number}")
        command.write(Comparison(before, after, [], []))
        before = after
    same = provenance.equal_code()["search"]["same"]
    assert same == ["code 1", *(f"code {number}" for number in range(13 - KEPT, 12))] and len(same) == KEPT


def test_a_moved_objective_keeps_its_line(command):
    moved = {n: replace(o, stage=o.stage.replace("papers.p:P", "papers.q:P")) for n, o in OLD.items()}
    moved = edited(moved, "pretrain", "code q")
    command.write(Comparison(OLD, moved, [], []))
    assert provenance.equal_code()["pretrain papers.q:P"]["recorded"] == "code p"
    assert "pretrain papers.p:P" not in provenance.equal_code()


def test_outputs_that_are_planned_otherwise_begin_a_new_line(command):
    renewed = {n: replace(o, planned=f"{o.planned} v2", content="new") for n, o in edited(OLD).items()}
    command.write(Comparison(OLD, renewed, [], ["a search is planned with other parameters or inputs"]))
    assert provenance.equal_code()["search"]["same"] == ["code 2"]


@pytest.fixture
def computed(command, monkeypatch):
    """``computed(outputs)``: the comparison where the code here gives these outputs."""

    def compare(outputs):
        monkeypatch.setattr(SameCode, "nodes", dict.fromkeys(outputs))
        monkeypatch.setattr(SameCode, "recorded", OLD)
        monkeypatch.setattr(SameCode, "_run", lambda self, plan, nodes: None)
        names = iter(outputs)
        monkeypatch.setattr(SameCode, "_output", lambda self, node: outputs[next(names)])
        monkeypatch.setattr(same_code, "_plan", lambda scale: None)
        monkeypatch.setattr(same_code, "_cheap_cells", lambda: None)
        return command.compare()

    return compare


def test_what_differs_is_named(computed):
    assert computed(edited(OLD)).differing == []
    other = edited(OLD) | {"b search": replace(OLD["b search"], content="other")}
    assert computed(other).differing == ["b search differs"]
    planned = OLD | {"a search": replace(OLD["a search"], planned="9"), "new one": OLD["a search"]}
    del planned["a pretrain"]
    assert computed(planned).planned_otherwise == [
        "a pretrain is no longer planned",
        "a search is planned with other parameters or inputs",
    ]


def test_contents_are_compared_to_the_last_bit_however_rows_are_split(tmp_path):
    import numpy as np
    import pyarrow as pa

    def folder(name, numbers, *parts):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "vectors.npy", np.array(numbers, np.float32))
        for number, rows in enumerate(parts):
            table = pa.table({"id": rows})
            with pa.ipc.new_stream(tmp_path / name / f"data-{number}.arrow", table.schema) as stream:
                stream.write_table(table)
        return digest_of_contents(tmp_path / name)

    one = folder("one", [1.0, 2.0], ["a", "b"])
    assert one == folder("split", [1.0, 2.0], ["a"], ["b"])
    assert one != folder("bit", [1.0, np.nextafter(np.float32(2), np.float32(3))], ["a", "b"])
    assert one != folder("rows", [1.0, 2.0], ["b", "a"])


def test_every_stage_and_objective_behind_a_record_has_a_line_for_the_code_here():
    lines = provenance.equal_code()
    command = SameCode(Store(committed_results() / "no-store"), Progress())
    planned = {" ".join([n.stage, *provenance.entries(n)[1:]]) for n in same_code._plan("tiny").nodes}
    assert planned <= lines.keys()
    assert {output.stage for output in command.recorded.values()} == lines.keys()
    assert any(stage.startswith(TRAININGS) for stage in lines)
    for name, node in command.nodes.items():
        here = same_code.code(*provenance.entries(node)).digest
        line = lines[command.recorded[name].stage]
        assert here in line["same"], f"{name}: run `repro doctor same-code`"
        assert node.fingerprint == command.recorded[name].planned


def test_the_newest_line_is_checked_with_all_that_it_is_made_from():
    command = SameCode(Store(committed_results() / "no-store"), Progress())
    names = command.newest()
    dates = {str(line["date"]) for line in provenance.equal_code().values()}
    newest = {str(provenance.equal_code()[command.recorded[name].stage]["date"]) for name in names}
    assert max(dates) in newest and len(names) > 5
