from __future__ import annotations

import csv
import re
import subprocess
import sys

import pytest

from repro.writers import figures
from repro.writers.figures.charts import MADE

PANELS = [
    {
        "title": title,
        "x_label": "training queries",
        "y_label": measure,
        "series": [
            {"label": "ours", "points": [(5000.0, 0.4, 0.3, 0.5), (100.0, 0.1, 0.1, 0.2)]},
            {"label": "BM25", "points": [(None, 0.2, None, None)]},
        ],
    }
    for title, measure in (("dev", "RR@10"), ("dl19", "nDCG@10"), ("dl19", "R@1000"))
]
SCATTER = {
    "kind": "scatter",
    "query": "q",
    "perplexity": 30.0,
    "points": [
        {"id": "q", "x": 0.0, "y": 0.0, "role": "query", "grade": None},
        {"id": "a", "x": 1.0, "y": 0.5, "role": "relevant", "grade": 2},
        {"id": "b", "x": -1.0, "y": 0.5, "role": "other", "grade": None},
    ],
    "measured": {"auc": 0.75},
}
WORDS = {"title": "R & D", "words": [["the", 0.05], ["<b>", 0.9]], "wanted": "R & D", "found": True}


@pytest.fixture
def drawn(monkeypatch):
    from matplotlib.figure import Figure

    kept, save = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda it, *a, **k: (kept.append(it), save(it, *a, **k)))
    return kept


def _rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _written(figure):
    return {text.get_text() for text in figure.texts}


def test_equal_data_give_equal_bytes_whatever_settings_of_matplotlib_the_reader_has(tmp_path):
    import matplotlib

    for name, settings in (("a", {}), ("b", {"font.size": 20, "lines.linewidth": 5, "svg.hashsalt": None})):
        with matplotlib.rc_context(settings):
            figures.curves(PANELS[:2], tmp_path / f"{name}.svg", note="n")
            figures.scatter([("x", SCATTER)], tmp_path / f"{name}-s.svg", note="n")
            assert all(matplotlib.rcParams[key] == value for key, value in settings.items())
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a-s.svg").read_bytes() == (tmp_path / "b-s.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


def test_drawing_never_loads_pyplot(tmp_path):
    code = (
        "import sys; from pathlib import Path; from repro.writers import figures\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"figures.curves({PANELS[:1]!r}, Path({str(tmp_path / 'c.svg')!r}), note='')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_numbers_of_a_curve_lie_beside_it(tmp_path):
    figures.curves(PANELS, tmp_path / "c.svg", note="small print")
    head, *rows = _rows(tmp_path / "c.csv")
    assert head == ["panel", "measure", "series", "x", "y", "lowest", "highest", *MADE]
    assert ["dev", "RR@10", "ours", "5000.0", "0.4", "0.3", "0.5", "", "", "", ""] in rows
    assert ["dev", "RR@10", "BM25", "", "0.2", "", "", "", "", "", ""] in rows and len(rows) == 9


def test_a_drawing_says_at_which_scale_it_was_measured(tmp_path, drawn):
    figures.curves(PANELS[:1], tmp_path / "c.svg", note="measured at scale tiny")
    figures.scatter([("x", SCATTER)], tmp_path / "s.svg", note="measured at scale tiny")
    assert all("measured at scale tiny" in _written(figure) for figure in drawn)


def test_systems_differ_in_more_than_their_colour(tmp_path, drawn):
    series = [{"label": f"{n}", "points": [(1.0, n, None, None)]} for n in range(7)]
    figures.curves([PANELS[0] | {"series": series}], tmp_path / "c.svg", note="")
    lines = drawn[0].axes[0].lines
    assert len({line.get_marker() for line in lines}) == len({line.get_color() for line in lines}) == 7


def test_every_candidate_of_a_scatter_lies_beside_it_with_its_role(tmp_path):
    figures.scatter([("one", SCATTER), ("two", SCATTER)], tmp_path / "s.svg", note="")
    head, *rows = _rows(tmp_path / "s.csv")
    assert head == ["system", "id", "role", "grade", "x", "y"] and len(rows) == 6
    assert ["one", "a", "relevant", "2", "1.0", "0.5"] in rows


def test_below_a_scatter_stand_the_auc_of_the_vectors_and_how_it_was_projected(tmp_path, drawn):
    undefined = SCATTER | {"measured": {"auc": None}}
    figures.scatter([("one", SCATTER), ("two", undefined)], tmp_path / "s.svg", note="")
    assert [axes.get_xlabel() for axes in drawn[0].axes] == ["AUC 0.75", "no AUC"]
    assert "query q; t-SNE, perplexity 30" in _written(drawn[0])


def test_words_become_a_page_with_a_legend_and_nothing_of_the_text_becomes_markup(tmp_path):
    figures.shaded_words(WORDS, tmp_path / "w.html", note="at scale tiny")
    page = (tmp_path / "w.html").read_text()
    assert "&lt;b&gt;" in page and "<b>" not in page and "R &amp; D" in page and "at scale tiny" in page
    assert len(re.findall("<span", page)) == len(figures.STEPS) + 2 and "&gt; 0.5" in page
    assert "stands in" not in page and not re.search("src=|href=|@import", page)
    assert _rows(tmp_path / "w.csv")[1:] == [["the", "0.05"], ["<b>", "0.9"]]


def test_a_page_says_when_another_text_stands_in_for_the_one_asked_for(tmp_path):
    figures.shaded_words(WORDS | {"found": False, "wanted": "<i>"}, tmp_path / "w.html", note="")
    assert "titled “&lt;i&gt;”. The first document is shown." in (tmp_path / "w.html").read_text()
