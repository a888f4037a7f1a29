"""Verdicts in Markdown, as exact strings."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from repro.errors import UsageError
from repro.plugins.studies.writing import markdown as study_page
from repro.verdicts.decision import KINDS
from repro.verdicts.summary import IN_BRACKETS
from repro.writers import markdown as written
from repro.writers.grid import capitalised
from repro.writers.markdown import BEGIN, END, between, code, escaped, link, sentence, summary, table
from repro.writers.table_pages import table_pages
from tests.writers.html.toy import report, study_of


@pytest.mark.needs_plugins
def test_what_fails_comes_first_with_its_reason():
    part = report().parts[0]
    known = "4 measured, 1 run by others, 1 stated by others (exact)"
    assert summary(part.view.comparison, part.covered, scale="full").splitlines() == [
        f"6 published numbers: {known}.",
        "",
        "## Verdicts at scale full",
        "",
        "4 of 6 published cells measured at full: 1 failing. Cells with a run by others (not counted): 1.",
        "",
        f"{capitalised(IN_BRACKETS)}: 1 {KINDS['outdated']}.",
        "",
        "| cell | published | ours | verdict | why |",
        "| --- | --- | --- | --- | --- |",
        "| `toy/1/g.x/b` | 0.941 | 0.956 | higher | because |",
        "",
        "| paper | table | cells | higher | inconclusive | exact | consistent | blocked | not run |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| toy | 1 | 6 | 1 | 1 | 1 | 1 | 1 | 1 |",
    ]


@pytest.mark.needs_plugins
def test_a_paper_is_one_line_of_a_readme():
    part = report().parts[0]
    covered = {"toy": part.covered}
    assert written.verdicts(part.view.comparison, covered).splitlines() == [
        "| paper | published | measured | run by others | stated by others (exact) "
        "| stated by others (close) | stated by others (loose) "
        "| rehearsed | nothing known | pass | fail | in doubt |",
        f"| --- | {' | '.join(['---:'] * 11)} |",
        "| `toy` | 6 | 4 | 1 | 1 | – | – | – | – | 2 | 1 | 1 |",
        "",
        "4 of 6 published cells measured at full.",
    ]


def test_only_what_stands_between_the_markers_changes():
    text = f"a\n{BEGIN}\nold\n{END}\nb"
    assert between(Path("R"), text, "new") == f"a\n{BEGIN}\nnew\n{END}\nb"
    with pytest.raises(UsageError, match="R must contain"):
        between(Path("R"), f"{END} {BEGIN}", "new")


def test_a_bar_or_a_tag_in_a_cell_does_not_break_its_table():
    assert table(["a"], [["x|y <b>\nz"]]) == ["| a |", "| --- |", "| x\\|y &lt;b> z |", ""]


HOSTILE = (
    "<img src=x onerror=alert(9)>",
    "![a](javascript:alert(1)) and [k](javascript:alert(2))",
    "\\[a\\](javascript:alert(3))",
    "`[a`](javascript:alert(4)) ``b` <b>c</b>`",
    "[k]: javascript:alert(5)",
    "<javascript:alert(6)> &lt;b&gt; **b** __c__ _d_ a|b\\|c # e\n# f",
    "`<b>` | `c|d`",
)
ALL_TAGS = {
    *("table", "thead", "tbody", "tr", "th", "td", "p", "h1", "h2", "h3", "em", "strong", "code", "pre"),
    *("a", "ul", "ol", "li", "hr", "details", "summary"),
}


class Seen(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.addresses, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]

    def handle_data(self, data):
        self.text += data


def _commonmark(text):
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def _of_the_site(text):
    markdown = pytest.importorskip("markdown")
    return markdown.markdown(text, extensions=["tables", "attr_list", "md_in_html"])


RENDERERS = {"CommonMark": _commonmark, "the site's": _of_the_site}


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("words", HOSTILE)
def test_words_of_others_are_shown_as_they_are_and_are_no_markup(words, renderer):
    render = RENDERERS[renderer]
    for text in (f"a {escaped(words)} b", "\n".join(table([escaped(words)], [[escaped(words)]]))):
        seen = Seen(render(text))
        assert seen.addresses == [] and not {"img", "b", "em", "strong", "code"} & set(seen.tags)
        assert " ".join(words.split()) in seen.text
    assert Seen(render(f"a {sentence(words)} {code(words)}")).addresses == []


@pytest.mark.parametrize("address", ["javascript:alert(1)", " java\tscript:alert(1)", "data:text/html,x", ""])
def test_a_link_leads_into_the_web_or_the_site_only(address):
    assert link("words", address) == "words"
    assert link("w[x]", "https://h/a b(c)|d") == "[w\\[x\\]](https://h/a%20b%28c%29%7Cd)"
    assert link("w", "#row") == "[w](#row)"


@pytest.mark.parametrize("renderer", RENDERERS)
def test_no_text_of_a_manifest_or_a_record_is_markup_in_any_page(renderer):
    add = " ".join(HOSTILE)
    part = report(add=add).parts[0]
    view, study = part.view, study_of(part.paper.manifest.tables[1])
    rehearsal = report(add=add, scale="tiny").parts[0].view
    pages = table_pages(view.comparison, rehearsal.comparison)
    pages["summary"] = summary(view.comparison, (), scale="full")
    pages["study"] = study_page(study, title="T" + add, command="x")
    for name, text in pages.items():
        seen = Seen(RENDERERS[renderer](text))
        assert set(seen.tags) <= ALL_TAGS, name
        assert all(re.match(r"https://|#|[\w-]+\.md$", address) for address in seen.addresses), name
