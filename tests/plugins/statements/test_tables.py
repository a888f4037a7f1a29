import pytest

from repro.errors import ManifestError
from repro.manifest import papers as at_hand
from repro.manifest.papers import paper
from repro.plugins.statements.paper_audit import findings_of

CELLS = """\
paper: made
title: made
tables:
- id: "1"
  about: averages, differences, bold and marks
  unit: percent
  bold: column
  delta_from: a
  test: {kind: t}
  marks: {"*": {means: significant, over: [a]}}
  columns:
  - {id: x, dataset: msmarco-passage/dev/small, measure: RR@10}
  - {id: y, dataset: msmarco-passage/dev/small, measure: R@1000}
  - {id: mean, mean_of: [x, y]}
  groups:
  - {id: g}
  rows:
  - {id: a, label: A, role: rerun, cells: ["30.0", "90.0", "60.0"]}
  - {id: b, label: B, role: rerun, cells: ["**32.0*** (+2.0)", "**92.0***", "**62.0**"]}
  - {id: c, label: C, cells: ["31.0", "91.0", "61.0"]}
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(at_hand, "ROOT", tmp_path)
    (tmp_path / "made").mkdir()

    def call(*changes, notes="", claims=""):
        text = CELLS
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "made/cells.yaml").write_text(text)
        for name, content in (("audit", notes), ("claims", claims)):
            if content:
                (tmp_path / f"made/{name}.yaml").write_text(content)
        at_hand.papers.cache_clear()
        return [(f.severity, f.kind, f.places[0], f.says) for f in findings_of([paper("made")])]

    yield call
    at_hand.papers.cache_clear()


def test_a_table_without_fault_has_no_finding(made):
    assert made() == []


@pytest.mark.parametrize(
    ("old", "new", "severity", "kind", "reason"),
    [
        ('"91.0", "61.0"', '"91.0", "61.1"', "error", "average", "the mean of its 2 cells is 61.0000"),
        ("(+2.0)", "(+2.1)", "error", "delta", "32.0 - 30.0 is not 2.1"),
        ('"31.0", "91.0", "61.0"', '"33.0", "91.0", "62.0"', "error", "bold", "32.0 vs. 1/c/x 33.0"),
        ('"31.0", "91.0", "61.0"', '"32.0", "91.0", "61.5"', "note", "tie", "bold in one place only"),
        ("  test: {kind: t}\n", "", "doubt", "mark", "its table names no test"),
        ("label: A, role: rerun", "label: A", "doubt", "mark", "A is cited, so there are no scores"),
        ("label: B, role: rerun", "label: B", "doubt", "mark", "the row is cited"),
        ('"30.0", "90.0", "60.0"', '"30.0", "-", "-"', "doubt", "mark", "A has no number there"),
        ("{id: a,", "{id: a, group: g,", "doubt", "mark", "none of the rows that it is over"),
    ],
)
def test_a_fault_is_found_and_named(made, old, new, severity, kind, reason):
    found = made((old, new))
    assert [f for f in found if f[:2] == (severity, kind) and reason in f[3]], found


def test_two_tables_with_one_configuration_must_agree(made):
    second = (
        '- id: "2"\n  about: again\n  unit: fraction\n  columns:\n'
        "  - {id: x, dataset: msmarco-passage/dev/small, measure: RR@10}\n"
        '  rows:\n  - {id: c, label: C, cells: ["0.312"]}\n'
        '  - {id: b, label: B, role: rerun, cells: ["0.33"]}\n'
    )
    more = ("tables:\n", f"tables:\n{second}")
    [(severity, kind, place, says)] = made(more)
    assert (severity, kind) == ("error", "values") and says.startswith("c has several values of RR@10")
    assert place == "made/2/c/x"
    named = "configurations: {one: [made/1/b, made/2/b], other: [made/2/c]}\n"
    [(_, _, _, says)] = made(more, notes=named)
    assert says.startswith("one has several values")


def test_numbers_of_unequal_precision_differ_only_beyond_their_rounding(made):
    second = (
        '- id: "2"\n  about: again\n  unit: percent\n  columns:\n'
        "  - {id: x, dataset: msmarco-passage/dev/small, measure: RR@10}\n"
        '  rows:\n  - {id: c, label: C, cells: ["31"]}\n'
    )
    more = ("tables:\n", f"tables:\n{second}")
    assert made(more, ('"31.0", "91.0", "61.0"', '"31.4", "91.0", "61.2"')) == []
    assert len(made(more, ('"31.0", "91.0", "61.0"', '"31.6", "91.0", "61.3"'))) == 1


@pytest.mark.parametrize(
    ("notes", "reason"),
    [
        ("configurations: {one: [made/1/q]}", "'made/1/q' is not a row or cell"),
        ("configurations: {one: [made/1/a], two: [made/1/a]}", "named twice"),
        ("facts: [[made/1/bold/b/x, made/1/mark/b/x]]", "'made/1/bold/b/x' is not a known finding"),
        ("explanations: [{at: [made/1/b], why: so}]", "there is no finding at made/1/b to explain"),
    ],
)
def test_a_broken_audit_yaml_is_refused_with_its_line(made, notes, reason):
    with pytest.raises(ManifestError) as error:
        made(notes=notes)
    assert "audit.yaml:1" in str(error.value) and reason in str(error.value)


def test_what_is_said_of_another_papers_findings_is_left_alone(made):
    notes = "facts: [[other/1/bold/b/x]]\nexplanations: [{at: [made/1/b, other/1/a], why: so}]\n"
    assert made(notes=notes) == []


@pytest.mark.parametrize(
    ("expect", "says"),
    [
        ('rounds(gain("1/ours/x", "1/c/x"), "4.0")', "Ours leads by 4.0 over C, but only by 3.0 over B"),
        ('gain("1/ours/x", "1/c/x") >= 2 and 1 > 0', "Ours leads by 4.0 over C, but only by 3.0 over B"),
        ('rounds(gain("1/ours/x", "1/b/x"), "3.0")', None),  # D, of another group, is not asked
        ('gain("1/ours/x", "1/c/x") >= 2 and above("1/ours", "1/b", ["x"])', None),
        ('gain("1/c/x", "1/a/x") >= 1', None),
        ('above("1/ours", "1/a", ["x"])', None),
    ],
)
def test_a_lead_over_one_row_that_passes_over_a_stronger_one_is_noted(made, expect, says):
    row = '  - {id: ours, label: Ours, role: ours, cells: ["35.0", "93.0", "64.0"]}\n'
    other = '  - {id: d, label: D, group: g, cells: ["34.0", "-", "-"]}\n'
    claims = f"claims: [{{id: lead, where: §1, about: ['1'], says: so, expect: '{expect}'}}]\n"
    text = CELLS.partition("  - {id: b, label: B")[2]
    found = made((text, text + row + other), ("bold: column", "bold: none"), claims=claims)
    leads = [f for f in found if f[1] == "lead"]
    assert leads == ([("note", "lead", "made/1/ours/x", f"§1: {says}")] if says else []), found


def test_a_number_of_a_set_that_its_system_was_trained_on_is_in_no_table_of_other_domains(made):
    trained_on = "trained_on: {a: [msmarco-passage/train], b: [], c: [msmarco-passage]}\n"
    found = made(notes=f"out_of_domain: ['1']\n{trained_on}")
    assert [f[:3] for f in found] == [("doubt", "domain", f"made/1/c/{column}") for column in "xy"]
    assert made(notes=trained_on) == []
    with pytest.raises(ManifestError, match="`trained_on` has no sets of 'c' of table 1"):
        made(notes="out_of_domain: ['1']\ntrained_on: {a: [], b: []}\n")


@pytest.mark.parametrize(
    ("runs", "uses", "beyond"),
    [
        ("[0, N+1]", "i+1", "the last of the sequence"),
        ("[0, N]", "i+1", None),
        ("[0, N+1]", "i-1", "the first of the sequence"),
        ("[1, 3]", "i-2", "the first of the sequence"),
        ("[0, N+2]", "i", "the last of the sequence"),
        ("[1, N]", "i", None),
    ],
)
def test_an_index_that_leaves_its_sequence_is_found(made, runs, uses, beyond):
    fields = f"id: next, where: Eq. 1, sequence: [0, N+1], runs: {runs}, uses: {uses}, says: all"
    found = made(notes=f"indices: [{{{fields}}}]\n")
    assert found == (
        [("doubt", "index", "made/Eq. 1", f"Eq. 1: all, but {beyond} has none")] if beyond else []
    )
