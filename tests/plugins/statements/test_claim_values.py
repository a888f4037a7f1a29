import json
from types import SimpleNamespace

import pytest

from repro.manifest.cells import cell, exhibits
from repro.manifest.papers import paper
from repro.plugins.statements.claim_values import MeasuredValues, facts_of_exhibits
from repro.plugins.statements.claims import MissingNumber, UndecidedOrder
from repro.plugins.statements.language import Language, Places
from repro.plugins.statements.statements import statements
from repro.store.results import Record
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.verdict import Doubt, Verdict

ROWS = {"first.bert": 0.3, "first.ict": 0.9, "first.prop": 0.1, "first.b-prop": 0.1, "first.seed": 0.4}
ROWS["first.costa"] = 0.5
MINE, OTHER = "costa/2/first.seed/dev.rr100", "costa/2/first.bert/dev.rr100"


def _compared(identifier, value, *, doubts=(), verdict="scaled", **record):
    found = Record(identifier, "tiny", value, None, "f" * 64, 5, 0, "RR@10", "fraction", **record)
    return ComparedCell(cell(identifier), "tiny", (found,), Verdict(verdict, "why"), doubts=doubts)


def _measured(*compared, p=None, interval=None):
    rows = ["first.bert", "first.seed"]
    table = {"RR@100": {"names": rows, "p": [[None, p], [p, None]], "means": [0.1, 0.2]}}
    if interval:
        low, high = interval
        table["RR@100"]["interval"] = [[None, [-high, -low]], [interval, None]]
    tests = {("costa", "2", "msmarco-document/dev"): {"max_p": 0.05, "measures": table}}
    return MeasuredValues(Comparison(list(compared), tests if p else {}))


def test_a_test_between_rows_is_found_in_either_direction():
    values = _measured(p=0.03)
    assert values.p(cell(MINE), cell(OTHER)) == values.p(cell(OTHER), cell(MINE)) == 0.03


def test_there_is_no_test_across_columns_tables_or_rows_that_did_not_run():
    values = _measured(p=0.03)
    for other in ("2/first.bert/dev.r100", "1/hardneg.bert/dev.rr10", "2/first.ict/dev.rr100"):
        assert values.p(cell(MINE), cell(f"costa/{other}")) is None


@pytest.mark.parametrize(
    "compared",
    [
        _compared(MINE, 0.4, doubts=(Doubt("outdated", "why"),)),
        ComparedCell(cell(MINE), "tiny", (), Verdict("not run", "why")),
    ],
    ids=["of an older graph", "not recorded"],
)
def test_what_is_not_our_current_measurement_is_not_used(compared):
    with pytest.raises(MissingNumber, match="is not measured"):
        _measured(compared).number(cell(MINE))


def _mark(values):
    [mark] = [s for s in statements(paper("costa")) if s.id == "costa/2/mark/first.seed/dev.rr100/*"]
    return mark.judge(values)


def test_a_printed_mark_is_judged_by_the_stored_test():
    ours = _compared(MINE, 0.4), _compared(OTHER, 0.3)
    strong = _mark(_measured(*ours, p=0.03))
    assert (strong.state, strong.test) == ("holds", "p 0.03, not corrected")
    weak = _mark(_measured(*ours, p=0.3))
    assert weak.state == "fails" and weak.why == "p 0.3, not corrected, is above 0.05"
    assert _mark(_measured(*ours)).state == "untested" and "repro compare" in _mark(_measured(*ours)).why


@pytest.mark.parametrize(
    ("mine", "interval", "state"),
    [
        (0.4, [0.02, 0.2], "holds"),
        (0.4, [-0.02, 0.2], "undecided"),
        (0.4, [0.0, 0.2], "undecided"),
        (0.2, [-0.2, 0.02], "undecided"),
        (0.2, [-0.2, -0.02], "fails"),
        (0.3, [0.0, 0.0], "fails"),
    ],
)
def test_rows_whose_interval_holds_both_orders_are_not_told_apart(mine, interval, state):
    judged = _mark(_measured(_compared(MINE, mine), _compared(OTHER, 0.3), p=0.03, interval=interval))
    assert judged.state == state
    if state == "undecided":
        assert judged.why.startswith("2/first.seed minus first.bert in dev.rr100 is between")


def test_one_pair_that_contradicts_decides_whatever_is_not_told_apart():
    ours = [_compared(f"costa/2/{row}/dev.rr100", value) for row, value in ROWS.items()]
    values = _measured(*ours, p=0.03, interval=[-0.1, 0.1])
    [bold] = [s for s in statements(paper("costa")) if s.id == "costa/2/bold/first.costa/dev.rr100"]
    assert bold.judge(values).state == "fails"


def test_a_column_in_which_rows_are_not_told_apart_is_said_to_be_one():
    recall = [_compared(f"costa/2/{row}/dev.r100", value) for row, value in ROWS.items()]
    values = _measured(_compared(MINE, 0.4), _compared(OTHER, 0.3), *recall, p=0.03, interval=[-0.1, 0.1])
    language = Language(Places(paper("costa")), values)
    with pytest.raises(UndecidedOrder):
        language.above("2/first.seed", "2/first.bert", ["dev.rr100", "dev.r100"])
    assert [state for _, state in language.outcomes.pairs] == ["undecided", "holds"]


def test_substituted_data_is_told():
    ours = _compared(MINE, 0.4, verdict="not comparable"), _compared(OTHER, 0.3)
    assert _mark(_measured(*ours, p=0.03)).test == "p 0.03, not corrected, with substituted data"


@pytest.mark.parametrize(("found", "facts"), [(True, {"queries": 2, "relevant": 1}), (False, {"queries": 2})])
def test_first_passages_of_the_papers_own_queries_are_counted_by_the_qrels(tmp_path, found, facts):
    def passages(*grades):
        return [{"rank": rank, "grade": grade} for rank, grade in enumerate(grades, start=1)]

    queries = [
        {"found": True, "passages": passages(2, None)},
        {"found": found, "passages": passages(None, 1)},
    ]
    (tmp_path / "exhibit.json").write_text(json.dumps({"kind": "passages", "queries": queries}))
    store = SimpleNamespace(record=lambda node: {"facts": {"queries": 2}}, path=lambda node: tmp_path)
    node = SimpleNamespace(fingerprint="f")
    [shown] = [e for e in exhibits(("simlm",), ("9",)) if e.id == "simlm/9/bert"]
    plan = SimpleNamespace(exhibits={shown: node}, states={"f": "stored"})
    assert facts_of_exhibits(plan, store) == {"simlm/9/bert": facts}
