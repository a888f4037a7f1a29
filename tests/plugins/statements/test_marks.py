import statistics

import pytest

from repro.errors import ManifestError
from repro.manifest import papers as at_hand
from repro.manifest.cells import cell
from repro.manifest.papers import paper
from repro.plugins.statements import deviations
from repro.plugins.statements.marks import MarksOfCell, of_marks, of_words

CELLS = """\
paper: made
title: made
tables:
- id: "1"
  about: a lead on 43 queries, and one on 6,980
  unit: fraction
  test: {{kind: t, sides: 2, level: 0.05}}
  marks: {{"*": {{means: significant, over: [a]}}, "†": {{means: significant, over: [b]}}}}
  columns:
  - {{id: x, dataset: msmarco-passage/trec-dl-2019/judged, measure: nDCG@10}}
  - {{id: y, dataset: msmarco-passage/dev/small, measure: R@1000}}
  rows:
  - {{id: a, label: A, role: rerun, cells: ["0.600", "0.950"]}}
  - {{id: b, label: B, role: rerun, cells: ["{b}", "{y}"]}}
  - {{id: c, label: C, role: {role}, cells: ["{c}", "0.951"]}}
"""
RUN = "file: f, sha256: s, source: somebody@1"
KNOWN = """\
runs: {{one: {{{run}}}, two: {{{run}}}}}
known:
- {{dataset: {dataset}, measure: nDCG@10, runs: [one, two], lead: 0.02, sd: {sd}}}
- {{dataset: {dataset}, measure: nDCG@10, runs: [one, two], lead: 0.02, sd: 0.5}}
"""
DL19, DL20 = (f"msmarco-passage/trec-dl-20{year}/judged" for year in (19, 20))
STEAD = f"instead: [{{dataset: {DL19}, measure: nDCG@10, by: {DL20}, why: none is at hand}}]\n"


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(at_hand, "ROOT", tmp_path)
    (tmp_path / "made").mkdir()

    def call(b, *, y="0.950", c="0.600", role="rerun", sd=0.1, dataset=DL19, more=""):
        (tmp_path / "made/cells.yaml").write_text(CELLS.format(b=b, c=c, y=y, role=role))
        known = KNOWN.format(run=RUN, dataset=dataset, sd=sd) + more
        (tmp_path / "made/deviations.yaml").write_text(known)
        at_hand.papers.cache_clear()
        deviations.deviations.cache_clear()
        return paper("made")

    yield call
    at_hand.papers.cache_clear()
    deviations.deviations.cache_clear()


def _found(source, kind):
    return [f for f in of_marks(source) if f"/{kind}" in f.id]


def test_a_lead_with_the_deviation_that_it_needs_has_exactly_the_level_in_a_paired_test(made):
    from scipy.stats import ttest_1samp

    made("0.610*")
    need = deviations.need(cell("made/1/b/x"), [cell("made/1/a/x")])
    drawn = [(-1) ** n * (n % 7) for n in range(43)]
    mean, deviation = statistics.fmean(drawn), statistics.stdev(drawn)
    differences = [need.lead + need.sd * (x - mean) / deviation for x in drawn]
    assert ttest_1samp(differences, 0).pvalue == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(
    ("sd", "verdict"),
    [(0.01, "plausible"), (0.0357, "plausible"), (0.0714, "undecided"), (0.0715, "implausible")],
)
def test_a_mark_is_held_against_the_smallest_known_deviation(made, sd, verdict):
    """A lead of 0.010 may be one of 0.011, which on 43 queries needs 0.011 * 6.5574 / 2.0181 = 0.03574."""
    source = made("0.610*", sd=sd)
    need = deviations.need(cell("made/1/b/x"), [cell("made/1/a/x")])
    assert need.verdict == verdict and need.sd == pytest.approx(0.035743, abs=1e-6)
    assert [f.severity for f in _found(source, "deviation")] == ["doubt"] * (verdict == "implausible")
    said = list(MarksOfCell(cell("made/1/b/x")).below_published())
    words = f"implausible over A: means only, needs a deviation of 0.036, known {sd:.3f}"
    assert said == [("mark *", words)] * (verdict == "implausible")
    assert deviations.need(cell("made/1/a/x"), [cell("made/1/b/x")]) is None


def test_another_set_that_stands_for_one_without_runs_makes_a_note_of_it(made):
    [finding] = _found(made("0.610*", dataset=DL20, more=STEAD), "deviation")
    assert finding.severity == "note" and DL20 in finding.says and "none is at hand" in finding.explanation
    assert not _found(made("0.610*", dataset=DL20), "deviation")


@pytest.mark.parametrize(
    ("c", "role", "is_noted"),
    [
        ("0.611", "rerun", True),
        ("0.610", "rerun", True),
        ("0.609", "rerun", False),
        ("0.611", "cited", False),
        ("0.611*", "rerun", False),
        ("-", "rerun", False),
    ],
)
def test_a_lead_over_the_same_row_without_the_mark_of_a_smaller_one_is_noted(made, c, role, is_noted):
    found = _found(made("0.610*", c=c, role=role), "leads")
    assert [f.severity for f in found] == ["note"] * is_noted
    assert all("B by 0.010 over A with *" in f.says and "C by 0.01" in f.says for f in found)


def test_leads_over_unlike_rows_are_not_held_against_each_other(made):
    assert not _found(made("0.610*", c="0.625*"), "leads")


@pytest.mark.parametrize(("y", "is_doubted"), [("0.960", True), ("0.960*", False), ("0.955", False)])
def test_a_lead_that_is_significant_whatever_the_systems_did_needs_its_mark(made, y, is_doubted):
    """With recalls of 0.95 and 0.96 no deviation is above 0.3, and a lead of 0.009 needs 0.38 at most."""
    source = made("0.610*", y=y)
    assert [f.severity for f in _found(source, "unmarked")] == ["doubt"] * is_doubted
    if y != "0.955":
        need = deviations.need(cell("made/1/b/y"), [cell("made/1/a/y")])
        assert need.verdict == "certain" and need.greatest < 0.302 and need.known is None


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"sd": 0}, "3: known.0.sd: .*greater than 0"),
        ({"sd": ".nan"}, "3: known.0.sd: .*finite number"),
        ({"sd": 9.1}, "3: known.0.sd: .*less than or equal to 1"),
    ],
)
def test_what_deviations_cannot_be_is_refused_with_its_line(made, broken, said):
    made("0.610*", **broken)
    with pytest.raises(ManifestError, match=f"deviations.yaml:{said}"):
        deviations.deviations()


CLAIM = """\
claims:
- id: one
  where: §5
  about: ["1"]
  says: B is ahead
  {said}
"""


@pytest.mark.parametrize(
    ("said", "test", "found"),
    [
        ('expect: above("1/b", "1/a", "x")', True, []),
        ('calls_significant: true\n  expect: above("1/b", "1/a", "x")', True, ["doubt"]),
        ('calls_significant: true\n  expect: above("1/b", "1/a", "x")', False, ["note"]),
        ('expect: significantly_above("1/b", "1/a", "x")', True, []),
        ('expect: significantly_above("1/b", "1/c", "x")', True, ["doubt"]),
    ],
)
def test_a_sentence_that_calls_a_difference_significant_needs_a_test(made, tmp_path, said, test, found):
    source = made("0.610*")
    (tmp_path / "made/claims.yaml").write_text(CLAIM.format(said=said))
    if not test:
        text = (tmp_path / "made/cells.yaml").read_text()
        (tmp_path / "made/cells.yaml").write_text(
            text.replace("  test: {kind: t, sides: 2, level: 0.05}\n", "")
        )
    findings = list(of_words(source))
    assert [f.severity for f in findings] == found
    assert test or "Table 1 names no test" in findings[0].says
