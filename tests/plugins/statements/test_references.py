import pytest

from repro.errors import ManifestError
from repro.manifest.papers import Paper
from repro.plugins.statements.references import of_references, other_numbers, paper_references

CELLS = "paper: made\ntitle: made\ntables: []\n"
GOOD = """\
works:
  "1": {work: bert, arxiv: "1810.04805"}
  "2": {work: roberta, arxiv: "1907.11692"}
pointers:
- {at: §1, as: encoders, to: [1, 2]}
- {at: §2, as: the results, to: [Table 1]}
"""


@pytest.fixture
def made(tmp_path):
    def call(*changes, name="made") -> Paper:
        text = GOOD
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "cells.yaml").write_text(CELLS)
        (folder / "references.yaml").write_text(text)
        return Paper(name, folder, name)

    return call


def test_references_without_fault_are_no_finding_and_are_listed_one_by_one(made):
    source = made()
    assert list(of_references(source)) == []
    assert [(r.at, r.to, r.verdict) for r in paper_references(source)] == [
        ("§1", "1", "right"),
        ("§1", "2", "right"),
        ("§2", "Table 1", "right"),
        ("references", "1", "right"),
        ("references", "2", "right"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "severity", "says"),
    [
        ("to: [Table 1]", "to: [Table 9], verdict: absent, why: there are two", "error", "refers to Table 9"),
        (
            "to: [1, 2]",
            "to: [1, 2], verdict: partly, why: one is none",
            "doubt",
            "refers to 1, 2 for encoders: one is none",
        ),
        (
            '"1810.04805"}',
            '"1810.04805", verdict: wrong, why: not its number}',
            "error",
            "reference 1: not its",
        ),
        ('"1810.04805"', '"1907.11692"', "error", "have the same number, arXiv:1907.11692"),
        ("to: [1, 2]", "to: [1]", "note", "reference 2: the text never cites 2 (roberta)"),
    ],
)
def test_a_fault_is_a_finding(made, old, new, severity, says):
    [finding] = of_references(made((old, new)))
    assert (finding.severity, finding.kind, finding.against) == (severity, "reference", "paper")
    assert says in finding.says


def test_a_fault_that_a_reading_tells_is_no_second_finding(made):
    source = made(("to: [Table 1]", "to: [Table 1], verdict: wrong, why: not there, reading: known"))
    source.__dict__["readings"] = {"known": None}
    assert list(of_references(source)) == []
    assert [r.reading for r in paper_references(source) if r.verdict == "wrong"] == ["known"]


def test_two_papers_with_two_numbers_of_one_work_disagree(made):
    other = made(('"1810.04805"', '"1810.00000"'), name="other")
    [finding] = other_numbers([made(), other])
    assert finding.values == ("arXiv:1810.04805", "arXiv:1810.00000")
    assert finding.against == "another paper" and "bert" in finding.says


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("to: [1, 2]", "to: [1, 3]", "'3' is not a key of `works`"),
        ("to: [Table 1]", "to: [Table 1], verdict: wrong", "needs `why`"),
        ("to: [Table 1]", "to: [Table 1], why: it is right", "needs `why`"),
        ("to: [Table 1]", "to: [Table 1], verdict: odd, why: so", "verdict"),
        (
            "to: [Table 1]",
            "to: [Table 1], verdict: wrong, why: so, reading: none",
            "no unspecified choice 'none'",
        ),
    ],
)
def test_a_broken_file_is_refused_with_its_line(made, old, new, reason):
    with pytest.raises(ManifestError) as error:
        list(paper_references(made((old, new))))
    assert "references.yaml:" in str(error.value) and reason in str(error.value)
