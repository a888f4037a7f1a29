"""The article's files and sentences: measured and missing numbers."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from papers.head_to_head import article as module
from papers.head_to_head.article import Article, main, render
from papers.head_to_head.pages import joined, page, split
from papers.head_to_head.references import OBJECTIVES, References
from papers.head_to_head.typeset import pdf
from repro.errors import DataError, UsageError
from repro.manifest import yaml_file
from repro.manifest.cells import numeric_cells, table_of
from repro.manifest.papers import paper, papers
from repro.manifest.reading_schema import study_pointer
from repro.plugins.statements.claims import claims_of
from repro.plugins.studies.contrasts import Analysis, Contrast, analysis_of
from repro.plugins.studies.studies import Study
from repro.plugins.studies.study_answers import FILE, PublishedPair
from repro.retrieval.evaluation.crossed import Estimate, Variances
from repro.running.workspace import Workspace

ROOT = Path(__file__).resolve().parents[3]
SOURCE = paper("head_to_head")
VOID = ("meta", "link", "br", "hr", "img", "input", "source")


def article_of(tmp_path, results):
    return Article("small-cpu", (1,), Workspace.open(str(tmp_path / "store"), str(results)))


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The committed records, as if they were of the study as it is; without the scores of single queries."""
    folder = tmp_path_factory.mktemp("known")
    (folder / "results").mkdir()
    for name in ("records", "data.json"):
        (folder / "results" / name).symlink_to(ROOT / "results" / name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_current", lambda cells: {c.cell.id.partition("/")[2]: c for c in cells})
        return article_of(folder, folder / "results")


def written(article, folder):
    folder.mkdir(exist_ok=True)
    text = render(article, folder)
    (folder / "index.md").write_text(text, encoding="utf-8")
    (folder / "article.html").write_text(page(text, folder), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def measured(known, tmp_path_factory):
    return written(known, tmp_path_factory.mktemp("article"))


@pytest.fixture(scope="module")
def unmeasured(tmp_path_factory):
    place = tmp_path_factory.mktemp("article")
    return written(article_of(place, place / "none"), place / "a")


class Outline(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        self.sources += [values["src"]] if "src" in values else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)


def test_the_page_needs_nothing_but_itself_and_its_files(measured):
    text = (measured / "article.html").read_text(encoding="utf-8")
    outline = Outline(text)
    assert outline.open == [] and len(set(outline.ids)) == len(outline.ids)
    assert outline.sources and all(s.startswith("data:image/svg+xml;base64,") for s in outline.sources)
    inside, files = ([x for x in outline.links if x.startswith("#") is here] for here in (True, False))
    assert {link[1:] for link in inside} <= set(outline.ids)
    assert files and all((measured / link).exists() for link in files)
    assert "<script" not in text and "@import" not in text


def test_what_is_not_measured_is_said_and_leaves_no_hole(unmeasured):
    text = (unmeasured / "index.md").read_text(encoding="utf-8")
    assert "**Table 1.** Equal tokens" in text and text.count("*not measured yet*") > 10
    assert re.search(r"\b0 of \d+ cells", text)
    assert not list(unmeasured.glob("*.svg"))
    assert not re.search(r"\|\s+\|\s+\|", text) and "None" not in text and "nan" not in text


def test_every_pointer_of_a_paper_has_a_line_that_says_what_is_not_measured(unmeasured):
    text = (unmeasured / "index.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.search(r"\| Table \d: ", line)]
    assert len(lines) == sum(
        len(item.study)
        for source in papers().values()
        for item in (*source.readings.values(), *claims_of(source).values())
    ) + len(["an order of the papers' tables"])
    assert all(line.endswith("| *not measured yet* |") for line in lines)


def test_records_of_an_earlier_study_are_counted_and_not_shown(known, tmp_path):
    article = article_of(tmp_path, ROOT / "results")
    old = [name for name, c in known.cells.items() if c.outdated]
    assert article.outdated == len(old)
    assert all(article.cells[name].measured is None for name in old)
    current = [name for name, c in known.cells.items() if c.records and not c.outdated]
    assert all(article.cells[name].records == known.cells[name].records for name in current)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--seeds", "x"], 2, "--seeds takes whole numbers"),
        (["--scale", "nowhere"], 2, "'nowhere' is not a known scale"),
        ([], DataError.exit_status, "nothing of the study is measured at scale small-cpu with seeds 1,2"),
    ],
)
def test_bad_input_is_one_sentence(words, status, said, tmp_path, monkeypatch, capsys):
    folders = ["--store", str(tmp_path / "s"), "--results", str(tmp_path), "-o", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", ["article", *words, *folders])
    with pytest.raises(SystemExit) as left:
        main()
    [line] = capsys.readouterr().err.splitlines()
    assert left.value.code == status and said in line and not (tmp_path / "out").exists()


def test_the_first_page_is_short_and_links_the_appendices_which_make_up_the_article(unmeasured, tmp_path):
    text = (unmeasured / "index.md").read_text(encoding="utf-8")
    pages = split(text)
    for name, content in pages.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert len(pages) == 11 and joined(tmp_path) == re.sub(r"\n{3,}(?=## Appendix )", "\n\n", text)
    assert all(content.startswith("# ") and "\n# " not in content for content in pages.values())
    committed = (ROOT / "docs/explained/head-to-head/index.md").read_text(encoding="utf-8")
    assert len(committed.replace("|", " ").split()) <= 1100
    assert all(f"]({name})" in committed for name in [*pages][1:])


def test_every_work_is_cited_and_nothing_else_is():
    text = (SOURCE.folder / "article.md").read_text(encoding="utf-8")
    known = set(References().cited())
    cited = {name for call in re.findall(r"{{ cite\(([^)]*)\)", text) for name in re.findall('"(.*?)"', call)}
    assert cited | set(OBJECTIVES) == known


def test_the_abstract_has_two_hundred_words_at_most_and_says_what_random_weights_do():
    text = (ROOT / "docs/explained/head-to-head/index.md").read_text(encoding="utf-8")
    words = text.partition("## Abstract")[2].partition("## Design")[0].split()
    assert 150 < len(words) <= 200
    assert "random weights after the same fine-tuning beat" in " ".join(words)


def test_a_pdf_is_of_the_page_without_what_it_folds(measured, monkeypatch):
    pytest.importorskip("pypandoc"), pytest.importorskip("typst")
    text = (measured / "index.md").read_text(encoding="utf-8")
    assert pdf(text, measured).startswith(b"%PDF") and pdf(text, measured) == pdf(text, measured)


def test_a_pdf_without_its_packages_is_refused_by_name_before_anything_is_written(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setitem(sys.modules, "pypandoc", None)
    monkeypatch.setattr("sys.argv", ["article", "--pdf", "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == UsageError.exit_status and not (tmp_path / "out").exists()
    assert "needs the package pypandoc: pip install" in capsys.readouterr().err


def test_no_number_of_the_prose_is_typed_by_hand():
    text = (SOURCE.folder / "article.md").read_text(encoding="utf-8")
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|```.*?```|`[^`]*`|https?://\S+", "", text, flags=re.DOTALL)
    text = re.sub(
        r"\b(BM25|(MRR|nDCG|R)@\d+|CoT-MAE v2|Tables? \d(, \d)*|95 % interval|(without|and) 0)\b", "", text
    )
    assert re.findall(r"\S*\d\S*", text.replace("cotmae_v2", "")) == []


@pytest.mark.parametrize(
    ("commits", "said"),
    [
        (("abc", "abc"), "every record is of a commit that contains it."),
        (("abc", "abc-dirty"), "contains it. 1 of them were made with changes that were not committed."),
        (("abc-dirty", "0"), "1 of 2 records are of a commit that contains it. 1 of them were made with"),
    ],
)
def test_records_of_a_changed_tree_are_counted_apart(commits, said, monkeypatch):
    monkeypatch.setattr(module, "last_change", lambda path: ("f" * 40, "2026-01-01"))
    monkeypatch.setattr(module, "contains", lambda folder, digits, commit: digits == "abc")
    records = [SimpleNamespace(environment={"commit": commit}) for commit in commits]
    assert said in Article.precedence(SimpleNamespace(cells={"1/x/c": SimpleNamespace(records=records)}))


def _answer(pointer, *contrasts, records=()):
    """The answer of results in which pairs of rows differ by five points, and nothing else is known."""
    estimate = Estimate(0.05, 0.01, 1e9, 400, 5, Variances(0.04, 0.0001, 0.01))
    found = [Contrast("f", "dev.rr10", row, of, estimate, verdict=verdict) for row, of, verdict in contrasts]
    table = table_of(SOURCE, pointer.partition("/")[2][0])
    study = Study(table, analysis_of(SOURCE).of(table), {}, found, plan=Analysis(seeds=(1, 2)))
    cell = SimpleNamespace(records=records)
    cells = {f"{table.id}/{row.id}/dev.rr10": cell for row in table.rows}
    results = SimpleNamespace(studies={table.id: study}, source=SOURCE, scale="small-cpu", cells=cells)
    return Article.answer(results, study_pointer(f"head_to_head/{pointer.partition('/')[2]}"))


@pytest.mark.parametrize(
    ("seeds", "why"),
    [((1,), "1 seed | – | not tested"), ((1, 2), "2 seeds | – | not tested without the scores of queries")],
)
def test_means_of_records_stand_where_nothing_is_tested(seeds, why):
    records = [SimpleNamespace(seed=seed, measured=20.0) for seed in seeds]
    assert _answer("x/1/costa above start", records=records) == f"+2.6 | +0.0, {why}"


@pytest.mark.parametrize(
    ("stated", "held"),
    [("below", ", contrary to the paper"), ("above", ", as in the paper"), ("against", "")],
)
def test_an_answer_has_its_interval_and_is_held_against_the_order_of_the_paper(stated, held):
    contrast = ("costa.temperature-1", "costa.paper", "above")
    answer = _answer(f"x/6/costa.temperature-1 {stated} costa.paper", contrast)
    published, measured, seen, so = answer.split(" | ")
    assert (published, measured) == ("-0.6", "+5.0 (+3.0 to +7.0)") and float(seen) > 0
    assert so == f"above{held}. The paper's difference: -0.6, outside the interval"


def test_no_other_two_objectives_stand_side_by_side_in_a_table_of_the_papers():
    labels, pairs = {"COSTA", "CPDAE", "CoT-MAE v2", "SimLM"}, set()
    for source in papers().values():
        groups: dict[tuple, dict[str, str]] = {}
        for c in numeric_cells(source):
            if (c.column.dataset, c.column.measure) == ("msmarco-passage/dev/small", "RR@10"):
                groups.setdefault((c.table.id, c.row.group), {})[c.row.label] = c.id
        pairs |= {tuple(sorted(group[x] for x in labels & {*group})) for group in groups.values()}
    [*found] = sorted(pair for pair in pairs if len(pair) > 1)
    assert found == [
        tuple(f"cotmae_v2/{table}/{row}/dev.rr10" for row in ("cotmae_v2", "simlm")) for table in "12"
    ]
    pairs = yaml_file.read(SOURCE.folder / FILE, tuple[PublishedPair, ...])
    assert found[0] in {pair.cells for pair in pairs}


def test_the_plans_of_tables_that_the_prose_names_together_are_equal():
    *others, last = [plan.model_dump(exclude={"table"}) for plan in analysis_of(SOURCE).tables]
    assert len(others) == 5 and all(plan == others[0] for plan in others)
    assert others[0]["floor"] == "random-weights" and others[0]["primary"] == last["primary"] == "dev.rr10"
    claim = analysis_of(SOURCE).confirmatory
    assert (claim.table, claim.family, claim.column) == ("1", "bert", "dev.rr10") and not last["families"]
