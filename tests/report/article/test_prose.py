"""The prose of an article and its directives."""

import re
from pathlib import Path

import pytest

from repro.errors import ManifestError, UsageError, unknown
from repro.manifest.papers import papers
from repro.report.article.prose import DIRECTIVE, fill_directives, prose

PATH = Path("papers/x/article.md")
KNOWN = {"seeds": lambda: "1,2", "value": lambda cell, scale="": f"<{cell}{scale}>"}


def test_directives_are_replaced_wherever_they_stand():
    text = "A {{ value 1/x/c }} of {{value 1/x/c curves}}.\n```\nrun --seeds {{seeds}}\n```\n"
    assert fill_directives(PATH, text, KNOWN) == "A <1/x/c> of <1/x/ccurves>.\n```\nrun --seeds 1,2\n```\n"


@pytest.mark.parametrize(
    ("directive", "said"),
    [
        ("vlaue 1/x/c", "there is no directive 'vlaue' (did you mean 'value'?); known: seeds, value"),
        ("", "there is no directive ''; known: seeds, value"),
        ("value", "value takes cell, scale"),
        ("value a b c", "value takes cell, scale"),
        ("seeds 3", "seeds takes nothing"),
        ("value 'x", "a directive is a name and its arguments, with quotes in pairs"),
    ],
)
def test_a_directive_that_names_nothing_is_told_with_its_line(directive, said):
    with pytest.raises(ManifestError) as raised:
        fill_directives(PATH, f"# A\n\n{{{{{directive}}}}} b", KNOWN)
    assert str(raised.value) == f"{PATH}:3: {{{{{directive}}}}}: {said}"


def test_what_a_directive_does_not_know_is_told_with_its_line():
    def refuse(cell):
        raise unknown("cell", cell, ["a"])

    with pytest.raises(ManifestError, match=r"^papers/x/article.md:1: .*there is no cell 'b'"):
        fill_directives(PATH, "{{value b}}", {"value": refuse})


def test_a_paper_without_an_article_says_where_it_would_lie(tmp_path):
    with pytest.raises(UsageError, match=r"has no article: write its prose in .*article\.md"):
        prose(tmp_path)


@pytest.mark.parametrize(
    "path", [p.folder / "article.md" for p in papers().values() if (p.folder / "article.md").exists()]
)
def test_no_number_of_the_prose_is_typed_by_hand(path):
    text = DIRECTIVE.sub("", path.read_text(encoding="utf-8"))
    text = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    text = re.sub(r"\b(BM25|(MRR|nDCG|R)@\d+|CoT-MAE v2|Tables? \d)\b", "", text)
    assert re.findall(r"\S*\d\S*", text) == []
