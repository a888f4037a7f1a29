"""findings.yaml: every number of a sentence is held against the entries that it rests on."""

import pytest
import yaml

from repro.errors import ManifestError
from repro.manifest import yaml_file
from repro.plugins.reports import findings as module
from repro.plugins.reports.findings import Finding, SupportingReports, faults, findings, value_of
from repro.plugins.reports.reports import reports

ANCE = "simlm/2/dense.ance/dev.rr10"  # 33.0 percent
FRACTION = "costa/3/ance/dev.rr10"  # 0.330
SAYS = {"id": "one", "title": "ANCE comes back", "says": "SimLM prints 33.0 for ANCE."}


def _read(folder, grounds, **changed):
    path = folder / "findings.yaml"
    path.write_text(yaml.safe_dump([SAYS | {"grounds": grounds} | changed]))
    return yaml_file.read(path, tuple[Finding, ...], faults=faults)


def test_a_number_that_its_ground_gives_is_read(tmp_path):
    [finding] = _read(tmp_path, [{"number": "33.0", "cell": ANCE}])
    assert finding.grounds[0].cell == ANCE


@pytest.mark.parametrize(
    ("grounds", "changed", "says"),
    [
        (
            [{"number": "33.0", "cell": FRACTION}],
            {"says": "33.0, or 34.5"},
            "nothing is named that 34.5 rests",
        ),
        ([{"number": "34.0", "cell": ANCE}], {"says": "None."}, "34.0 does not stand in the sentence"),
        ([{"number": "33.0", "cell": "simlm/2/dense.seed/dev.rr10"}], {}, "33.0 rests on what gives 33.9"),
        ([{"number": "33.0", "cell": ANCE, "source": "nobody"}], {}, "there are no such reports"),
        ([{"number": "33.0", "cell": ANCE, "source": "any"}], {}, "such reports on .*, one is needed"),
        ([{"number": "33.0", "less": ["40.0", "7.0"]}], {}, "are not both among the grounds"),
        ([], {}, "at least 1 item"),
    ],
)
def test_a_number_that_nothing_gives_is_refused_with_its_line(tmp_path, grounds, changed, says):
    with pytest.raises(ManifestError, match=r"findings.yaml:\d+: .*" + says):
        _read(tmp_path, grounds, **changed)


def test_a_fraction_is_told_in_percent():
    assert value_of(SupportingReports(number="33.0", cell=FRACTION)) == value_of(
        SupportingReports(number="33.0", cell=ANCE)
    )


def test_integers_and_names_with_numbers_rest_on_nothing():
    assert module.NUMBER.findall("On R@1000 of DL19 18 runs of v1.5 have 3.25 and 4.0.") == ["3.25", "4.0"]


def test_the_findings_of_the_papers_hold_and_each_rests_on_a_report():
    assert 3 <= len(findings()) <= 6
    assert all(any(ground.source for ground in finding.grounds) for finding in findings())


def test_other_runs_on_arguana_lie_where_the_finding_says():
    on = [r for r in reports()["cotmae_v2/3/bm25/arguana"] if r.report.source != "beir-91"]
    assert len(on) > 5 and all(39.7 <= float(made.value) <= 49.5 for made in on)


@pytest.mark.parametrize("cell", ["simlm/4/dpr/nq.top20", "simlm/4/dpr/nq.top100"])
def test_no_report_on_dpr_itself_lies_below_what_is_published_for_natural_questions(cell):
    below = {made.source.issue or made.source.pull: made for made in reports()[cell] if made.difference < 0}
    assert 336 in below and set(below) <= {336, 657}
    assert all(made.report.match == "loose" for made in below.values())


def test_a_report_on_dpr_that_is_of_the_dev_questions_has_their_digits():
    on = [made for cell in ("top20", "top100") for made in reports()[f"simlm/4/dpr/nq.{cell}"]]
    of_dev = [float(made.report.value) * 8757 for made in on if made.source.issue == 336]
    assert len(of_dev) == 4 and all(abs(hits - round(hits)) < 1e-6 for hits in of_dev)
    of_test = [float(made.report.value) * 3610 for made in on if made.source.issue == 336]
    assert all(abs(hits - round(hits)) > 1e-3 for hits in of_test)
