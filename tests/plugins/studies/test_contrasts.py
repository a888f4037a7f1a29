import numpy as np
import pytest
import yaml

from repro.errors import ManifestError
from repro.manifest.papers import papers
from repro.manifest.schema import Manifest
from repro.plugins.studies.contrasts import (
    UNDECIDED,
    WITHIN,
    Analysis,
    Confirmatory,
    TableAnalysis,
    analysis_of,
    contrasts,
    difference,
    floor_standings,
    read_analysis,
)
from repro.retrieval.evaluation.crossed import estimate
from repro.retrieval.evaluation.p_values import holm

QUERIES = 150
MANIFEST = Manifest.model_validate(
    {
        "paper": "toy",
        "title": "Toy",
        "tables": [
            {
                "id": "1",
                "kind": "study",
                "about": "rows",
                "delta_from": "a",
                "columns": [{"id": "x"}],
                "rows": [{"id": row, "label": row} for row in "abc"],
            },
            {
                "id": "2",
                "kind": "study",
                "about": "groups",
                "columns": [{"id": "x"}],
                "groups": [{"id": "g", "label": "G"}, {"id": "h", "label": "H"}],
                "rows": [
                    {"id": "g.a", "label": "a", "group": "g"},
                    {"id": "g.b", "label": "b", "group": "g", "delta_from": "g.a"},
                    {"id": "h.a", "label": "a", "group": "h"},
                    {"id": "h.b", "label": "b", "group": "h", "delta_from": "h.a"},
                ],
            },
            {"id": "3", "about": "printed"},
        ],
    }
)
TABLE = {
    "table": "1",
    "primary": "x",
    "matters": {"x": 1.0},
    "floor": "a",
    "families": [{"id": "all", "label": "all", "rows": ["a", "b", "c"]}],
}

CLAIM = {"table": "1", "family": "all", "column": "x"}


def _row(mean, *, seeds=5, number=0, spread=0.05):
    rng = np.random.default_rng(number)
    return {
        seed: {f"q{i}": float(x) for i, x in enumerate(mean + spread * rng.normal(size=QUERIES))}
        for seed in range(1, seeds + 1)
    }


def _judged(means, *, families, level=0.05, **analysis):
    rows = {name: _row(mean, number=n) for n, (name, mean) in enumerate(means.items())}
    made = TableAnalysis.model_validate({"table": "1", "families": families, **analysis})
    return {(c.family, c.row, c.against): c for c in contrasts(made, {"c": rows}, level=level)}


def _family(*rows, against=None, id="f"):
    return {"id": id, "label": "them", "rows": rows, "against": against}


def test_a_difference_is_taken_query_by_query_and_over_the_seeds_of_both():
    ours, theirs = _row(0.5, seeds=5), _row(0.3, seeds=3, number=1)
    queries = sorted(ours[1], reverse=True)
    expected = estimate([[ours[s][q] - theirs[s][q] for s in (1, 2, 3)] for q in queries])
    found = difference(ours, theirs)
    assert (found.mean, found.error) == (pytest.approx(expected.mean), pytest.approx(expected.error))
    assert found.seeds == 3 and found.queries == QUERIES
    assert difference(_row(0.5, seeds=1), theirs) is None and difference({9: ours[1]}, theirs) is None


def test_a_row_that_is_surely_higher_is_above_lower_below_and_near_it_inconclusive():
    means = {"base": 0.3, "high": 0.4, "low": 0.2, "near": 0.3}
    found = _judged(means, families=[_family("high", "low", "near", against="base")])
    verdicts = {row: c.verdict for (_, row, _), c in found.items()}
    assert verdicts == {"high": "above", "low": "below", "near": UNDECIDED}


def test_what_lies_within_the_difference_that_matters_is_told_to_be_so_or_slight():
    found = _judged(
        {"base": 0.3, "same": 0.3, "little": 0.32},
        families=[_family("same", "little", against="base")],
        matters={"c": 4.0},
    )
    same, little = found["f", "same", "base"], found["f", "little", "base"]
    assert (same.verdict, little.verdict) == (WITHIN, "slightly above")
    assert (same.verdict_in_words, little.verdict_in_words) == ("within ±4 points", "slightly above")
    assert little.holm <= 0.05 < same.holm and little.matters == pytest.approx(0.04)
    assert max(little.within, same.within) <= 0.05
    wider = _judged(
        {"base": 0.3, "same": 0.3}, families=[_family("same", against="base")], matters={"c": 0.1}
    )
    assert wider["f", "same", "base"].verdict == UNDECIDED


def test_to_lie_within_is_two_one_sided_tests_each_at_the_level_of_the_study():
    """Its interval is that of a confidence of 1 - 2 level: 90 % at .05, which is narrower than 95 %."""
    means, families = {"base": 0.3, "same": 0.3}, [_family("same", against="base")]
    found = _judged(means, families=families)["f", "same", "base"].difference
    reach, wider = (max(map(abs, found.interval(confidence))) for confidence in (0.9, 0.95))
    assert reach < 0.99 * wider
    for matters, verdict in {1.001 * reach: WITHIN, 0.999 * reach: UNDECIDED}.items():
        judged = _judged(means, families=families, matters={"c": 100 * matters})
        assert judged["f", "same", "base"].verdict == verdict


def test_to_lie_within_is_corrected_for_all_planned_pairs_of_the_family():
    """A margin that one test just meets is too narrow where two pairs are planned: Holm doubles its p."""
    means = {"base": 0.3, "same": 0.3}
    alone, planned = ([_family("same", *more, against="base")] for more in ((), ("absent",)))
    found = _judged(means, families=alone)["f", "same", "base"].difference
    reach, wider = (100 * max(map(abs, found.interval(1 - 2 * level))) for level in (0.05, 0.025))
    for families, margin, verdict in (
        (alone, 1.001 * reach, WITHIN),
        (planned, 1.001 * reach, UNDECIDED),
        (planned, 1.001 * wider, WITHIN),
    ):
        judged = _judged(means, families=families, matters={"c": margin})["f", "same", "base"]
        assert (judged.verdict, judged.within <= 0.05) == (verdict, verdict == WITHIN)


def test_a_row_stands_above_the_floor_by_a_test_at_the_level_that_nothing_corrects():
    rows = {"random": _row(0.3), "a": _row(0.31, number=1), "b": _row(0.3, number=2)}
    families = [_family("a", against="b")]
    analysis = TableAnalysis.model_validate({"table": "1", "families": families, "floor": "random"})
    p = difference(rows["a"], rows["random"]).p
    assert 0 < p < 0.5
    above, below = (floor_standings(analysis, rows, level=level)["a"] for level in (1.001 * p, 0.999 * p))
    assert (above, below) == ("above", "not above")
    lower = {"random": rows["a"], "a": rows["random"]}
    assert floor_standings(analysis, lower, level=1.001 * p)["a"] == "below"


def test_a_pair_is_marked_at_the_floor_unless_its_better_row_is_above_it_and_judged_all_the_same():
    means = {"random": 0.3, "lost": 0.1, "fallen": 0.2, "level": 0.3, "good": 0.4, "better": 0.5}
    families = [
        _family("better", "fallen", "level", against="good", id="f"),
        _family("good", "fallen", against="random", id="g"),
        _family("fallen", against="level", id="h"),
        _family("fallen", against="lost", id="i"),
    ]
    found = _judged(means, families=families, floor="random")
    assert found["f", "better", "good"].verdict == "above"
    assert found["f", "fallen", "good"].verdict == found["f", "level", "good"].verdict == "below"
    assert found["h", "fallen", "level"].verdict_in_words == "below, at the floor"
    assert found["i", "fallen", "lost"].verdict_in_words == "above, at the floor"
    assert {key[0] for key, c in found.items() if c.at_floor} == {"h", "i"}
    assert found["g", "good", "random"].verdict == "above"
    assert found["g", "fallen", "random"].verdict == "below"


def test_where_the_floor_is_not_measured_nothing_is_tested_against_it():
    analysis = TableAnalysis.model_validate(
        {"table": "1", "families": [_family("a", against="b")], "floor": "random"}
    )
    rows = {"a": _row(0.9), "b": _row(0.1, number=1)}
    assert floor_standings(analysis, rows, level=0.05) == {"a": "not tested", "b": "not tested"}
    [c] = contrasts(analysis, {"c": rows}, level=0.05)
    assert c.verdict == "not tested" and c.difference is not None
    few = {"a": _row(0.9, seeds=1), "random": _row(0.1, seeds=1, number=1)}
    assert floor_standings(analysis, few, level=0.05) == {"a": "not tested"}


def test_p_values_are_corrected_for_all_planned_pairs_of_a_family_also_those_not_measured():
    means = {"a": 0.3, "b": 0.312, "c": 0.31, "d": 0.305}
    families = [_family("a", "b", "c", "absent", id="all"), _family("d", against="a", id="one")]
    found = _judged(means, families=families)
    assert set(found) == {("all", "a", "b"), ("all", "a", "c"), ("all", "b", "c"), ("one", "d", "a")}
    together = [c for (family, *_), c in found.items() if family == "all"]
    padded = holm([*(c.difference.p for c in together), 1.0, 1.0, 1.0])
    assert [c.holm for c in together] == padded[:3]
    alone = found["one", "d", "a"]
    assert alone.holm == alone.difference.p
    assert [together[0].level, alone.level] == [pytest.approx(0.05 / 6), 0.05]


def test_a_difference_that_is_the_same_for_all_queries_and_seeds_is_not_tested():
    base = _row(0.3)
    rows = {"b": base, "a": {seed: {q: x + 0.1 for q, x in of.items()} for seed, of in base.items()}}
    analysis = TableAnalysis.model_validate({"table": "1", "families": [_family("a", against="b")]})
    [c] = contrasts(analysis, {"c": rows}, level=0.05)
    assert c.verdict == "not tested" and c.difference is None


def _read(folder, table=TABLE, **other):
    path = folder / "analysis.yaml"
    path.write_text(yaml.safe_dump({"seeds": [1, 2], "tables": [table], **other}))
    return read_analysis(folder, MANIFEST)


def test_families_are_pairs_with_one_row_or_all_pairs(tmp_path):
    against = {"id": "to-a", "label": "to a", "rows": ["b", "c"], "against": "a"}
    read = _read(tmp_path, TABLE | {"families": [*TABLE["families"], against]})
    every, to_a = read.of(MANIFEST.tables[0]).families
    assert every.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    assert to_a.pairs == (("b", "a"), ("c", "a"))


def test_without_families_rows_are_compared_with_their_own_reference_a_family_a_group(tmp_path):
    read = _read(tmp_path, {"table": "2", "primary": "x"})
    assert read.of(MANIFEST.tables[1]).primary == "x"
    assert [(f.id, f.label, f.pairs) for f in read.of(MANIFEST.tables[1]).families] == [
        ("g", "G", (("g.b", "g.a"),)),
        ("h", "H", (("h.b", "h.a"),)),
    ]
    [family] = Analysis().of(MANIFEST.tables[0]).families
    assert family.pairs == (("b", "a"), ("c", "a"))


def test_one_claim_is_confirmatory(tmp_path):
    assert _read(tmp_path, confirmatory=CLAIM).confirmatory == Confirmatory(**CLAIM)


def test_without_the_file_there_is_no_plan(tmp_path):
    assert read_analysis(tmp_path, MANIFEST) == Analysis()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": "3"}, "tables.0.table: '3' is not a known study of the paper. Known: 1, 2"),
        ({"primary": "y"}, "tables.0.primary: 'y' is not a known column of the table. Known: x"),
        ({"matters": {"y": 1.0}}, "tables.0.matters: 'y' is not a known column of the table. Known: x"),
        ({"matters": {"x": 0}}, "tables.0.matters.x: 0 is not above 0"),
        ({"families": TABLE["families"] * 2}, "tables.0.families.1: family 'all' occurs twice"),
        (
            {"families": [{"id": "f", "label": "f", "rows": ["a"]}]},
            "needs row `against`, or at least two rows",
        ),
        (
            {"families": [{"id": "f", "label": "f", "rows": ["a", "b"], "against": "a"}]},
            "row 'a' would be compared with itself",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(tmp_path, change, said):
    with pytest.raises(ManifestError) as error:
        _read(tmp_path, TABLE | change)
    assert str(error.value).startswith(f"{tmp_path / 'analysis.yaml'}:")
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seeds": [1]}, "seeds: needs at least two different seeds"),
        ({"level": 0.7}, "level"),
        ({"test": "t"}, "test"),
        ({"confirmatory": CLAIM | {"table": "3"}}, "'3' is not a known analysed table. Known: 1"),
        (
            {"confirmatory": CLAIM | {"family": "x"}},
            "confirmatory.family: 'x' is not a known family of the table. Known: all",
        ),
        (
            {"confirmatory": CLAIM | {"column": "y"}},
            "confirmatory.column: 'y' is not a known column of the table. Known: x",
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(tmp_path, other, said):
    with pytest.raises(ManifestError) as error:
        _read(tmp_path, **other)
    assert said in str(error.value)


@pytest.mark.parametrize("name", papers())
def test_every_analysis_names_all_studies_of_its_paper_and_says_what_matters_in_every_column(name):
    source = papers()[name]
    studies = [table for table in source.manifest.tables if table.kind == "study"]
    assert {each.table for each in analysis_of(source).tables} == {table.id for table in studies}
    for table in studies:
        own = analysis_of(source).of(table)
        assert own.primary and own.matters.keys() == {c.id for c in table.columns}
