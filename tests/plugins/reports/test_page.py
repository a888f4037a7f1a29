"""The page of what others measured, as HTML and as Markdown."""

import csv
import re
from html import unescape
from html.parser import HTMLParser

import pytest

from repro.plugins.reports.content import document
from repro.plugins.reports.findings import findings
from repro.plugins.reports.page import Document, Fold, Grid, Link, Section, Words
from repro.plugins.reports.quantities import OTHERS, nearnesses, quantities, systems


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("page")
    document().write(place)
    return place


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "others.html").read_text(encoding="utf-8")


def _small(*blocks):
    return Document("above", "A <title>", [Words("lead", "lead")], [Section("one", "One [part]", blocks)])


class Outline(HTMLParser):
    """Ids, links and tags that were not closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        if tag not in ("meta", "link", "br", "hr", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_but_itself(text):
    outline = Outline(text)
    assert outline.open == [] and len(set(outline.ids)) == len(outline.ids)
    assert "<script" not in text and "<img" not in text and "@import" not in text
    assert {link[1:] for link in outline.links if link.startswith("#")} <= set(outline.ids)


def test_links_lead_to_files_beside_it_or_to_the_places_of_the_reports(text, folder):
    for link in Outline(text).links:
        assert link.startswith(("#", "https://")) or (folder / link).exists(), link


def test_every_system_with_a_report_has_a_picture_and_every_finding_is_told(text):
    systems = {quantity.system for quantity in quantities()}
    assert systems <= set(re.findall(r'id="forest-([\w-]+).svg"', text))
    assert all(finding.says in unescape(text) for finding in findings())


def test_others_than_the_authors_come_first_and_distinct_numbers_stand_beside_cells(text):
    lines = {(n.kind, n.by): n for n in nearnesses(quantities())}
    others, whole = (lines["released model or run", by] for by in (OTHERS, "all"))
    told = re.search(r"Others than the authors who take the released model or run .*?</p>", text)[0]
    first, second = (
        f"{n.equal} of {n.cells} cells, which are {n.equal_numbers} of {n.numbers} distinct numbers"
        for n in (others, whole)
    )
    assert 0 < told.index(first) < told.index(f"With what the authors state elsewhere it is {second}")
    assert "start from the same thing" not in text


def test_the_numbers_behind_a_picture_are_those_of_its_reports(folder):
    with open(folder / "forest-ance.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = [q for q in quantities() if q.system == "ance"]
    assert len(rows) == sum(len(q.entries) * len(q.published) for q in known)
    for row in rows:
        assert float(row["difference"]) == pytest.approx(float(row["others"]) - float(row["published"]))
        assert row["unit"] == "percent" and 0 <= float(row["others"]) <= 100


def test_cells_with_a_value_are_counted_apart_from_the_values(folder):
    text = (folder / "index.md").read_text(encoding="utf-8")
    for s in systems():
        counts = len(s.cells), len({r.cell.id for r in s.reports}), s.authors, s.others
        assert not s.search or f"| {s.label} | {' | '.join(map(str, counts))} |" in text


def test_equal_data_give_equal_bytes(folder, tmp_path):
    document().write(tmp_path)
    assert all(path.read_bytes() == (tmp_path / path.name).read_bytes() for path in folder.iterdir())


def test_words_are_no_markup():
    blocks = [
        Grid(["a|b", "c"], [["<b>", Link("[x]", "https://a/b c")]], numbers=1),
        Fold("_x_", [Words("*y*")]),
    ]
    page = _small(*blocks).html()
    assert "&lt;b&gt;" in page and "<b>" not in page and "A &lt;title&gt;" in page
    lines = _small(*blocks).markdown().splitlines()
    assert "## One \\[part\\] { #one }" in lines
    assert "| a\\|b | c |" in lines and "| &lt;b&gt; | [\\[x\\]](https://a/b%20c) |" in lines
    assert '<details markdown="1"><summary>\\_x\\_</summary>' in lines and "\\*y\\*" in lines


def test_the_markdown_has_every_picture_with_its_numbers(folder):
    text = (folder / "index.md").read_text(encoding="utf-8")
    assert all(f"\n**{finding.title}.**\n" in text for finding in findings())
    pictures = re.findall(r"!\[[^]]+\]\(([\w-]+\.svg)\)", text)
    assert sorted(pictures) == sorted(path.name for path in folder.glob("*.svg"))
    assert all((folder / name).exists() for name in re.findall(r"\(([\w-]+\.csv)\)", text))


def test_a_source_without_an_address_is_told_in_words():
    assert "somebody</td>" in _small(Grid(["", ""], [["a", Link("somebody", "")]])).html()
