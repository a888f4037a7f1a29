"""An article as files: what is measured stands in it, and what is not is said to be so."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from repro.errors import ManifestError, UsageError
from repro.manifest.papers import paper
from repro.report.article.files import write
from repro.report.article.results import StudyResults
from repro.running.workspace import Workspace

ROOT = Path(__file__).resolve().parents[3]
VOID = ("meta", "link", "br", "hr", "img", "input", "source")


def results_of(tmp_path, results, name="head_to_head"):
    workspace = Workspace.open(str(tmp_path / "store"), str(results))
    return StudyResults(paper(name), "small-cpu", (1,), workspace)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The committed records, as if they were of the study as it is; without the scores of single queries."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("repro.report.article.results._current_cell", lambda compared: compared)
        made = results_of(tmp_path_factory.mktemp("known"), ROOT / "results")
        assert made.cells and made.figures("curves")  # made while nothing counts as outdated
    return made


@pytest.fixture(scope="module")
def measured(known, tmp_path_factory):
    place = tmp_path_factory.mktemp("article")
    write(known, place, command="repro report article")
    return place


@pytest.fixture(scope="module")
def unmeasured(tmp_path_factory):
    place = tmp_path_factory.mktemp("article")
    write(results_of(place, place / "none"), place / "a", command="repro report article")
    return place / "a"


class Outline(HTMLParser):
    """Ids, addresses, and tags that were not closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        self.sources += [values[name] for name in ("src", "srcset") if name in values]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_but_itself_and_its_files(measured):
    text = (measured / "article.html").read_text(encoding="utf-8")
    outline = Outline(text)
    assert outline.open == [] and len(set(outline.ids)) == len(outline.ids)
    assert outline.sources and all(s.startswith("data:image/svg+xml;base64,") for s in outline.sources)
    inside, files = ([x for x in outline.links if x.startswith("#") is here] for here in (True, False))
    assert {link[1:] for link in inside} <= set(outline.ids)
    assert files and all((measured / link).exists() for link in files)
    assert "<script" not in text and "@import" not in text


def test_both_forms_show_what_was_measured(measured, known):
    records = known.cell("1/bm25/dev.rr10").records
    for name in ("index.md", "article.html"):
        text = (measured / name).read_text(encoding="utf-8")
        assert f"{records[0].measured:.1f}" in text
        assert records[0].environment["commit"][:10] in text and "10.1145/3511808.3557527" in text


def test_a_picture_has_its_numbers_beside_it(measured, known):
    with open(measured / "head_to_head-scores-1.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    study = known.table("1")
    labels = {row.label: row.id for row in study.rows}
    assert rows
    for row in [r for r in rows if r["column"] == " ".join(study.columns[0].head)]:
        records = known.cell(f"1/{labels[row['system']]}/{study.columns[0].id}").records
        assert float(row["score"]) in [record.measured for record in records]
    text = (measured / "index.md").read_text(encoding="utf-8")
    for name in ("head_to_head-scores-1.svg", "head_to_head-scores-1-dark.svg"):
        assert name in text and (measured / name).exists()


def test_what_is_not_measured_is_said_and_leaves_no_hole(unmeasured):
    text = (unmeasured / "index.md").read_text(encoding="utf-8")
    assert "**Table 1.** Equal tokens" in text and text.count("*not measured yet*") > 10
    assert re.search(r"\b0 of \d+ cells", text)
    assert not list(unmeasured.glob("*.svg"))
    assert not re.search(r"\|\s+\|\s+\|", text) and "None" not in text and "nan" not in text


def test_equal_results_give_equal_files(measured, known, tmp_path):
    write(known, tmp_path / "a", command="repro report article")
    names = [path.name for path in sorted(measured.iterdir())]
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (measured / name).read_bytes(), name


def test_a_paper_without_a_study_is_refused(tmp_path):
    with pytest.raises(UsageError, match="costa has no article"):
        write(results_of(tmp_path, ROOT / "results", "costa"), tmp_path, command="")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("table 99", "there is no study of head_to_head '99'"),
        ("value 1/nobody/dev.rr10", "there is no cell of a study of head_to_head '1/nobody/dev.rr10'"),
        ("value figure-steps/x/y curves", "there is no point of a figure of head_to_head 'figure-steps/x/y'"),
        ("planned 1/nobody pretrain length", "there is no row of a study of head_to_head '1/nobody'"),
        ("planned 1/costa pretain length", "there is no stage of the row 'pretain' (did you mean"),
        ("planned 1/costa pretrain lenght", "there is no parameter of pretrain 'lenght'"),
        ("planned 1/costa pretrain:3 length", "the row has 2 of stage pretrain, and '3' counts none of them"),
        ("tokens 1/bm25", "1/bm25 has no pre-training"),
        ("count sheep", "there is no thing to count 'sheep'"),
        ("scores 1 nobody", "there is no row of table 1 'nobody'"),
        ("work nothing 1", "there is no column of table 1 'nothing'"),
        ("curves curves nothing", "there is no figure of head_to_head 'nothing'"),
        ("verdicts 99", "there is no study of head_to_head '99'"),
        ("difference 1 bert bm25 dev.rr10", "there is no comparison of table 1 'bert bm25'"),
        ("growth curves steps", "there is no figure with a trend of head_to_head 'steps'"),
        ("value 1/bert/dev.rr10 nowhere", "there is no scale 'nowhere'"),
    ],
)
def test_what_a_directive_names_wrongly_is_one_sentence(words, said, known, tmp_path, monkeypatch):
    path, text = known.source.folder / "article.md", f"{{{{{words}}}}}"
    monkeypatch.setattr("repro.report.article.files.prose", lambda folder: (path, text))
    with pytest.raises(ManifestError) as raised:
        write(known, tmp_path / "a", command="")
    assert str(raised.value).startswith(f"{path}:1: {text}: {said}")


def test_records_of_an_earlier_study_are_counted_and_not_shown(known, tmp_path):
    made = results_of(tmp_path, ROOT / "results")
    old = [name for name, c in known.cells.items() if c.outdated]
    assert made.outdated == len(old)
    assert all(made.cells[name].measured is None for name in old)
    current = [name for name, c in known.cells.items() if c.records and not c.outdated]
    assert all(made.cells[name].records == known.cells[name].records for name in current)
