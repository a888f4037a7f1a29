"""Each kind of doubt about a number, and the tables of decisions."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from repro.machine import versions
from repro.running.plan import Plan
from repro.running.provenance import made_by, planned_code
from repro.store import Store
from repro.store.results import Record, Results
from repro.verdicts import comparison
from repro.verdicts.comparison import compare
from repro.verdicts.decision import CHANGES, DOUBTS, KINDS, RULES
from repro.verdicts.plain_values import cell_as_json
from repro.verdicts.summary import doubts_in_brief
from repro.verdicts.verdict import FAILS, NEITHER, PASSES, CodeCounts
from repro.writers.markdown import table
from tests.verdicts.test_comparison import RR, only, planned

MODEL = "costa/1/hardneg.costa/dev.rr10"
THEIRS = "cpdae/1/bm25/dev-passage.rr10"


@pytest.fixture
def results(tmp_path) -> Results:
    return Results(tmp_path / "results")


def kinds(made: Plan, results: Results, **how) -> list[str]:
    return [doubt.kind for doubt in only(made, results, **how).doubts]


def recorded(made: Plan, **facts) -> Record:
    [m] = made.measurements
    values = {"measured": 0.5, "seed": m.seed, "fingerprint": m.fingerprint, "queries": 9, "missing": 0}
    values |= {"measure": m.measure, "unit": m.cell.unit, "code": planned_code(m.parts)}
    return Record(m.cell.id, made.scale.name, **values | facts)


def test_a_record_of_the_code_that_is_here_is_current_without_any_artefact(results):
    made = planned(RR)
    results.append([recorded(made)])
    shown = only(made, results)
    assert (shown.current, shown.doubts, shown.code.other_code, shown.code.unknown_code) == (True, (), 0, 0)


def test_a_record_of_another_seed_that_changes_nothing_is_as_current(results):
    made = planned(RR)
    results.append([recorded(made), recorded(made, seed=2)])
    assert only(made, results).current


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"code": "0" * 16}, "other code"),
        ({"code": ""}, "unknown code"),
        ({"rows": {"d qrels": "0" * 64}}, "other data"),
        ({"environment": {"software": {"pyserini": "0.1"}}}, "other libraries"),
        ({"environment": {"kernels": {"pins": {"MKL_CBWR": "AVX2"}}}}, "other kernels"),
        ({"commits": ["1" * 40 + "-dirty"]}, "dirty tree"),
        ({"environment": {"commit": "1" * 40 + "-dirty"}}, "dirty tree"),
        ({"commits": ["2" * 40]}, "unknown commit"),
        ({"recorded": "2099-01-01T00:00:00+00:00"}, "from the future"),
    ],
)
def test_what_a_record_says_is_the_only_doubt(results, monkeypatch, facts, kind):
    monkeypatch.setattr("repro.verdicts.decision.differing", lambda rows: [f"{name} differ" for name in rows])
    monkeypatch.setattr("repro.machine.versions.is_in_history", lambda folder, commit: commit != "2" * 40)
    made = planned(RR)
    results.append([recorded(made, **facts)])
    assert kinds(made, results) == [kind]
    assert not only(made, results).current


def test_what_was_measured_on_files_that_are_not_here_is_doubted_for_it(results):
    made = planned(RR, at="full")
    results.append([recorded(made)])
    assert "absent data" in kinds(made, results) and "absent data" not in kinds(planned(RR), results)
    assert "dev/small were not there to be checked" in str(only(made, results).doubts)


def test_without_artefacts_how_many_are_of_other_code_is_unknown_and_not_none(results):
    made = planned(RR)
    results.append([recorded(made, code="0" * 16)])
    assert only(made, results).code == CodeCounts(None, None)


def test_a_number_on_other_data_is_not_comparable_at_full(results, monkeypatch):
    made = planned(RR, at="full")
    results.append([recorded(made, measured=0.187)])
    assert only(made, results).verdict.name == "exact"
    monkeypatch.setattr("repro.verdicts.decision.differing", lambda rows: ["the judgements are others"])
    verdict = only(made, results).verdict
    assert (verdict.name, verdict.difference) == ("not comparable", None)
    assert "the judgements are others" in verdict.why


def test_a_record_of_another_graph_is_outdated_whatever_code_made_it(results):
    made = planned(RR)
    results.append([recorded(made, fingerprint="0" * 64, code="0" * 16)])
    assert kinds(made, results) == ["outdated"]


def test_one_cell_has_one_number_whatever_else_is_selected(results):
    """Another paper's newer record of the same evaluation counts, whether or not that paper is selected."""
    mine, theirs = planned(RR), planned(THEIRS)
    assert mine.measurements[0].identity == theirs.measurements[0].identity
    results.append([recorded(mine, measured=0.5, recorded="2026-01-02T00:00:00+00:00")])
    results.append([recorded(theirs, measured=0.25, recorded="2026-01-03T00:00:00+00:00")])
    both = planned(RR, THEIRS)
    assert only(mine, results).measured == 0.25
    assert [c.measured for c in compare(both, results).cells] == [0.25, 0.25]
    assert kinds(mine, results) == ["contradicted"]


def test_a_newer_record_of_another_value_is_doubted_for_the_older(results):
    made, gone = planned(RR), {"fingerprint": "0" * 64}
    results.append([recorded(made, **gone, recorded="2026-01-01T00:00:00+00:00")])
    results.append([recorded(made, **gone, measured=0.25, recorded="2026-01-02T00:00:00+00:00")])
    assert kinds(made, results) == ["other result", "outdated"]
    results.append([recorded(made, recorded="2026-01-02T00:00:00+00:00")])
    results.append([recorded(made, measured=0.25, recorded="2026-01-03T00:00:00+00:00")])
    assert only(made, results).measured == 0.25
    [doubt] = only(made, results).doubts
    assert str(doubt) == f"other result: also on record: 0.5 ({RR}, 2026-01-02T00:00:00+00:00)"


def test_a_record_that_came_with_the_suite_contradicts_one_of_a_folder_of_the_users(results, tmp_path):
    made, mine = planned(RR), Results(tmp_path / "mine", compared=results.root)
    results.append([recorded(planned(THEIRS), recorded="2026-01-02T00:00:00+00:00")])
    mine.append([recorded(made, measured=0.25, recorded="2026-01-03T00:00:00+00:00")])
    [doubt] = only(made, mine).doubts
    assert str(doubt) == f"other result: also on record: 0.5 ({THEIRS}, 2026-01-02T00:00:00+00:00)"
    equal = Results(tmp_path / "equal", compared=results.root)
    assert only(made, equal).measured is None
    equal.append([recorded(made, recorded="2026-01-03T00:00:00+00:00")])
    assert only(made, equal).current


BM25_SOFTWARE = {"python": "3.11.0", "java": "21.0.0", "pyserini": "1.6.0"}


def test_a_record_is_held_to_the_libraries_of_its_stages_alone(results, monkeypatch):
    here = BM25_SOFTWARE | {"torch": "2.13.0", "ir_measures": "0.4.3"}
    monkeypatch.setattr(versions, "installed", here.get)
    made = planned(RR)
    results.append([recorded(made, environment={"software": BM25_SOFTWARE | {"torch": "1.0.0"}})])
    shown = only(made, results)
    assert (shown.doubts, shown.libraries_not_compared) == ((), ("ir_measures",))


def test_a_record_without_software_is_no_doubt_but_said_not_to_be_compared(results):
    made = planned(RR)
    results.append([recorded(made)])
    shown = only(made, results)
    assert shown.current and {"python", "pyserini", "ir_measures"} <= set(shown.libraries_not_compared)
    assert cell_as_json(shown)["libraries_not_compared"] == list(shown.libraries_not_compared)


def test_libraries_that_are_absent_here_are_not_compared(results, monkeypatch):
    made = planned(RR)
    results.append([recorded(made, environment={"software": {"python": "2.7.1", "pyserini": "0.1"}})])
    monkeypatch.setattr(versions, "installed", {"python": "3.11.7"}.get)
    shown = only(made, results)
    assert [str(doubt) for doubt in shown.doubts] == ["other libraries: made with python 2.7.1 (here 3.11.7)"]
    assert shown.libraries_not_compared == ("pyserini",)


def stored(made: Plan, folder: Path, **facts) -> Store:
    store = Store(folder)
    for node in made.nodes:
        store.build(node, lambda out, node=node: made_by(node) | facts)
    made.look(store)
    return store


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"libraries": {"pyserini": "0.1"}}, "other libraries"),
        ({"kernels": {"pins": {"MKL_CBWR": "AVX2"}}}, "other kernels"),
        ({"kernels": {"pins": {}}}, None),  # no stage of BM25 sums by kernels
    ],
)
def test_what_the_artefacts_say_is_the_only_doubt(results, tmp_path, monkeypatch, facts, kind):
    monkeypatch.setattr(comparison, "stored_records", lambda plan, store, **how: [])
    made = planned(RR)
    results.append([recorded(made)])
    store = stored(made, tmp_path / "store", **facts)
    assert kinds(made, results, store=store) == ([kind] if kind else [])
    assert only(made, results, store=store).code == CodeCounts(0, 0)


def test_artefacts_that_are_all_here_say_more_than_the_record(results, tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "stored_records", lambda plan, store, **how: [])
    made = planned(RR)
    software, pins = {"pyserini": "0.1"}, {"MKL_CBWR": "AVX2"}
    results.append([recorded(made, environment={"software": software, "kernels": {"pins": pins}})])
    assert kinds(made, results) == ["other libraries", "other kernels"]
    assert only(made, results, store=stored(made, tmp_path / "store")).current


def test_kernels_are_free_at_full(results):
    made = planned(RR, at="full")
    results.append([recorded(made, environment={"kernels": {"pins": {"MKL_CBWR": "AVX2"}}})])
    assert "other kernels" not in kinds(made, results)


@pytest.mark.parametrize(("gpu", "doubted"), [(None, ["other kernels"]), (["H100"], [])])
def test_missing_pins_are_doubted_of_a_number_of_models_without_a_gpu(results, gpu, doubted):
    made = planned(MODEL)
    environment = {"kernels": {"pins": {}}, "hardware": {"gpu": gpu}}
    results.append([recorded(made, environment=environment)])
    assert kinds(made, results) == doubted


@pytest.mark.parametrize(
    "environment", [{"software": {"pyserini": "0.1"}}, {"kernels": {"pins": {"MKL_CBWR": "AVX2"}}}]
)
def test_what_was_measured_again_with_libraries_and_kernels_of_here_clears_the_doubt(results, environment):
    made = planned(RR)
    results.append([recorded(made, environment=environment, recorded="2026-01-02T00:00:00+00:00")])
    software = {"pyserini": versions.installed("pyserini")}
    again = recorded(made, environment={"software": software}, recorded="2026-01-03T00:00:00+00:00")
    assert len(results.append([again])) == 1 and results.append([again]) == []
    assert kinds(made, results) == []


def test_what_was_measured_again_on_a_clean_tree_is_recorded_and_clears_the_doubt(results):
    made = planned(RR)
    results.append([recorded(made, commits=["1" * 40 + "-dirty"], recorded="2026-01-02T00:00:00+00:00")])
    assert kinds(made, results) == ["dirty tree"]
    [added] = results.append([recorded(made, recorded="2026-01-03T00:00:00+00:00")])
    assert added.contradicted is None and kinds(made, results) == []


def test_a_name_of_data_that_nobody_knows_is_told_as_it_is(results):
    made = planned(RR)
    results.append([recorded(made, rows={"a": "1", "b c d": "2", "tiny/passage/dev qrels": "3"})])
    assert only(made, results).data_without_digest[:1] == [" of a"]


def test_a_record_of_a_time_to_come_counts_after_every_other(results):
    made, theirs = planned(RR), planned(THEIRS)
    results.append([recorded(made, measured=0.5, recorded="2026-01-02T00:00:00+00:00")])
    results.append([recorded(theirs, measured=0.25, recorded="2099-01-03T00:00:00+00:00")])
    assert only(made, results).measured == 0.5


def test_the_sentence_counts_cells_by_kind_in_the_order_of_kinds(results):
    made = planned(RR)
    results.append([recorded(made, code="", commits=["1" * 40 + "-dirty"])])
    compared = only(made, results)
    other = replace(compared, doubts=compared.doubts[:1])
    sentence = doubts_in_brief([compared, other, replace(compared, doubts=())])
    assert sentence.endswith(f": 2 {KINDS['unknown code']}; 1 {KINDS['dirty tree']}")
    assert doubts_in_brief([replace(compared, doubts=())]) == ""


def documented() -> list[str]:
    rules = []
    for where, group in RULES.items():
        rules += [[rule.verdict, rule.when, re.sub(r"{.*?}", "…", rule.said), where] for rule in group]
    tables = [
        table(["verdict", "when, the first row that holds", "its grounds", "what is shown"], rules),
        table(["it is another experiment by"], [[change.when] for change in CHANGES]),
        table(["doubt", "when", "in sums and captions"], [[d.kind, d.when, d.meaning] for d in DOUBTS]),
    ]
    return ["\n".join(lines) for lines in tables]


def test_the_docs_show_the_tables_that_decide():
    page = Path("docs/explained/verdicts.md").read_text(encoding="utf-8")
    for lines in documented():
        assert lines in page, f"docs/explained/verdicts.md lacks this table:\n{lines}"


def test_every_verdict_has_a_rule_and_nothing_else_has_one():
    names = {name for rules in RULES.values() for rule in rules for name in rule.verdict.split(" or ")}
    assert names == PASSES | FAILS | NEITHER
