import pytest

from repro.errors import ManifestError
from repro.manifest import papers as at_hand
from repro.manifest.papers import Paper
from repro.plugins.statements.claim_values import PublishedValues
from repro.plugins.statements.judged import judged
from repro.plugins.statements.statements import statements
from tests.plugins.statements.made_up_values import MadeUp

CELLS = """\
paper: made
title: made
tables:
- id: "1"
  about: three systems
  bold: column
  test: {kind: t, sides: 2, level: 0.05}
  marks: {"*": {means: significant, over: [a]}}
  columns:
  - {id: x, head: [X], dataset: msmarco-passage/dev/small, measure: RR@10}
  - {id: y, head: [Y], dataset: msmarco-passage/dev/small, measure: R@1000}
  - {id: size, head: [Size], kind: index-size, unit: GB}
  rows:
  - {id: a, label: A, cells: ["0.30", "**0.90**", "27GB"]}
  - {id: b, label: B, cells: ["**0.34***", "**0.90**", ">150GB"]}
  - {id: c, label: C, cells: ["0.31*", "-", "-"]}
"""
REFERENCE = "  - {id: z, label: Z, role: reference, not_measurable: made up}\n"


@pytest.fixture
def made(tmp_path):
    def call(*expects, cells=CELLS) -> Paper:
        (tmp_path / "cells.yaml").write_text(cells)
        lines = [
            f"- {{id: c-{n}, where: §1, about: ['1'], says: said, expect: {expect!r}}}"
            for n, expect in enumerate(expects)
        ]
        if lines:
            (tmp_path / "claims.yaml").write_text("\n".join(["claims:", *lines]))
        return Paper("made", tmp_path, "made")

    at_hand.papers.cache_clear()
    yield call
    at_hand.papers.cache_clear()


def _claim(paper: Paper, values=None):
    [statement] = [s for s in statements(paper) if s.kind == "claim"]
    return statement.judge(values or PublishedValues())


@pytest.mark.parametrize(
    ("expect", "state"),
    [
        ('above("1/b/x", "1/a/x")', "holds"),
        ('above("1/b", "1/a", columns("1", except_=["size"]))', "fails"),
        ('not_below("1/b", "1/a", ["x", "y"])', "holds"),
        ('above("1/a/size", "1/b/size")', "holds"),
        ('best("1/b", "x")', "holds"),
        ('best("1/b", ["x", "y"])', "fails"),
        ('best_or_tied("1/b", ["x", "y"])', "holds"),
        ('best("1/a", "x", among=["1/a", "1/c"])', "fails"),
        ('best_count("1/b", ["x", "y"]) == 1', "holds"),
        ('increasing(["1/a/x", "1/c/x", "1/b/x"])', "holds"),
        ('increasing(["1/c/x", "1/a/x", "1/b/x"])', "fails"),
        ('every(rows("1", except_=["a"]), "above", "1/a", "x")', "holds"),
        ('every(rows("1", except_=["a"]), "above", "1/a", ["x", "y"])', "fails"),
        ('rounds(percent("1/b/x", "1/a/x"), "13")', "holds"),
        ('rounds(percent("1/b/x", "1/a/x"), "14")', "fails"),
        ('about(percent("1/b/x", "1/a/x"), "14", 1)', "holds"),
        ('gain("1/b/x", "1/a/x") == 0.04', "holds"),
        ('above("1/b/y", "1/c/y")', "untested"),
        ('v("1/c/y") > 0 and above("1/a/x", "1/b/x")', "fails"),  # a dash, and a contradiction all the same
        ('best("1/a", "y", among=["1/a", "1/c"])', "untested"),  # nothing but a dash beside it
    ],
)
def test_each_function_decides_on_print_as_documented(made, expect, state):
    assert _claim(made(expect)).state == state


def test_a_failing_claim_names_the_cells_that_contradict_it(made):
    assert _claim(made('best("1/b", ["x", "y"])')).why == "1/b/y 0.90 vs. 1/a/y 0.90"


def test_a_count_tells_where_the_ties_are(made):
    assert "tied in y (with A)" in _claim(made('best_count("1/b", ["x", "y"]) == 2')).why


def test_a_half_rounds_either_way(made):
    cells = CELLS.replace('"0.30"', '"0.265"').replace("**0.34***", "0.285*")
    for text in ("0.27", "0.26"):
        assert _claim(made(f'rounds(v("1/a/x"), "{text}")', cells=cells)).state == "holds"
    assert _claim(made('rounds(v("1/a/x"), "0.28")', cells=cells)).state == "fails"


def test_measurements_round_within_half_a_unit_and_show_the_value(made):
    source = made('rounds(v("1/a/x"), "0.30")')
    assert _claim(source, MadeUp({"a/x": 0.3049})).state == "holds"
    wrong = _claim(source, MadeUp({"a/x": 0.3061}))
    assert wrong.state == "fails" and "0.3061" in wrong.why


def test_an_order_of_ours_says_whether_a_test_stands_behind_it(made):
    source = made('above("1/b/x", "1/a/x")')
    numbers = {"a/x": 0.1, "b/x": 0.2}
    assert _claim(source, MadeUp(numbers)).test == "means only"
    assert _claim(source, MadeUp(numbers, {("b", "a"): 0.012})).test == "p 0.012, not corrected"


def test_best_of_ours_waits_for_every_row_that_print_has(made):
    source = made('best("1/b", "x")')
    assert _claim(source, MadeUp({"a/x": 0.1, "b/x": 0.2})).state == "untested"
    assert _claim(source, MadeUp({"a/x": 0.3, "b/x": 0.2})).state == "fails"
    assert _claim(source, MadeUp({"a/x": 0.1, "b/x": 0.2, "c/x": 0.1})).state == "holds"


def _derived(paper, values):
    return {s.id: s.judge(values) for s in statements(paper)}


@pytest.mark.parametrize("more", ["", REFERENCE])  # a reference row has no published number to beat
def test_marks_and_bold_numbers_are_claims_with_ids(made, more):
    print_ = _derived(made(cells=CELLS + more), PublishedValues())
    assert {identifier: j.state for identifier, j in print_.items()} == {
        "made/1/mark/b/x/*": "holds",
        "made/1/mark/c/x/*": "holds",
        "made/1/bold/a/y": "holds",
        "made/1/bold/b/x": "holds",
        "made/1/bold/b/y": "holds",
    }


@pytest.mark.parametrize(
    ("numbers", "p", "state"),
    [
        ((0.1, 0.2), 0.05, "holds"),
        ((0.1, 0.2), 0.0501, "fails"),
        ((0.2, 0.1), 0.01, "fails"),
        ((0.1, 0.2), None, "untested"),
    ],
)
def test_a_mark_of_ours_needs_the_order_and_the_test(made, numbers, p, state):
    values = MadeUp(dict(zip(("a/x", "b/x"), numbers, strict=True)), {("b", "a"): p} if p else {})
    assert _derived(made(), values)["made/1/mark/b/x/*"].state == state


def test_a_mark_whose_row_is_not_above_fails_in_print(made):
    below = made(cells=CELLS.replace("0.31*", "0.29*"))
    assert _derived(below, PublishedValues())["made/1/mark/c/x/*"].state == "fails"


def test_unknown_bold_is_no_claim(made):
    kinds = {s.kind for s in statements(made(cells=CELLS.replace("bold: column", "bold: unknown")))}
    assert kinds == {"mark"}


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ('above("1/b/x", "1/a/z")', "made/1 has no column z. Its columns: x, y"),
        ('above("1/q/x", "1/a/x")', "made/1 has no row q. Its rows: a, b, c."),
        ('v("7/a/x") > 1', "made has no table 7. Its tables: 1."),
        ('v("nobody:1/a/x") > 1', "'nobody' is not a known paper"),
        ('v("1/a/x")', "neither true nor false"),
        ('rows("1", except_=["q"]) == 1', "'q' is not a known row of table 1"),
        ('every(rows("1"), "below", "1/a", "x")', "'below' is not a known relation"),
        ("best_count(1, 2, 3, 4) == 1", "best_count()"),
        ('1 / (v("1/a/x") - v("1/a/x")) > 0', "DivisionByZero"),
        ('rounds(v("1/a/x"), "many")', "InvalidOperation"),
        ("open('x') == 1", "no function 'open'"),
    ],
)
def test_a_mistake_in_an_expression_is_named_with_file_and_line(made, expect, reason):
    with pytest.raises(ManifestError) as error:
        judged([made(expect)], PublishedValues(), scale="full")
    assert "claims.yaml:2: claims.0.expect" in str(error.value) and reason in str(error.value)


def test_a_claim_id_occurs_once(made):
    source = made("1 < 2", "1 < 3")
    path = source.folder / "claims.yaml"
    path.write_text(path.read_text().replace("c-1", "c-0"))
    with pytest.raises(ManifestError, match=r"claims.yaml:3: claims.1: claim 'c-0' occurs twice"):
        statements(source)


def test_print_is_compared_in_decimals_not_floats(made):
    assert 0.34 - 0.31 != 0.03
    assert _claim(made('v("1/b/x") - v("1/c/x") == 0.03')).state == "holds"


def test_several_measures_are_judged_each_by_itself(made):
    judged = _claim(made('above("1/b", "1/a", ["x", "y"]) and best("1/b", "x")'))
    assert judged.state == "fails" and judged.measures == (("1/x", "holds"), ("1/y", "fails"))
    assert judged.differs_by_measure == "fails in 1/y; holds in 1/x"


def test_a_pair_that_only_one_side_of_an_or_needs_contradicts_no_measure(made):
    judged = _claim(made('above("1/b/x", "1/a/x") and (above("1/b/y", "1/a/y") or above("1/b/x", "1/c/x"))'))
    assert judged.state == "holds" and judged.measures == ()


def test_a_part_without_relations_is_judged_in_the_measure_whose_numbers_it_takes(made):
    judged = _claim(made('gain("1/b/x", "1/a/x") > 0 and gain("1/b/y", "1/a/y") > 0'))
    assert judged.measures == (("1/x", "holds"), ("1/y", "fails"))


def test_an_order_that_turns_round_names_both_pairs(made):
    judged = _claim(made('same_order(["1/a", "1/b"], ["1/b", "1/c"], "x")'))
    assert judged.why == "1/a/x 0.30 vs. 1/b/x 0.34, but 1/b/x 0.34 vs. 1/c/x 0.31"
    assert _claim(made('same_order(["1/a", "1/c"], ["1/c", "1/b"], "x")')).state == "holds"
    assert _claim(made('same_order(["1/a", "1/b"], ["1/b", "1/a"], "y")')).state == "holds"


def test_significance_is_marked_in_print_and_tested_in_ours(made):
    source = made('significantly_above("1/b", "1/a", "x")')
    assert _claim(source).state == "holds"
    numbers = {"b/x": 0.34, "a/x": 0.30}
    assert _claim(source, MadeUp(numbers, {("b", "a"): 0.04})).state == "holds"
    assert _claim(source, MadeUp(numbers, {("b", "a"): 0.06})).state == "fails"
    assert _claim(source, MadeUp(numbers)).state == "untested"
    unmarked = made('significantly_above("1/b", "1/a", "x")', cells=CELLS.replace("**0.34***", "0.34"))
    assert _claim(unmarked).state == "fails"
    assert _claim(made('significantly_above("1/b", "1/c", "x")')).why == "no mark of table 1 is over C"


def test_runs_of_several_seeds_are_compared_by_students_test(made):
    source = made('student(["1/a", "1/b"], ["1/c", "1/a"], "x") <= 0.05')
    assert _claim(source).state == "fails"
    judged = _claim(source, MadeUp({"a/x": 0.1, "b/x": 0.1, "c/x": 0.1}))
    assert judged.state == "untested" and "the runs do not vary" in judged.why


def test_seeds_spread_from_the_lowest_to_the_highest(made):
    source = made('spread("1/a/x") == 4')
    assert _claim(source).state == "untested"
    assert _claim(source, MadeUp({}, seeds={"a/x": [49.0, 50.0, 51.0]})).state == "holds"


def test_a_number_beside_a_drawing_is_ours_alone(made):
    source = made('drawn("figure-1/a", "auc") > 0.5')
    assert _claim(source).why == "made/figure-1/a is drawn without numbers"
    assert _claim(source, MadeUp({}, drawings={("made/figure-1/a", "auc"): 0.75})).state == "holds"


def test_what_no_cell_can_confirm_says_what_would_have_to_be_known(tmp_path):
    (tmp_path / "cells.yaml").write_text(CELLS)
    claim = "{id: c, where: §1, says: said, beyond: no curve is shown}"
    (tmp_path / "claims.yaml").write_text(f"claims:\n- {claim}\n")
    assert _claim(Paper("made", tmp_path, "made")).why == "no curve is shown"
    (tmp_path / "claims.yaml").write_text(f"claims:\n- {claim.replace('beyond', 'note')}\n")
    with pytest.raises(ManifestError, match="needs `expect`"):
        _claim(Paper("made", tmp_path, "made"))


def test_examples_are_counted_by_the_system_that_is_shown(made):
    table = """- id: "2"
  kind: examples
  about: first passages
  entries:
  - {query: q, shown: [{system: a, rank: 1, relevant: false}, {system: b, rank: 1, relevant: true}]}
"""
    cells = CELLS.replace("tables:\n", f"tables:\n{table}")
    # the ticks are the paper's own: they can contradict a sentence but cannot confirm it
    right = made('relevant("2", "a") == 0 and relevant("2", "b") == 1', cells=cells)
    assert _claim(right).state == "not judgeable"
    assert _claim(made('relevant("2", "b") == 0', cells=cells)).state == "fails"
    assert _claim(right, MadeUp({})).state == "untested"
    drawings = {("made/2/a", "relevant"): 0, ("made/2/b", "relevant"): 1}
    assert _claim(right, MadeUp({}, drawings=drawings)).state == "holds"
    assert _claim(right, MadeUp({}, drawings=drawings | {("made/2/a", "relevant"): 1})).state == "fails"


@pytest.mark.parametrize(
    ("expect", "state"),
    [
        ("1 < 2", "not judgeable"),
        ('v("1/a/x") == v("1/a/x")', "not judgeable"),
        ('above("1/b", "1/a", "x") or 2 > 1', "not judgeable"),
        ('gain("1/b/x", "1/a/x") * 0 == 0', "not judgeable"),
        ('above("1/b", "1/a", "x")', "holds"),
        ('not increasing(["1/b/x", "1/c/x", "1/a/x"])', "holds"),
        ('rounds(percent("1/b/x", "1/a/x"), "13.3")', "holds"),
        ('significantly_above("1/b", "1/a", "x")', "holds"),
        ('above("1/a", "1/b", "x")', "fails"),
        ("2 < 1", "fails"),
    ],
)
def test_what_no_change_of_a_number_refutes_is_not_judgeable(made, expect, state):
    found = _claim(made(expect))
    assert found.state == state
    assert (found.why == "no change of a published number can refute it") is (state == "not judgeable")


def test_rows_of_reference_are_no_rivals(made):
    source = made('best("1/b", "x")', cells=CELLS + REFERENCE)
    assert _claim(source).state == "holds"
    assert _claim(source, MadeUp({"a/x": 0.1, "b/x": 0.2, "c/x": 0.1})).state == "holds"
