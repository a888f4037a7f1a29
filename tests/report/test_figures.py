from __future__ import annotations

import csv
import re

import pytest

from repro.report import figures

PANELS = [
    {
        "title": title, "x_label": "training queries", "y_label": measure,
        "series": [
            {"label": "ours", "points": [(5000.0, 0.4, 0.3, 0.5), (100.0, 0.1, 0.1, 0.2)]},
            {"label": "BM25", "points": [(None, 0.2, None, None)]},
        ],
    }
    for title, measure in (("dev", "RR@10"), ("dl19", "nDCG@10"), ("dl19", "R@1000"))
]  # fmt: skip
SCATTER = {
    "points": [
        {"id": "q", "x": 0.0, "y": 0.0, "role": "query", "grade": None},
        {"id": "a", "x": 1.0, "y": 0.5, "role": "relevant", "grade": 2},
        {"id": "b", "x": -1.0, "y": 0.5, "role": "other", "grade": None},
    ],
    "measured": {"auc": 0.75},
}
WORDS = {"title": "R & D", "words": [["the", 0.05], ["<b>", 0.9]]}


def _rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_equal_data_give_equal_bytes(tmp_path):
    for name in ("a", "b"):
        figures.curves(PANELS, tmp_path / f"{name}.svg", note="")
        figures.scatter([("x", SCATTER)], tmp_path / f"{name}-s.svg", note="")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a-s.svg").read_bytes() == (tmp_path / "b-s.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


def test_the_numbers_of_a_curve_lie_beside_it(tmp_path):
    figures.curves(PANELS, tmp_path / "c.svg", note="small print")
    head, *rows = _rows(tmp_path / "c.csv")
    assert head == ["panel", "measure", "series", "x", "y", "low", "high"]
    assert ["dev", "RR@10", "ours", "5000.0", "0.4", "0.3", "0.5"] in rows
    assert ["dev", "RR@10", "BM25", "", "0.2", "", ""] in rows and len(rows) == 9


def test_a_point_moves_the_drawing(tmp_path):
    figures.curves(PANELS[:1], tmp_path / "a.svg", note="")
    moved = [PANELS[0] | {"series": [{"label": "ours", "points": [(100.0, 0.9, None, None)]}]}]
    figures.curves(moved, tmp_path / "b.svg", note="")
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.svg").read_bytes()


def test_every_candidate_of_a_scatter_lies_beside_it_with_its_role(tmp_path):
    figures.scatter([("one", SCATTER), ("two", SCATTER | {"measured": {}})], tmp_path / "s.svg", note="")
    head, *rows = _rows(tmp_path / "s.csv")
    assert head == ["system", "id", "role", "grade", "x", "y"] and len(rows) == 6
    assert ["one", "a", "relevant", "2", "1.0", "0.5"] in rows


def test_a_word_is_darker_the_likelier_it_is_in_six_steps():
    colours = [figures.shade(value) for value in (0.0, 0.05, 0.1, 0.25, 0.35, 0.45, 0.5, 0.99)]
    light = [int(colour[1:3], 16) for colour in colours]
    assert light == sorted(light, reverse=True) and len(set(colours)) == len(figures.SHADES)
    assert figures.shade(-0.1) == figures.SHADES[0]


def test_words_become_a_page_with_a_legend_and_nothing_of_the_text_becomes_markup(tmp_path):
    figures.shaded_words(WORDS, tmp_path / "w.html", note="at scale tiny")
    page = (tmp_path / "w.html").read_text()
    assert "&lt;b&gt;" in page and "<b>" not in page and "R &amp; D" in page and "at scale tiny" in page
    assert len(re.findall("<span", page)) == len(figures.STEPS) + 2 and "&gt; 0.5" in page
    assert _rows(tmp_path / "w.csv")[1:] == [["the", "0.05"], ["<b>", "0.9"]]


def test_a_page_says_when_another_text_stands_in_for_the_one_asked_for(tmp_path):
    for found in (True, False):
        figures.shaded_words(WORDS | {"found": found}, tmp_path / "w.html", note="at scale tiny")
        assert ("the first text" in (tmp_path / "w.html").read_text()) is not found


def test_the_terminal_shows_every_word_and_the_legend():
    text = figures.shaded_text(WORDS["words"])
    assert text.plain.startswith("the <b> ") and "> 0.5" in text.plain
    styles = {text.plain[span.start : span.end]: str(span.style) for span in text.spans}
    assert styles["the"].endswith(figures.SHADES[0]) and styles["<b>"].endswith(figures.SHADES[-1])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_any_number_of_panels_is_drawn(tmp_path, count):
    figures.curves([PANELS[0]] * count, tmp_path / "c.svg", note="")
    assert (tmp_path / "c.svg").stat().st_size > 1000


def _drawn(monkeypatch):
    """The figure of the latest drawing, kept on its way to the file."""
    kept = []
    save = figures._save
    monkeypatch.setattr(figures, "_save", lambda figure, *rest, **note: (kept.append(figure), save(figure, *rest)))
    return kept


def _curve(*places):
    return [PANELS[0] | {"series": [{"label": "ours", "points": [(x, 0.5, None, None) for x in places]}]}]


def test_an_axis_is_logarithmic_only_beyond_a_decade(tmp_path, monkeypatch):
    kept = _drawn(monkeypatch)
    for places in ((500, 5000), (100, 5000), (0, 5000)):
        figures.curves(_curve(*places), tmp_path / "c.svg", note="")
    assert [figure.axes[0].get_xscale() for figure in kept] == ["linear", "log", "linear"]


def test_a_system_looks_alike_in_all_panels_and_is_named_once(tmp_path, monkeypatch):
    kept = _drawn(monkeypatch)
    turned = PANELS[0] | {"series": PANELS[0]["series"][::-1]}
    figures.curves([PANELS[0], turned], tmp_path / "c.svg", note="")
    looks = [{line.get_label(): line.get_color() for line in axes.lines} for axes in kept[0].axes]
    assert looks[0] == looks[1] and len(set(looks[0].values())) == 2
    assert [text.get_text() for text in kept[0].legends[0].texts] == ["ours", "BM25"]


def test_points_without_extremes_leave_a_gap_in_the_band_and_single_lines_have_none(tmp_path, monkeypatch):
    kept = _drawn(monkeypatch)
    points = [(1.0, 0.5, 0.4, 0.6), (2.0, 0.5, 0.4, 0.6), (3.0, 0.5, None, None)]
    figures.curves([PANELS[0] | {"series": [{"label": "a", "points": points}]}], tmp_path / "c.svg", note="")
    [band] = kept[0].axes[0].collections
    assert max(x for area in band.get_paths() for x, _ in area.vertices) == 2.0


def test_a_panel_without_a_line_is_drawn_empty(tmp_path):
    figures.curves([PANELS[0] | {"series": []}], tmp_path / "c.svg", note="")
    assert _rows(tmp_path / "c.csv")[1:] == []


def test_the_auc_stands_in_the_title_of_a_scatter_where_it_is_known(tmp_path, monkeypatch):
    kept = _drawn(monkeypatch)
    unknown = SCATTER | {"measured": {"auc": None}}
    figures.scatter([("one", SCATTER), ("two", unknown)], tmp_path / "s.svg", note="small print")
    assert [axes.get_title() for axes in kept[0].axes] == ["one (AUC before projection: 0.75)", "two"]
    assert kept[0].get_supxlabel() == "small print"


def _passages(grade, text="use | of <b> *soap*", **changes):
    found = {"rank": 1, "id": "d", "title": "", "text": text, "score": 12.5, "grade": grade}
    query = {"wanted": "Green soap", "id": "q", "text": "other text", "found": True, "passages": [found]}
    return {"kind": "passages", "queries": [query | changes]}


def test_passages_of_several_systems_stand_below_one_heading_a_query(tmp_path):
    pairs = [("old", _passages(None)), ("new", _passages(1, found=False))]
    figures.passages(pairs, tmp_path / "p.md", note="at scale tiny")
    page = (tmp_path / "p.md").read_text()
    assert page.count("## Green soap") == 1 and page.index("**old**") < page.index("**new**")
    assert "| 1 | – | 12.5 |" in page and "| 1 | 1 | 12.5 |" in page and page.startswith("*at scale tiny*")
    assert page.count("instead: other text") == 1


def test_nothing_in_a_passage_becomes_markup(tmp_path):
    figures.passages([("x", _passages(0, text="a | b\n# c <i> `d`"))], tmp_path / "p.md", note="")
    assert r"| a \| b \# c \<i\> \`d\` |" in (tmp_path / "p.md").read_text()
