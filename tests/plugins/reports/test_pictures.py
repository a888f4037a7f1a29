"""The forest plot of made-up reports."""

import re
from xml.etree import ElementTree

from repro.plugins.reports.pictures import WIDTH, forest_picture, format_difference, format_percent
from tests.plugins.reports.reports_of import FRACTION, PERCENT, quantities, report

SVG = "{http://www.w3.org/2000/svg}"


def _marks(*made):
    """The words of each mark -> its place from the left, and its class."""
    picture = forest_picture("ance", quantities(*made))
    marks = {}
    paths = ElementTree.fromstring(picture.drawing(True)).iter(f"{SVG}path")
    for path in (path for path in paths if path.find(f"{SVG}title") is not None):  # the legend's have none
        place = float(re.search(r"[-\d.]+", path.get("transform"))[0])
        marks[path.find(f"{SVG}title").text.partition(":")[0]] = place, path.get("class")
    return marks


def test_a_report_below_the_published_number_stands_left_of_it_whatever_the_unit():
    marks = _marks(report("0.310", FRACTION, unit="fraction"), report("33.9", FRACTION))
    assert marks["31.0"][0] < WIDTH / 2 < marks["33.9"][0]


def test_a_loose_match_is_hollow_and_another_is_not():
    marks = _marks(report("31.0", PERCENT, match="loose"), report("33.9", PERCENT, match="close"))
    assert marks["31.0"][1] == "released loose" and marks["33.9"][1] == "released"


def test_quantities_of_one_set_and_measure_are_named_by_what_tells_them_apart():
    made = quantities(
        report("34.0", "costa/1/bm25neg.costa/dev.rr10"), report("36.0", "costa/1/hardneg.costa/dev.rr10")
    )
    text = forest_picture("costa", made).drawing(True)
    assert "MRR@10, bm25neg<" in text and "MRR@10, hardneg<" in text


def test_the_words_beneath_say_who_and_what_differs():
    picture = forest_picture("ance", quantities(report("31.0", PERCENT, by="a toolkit", differs=("fp16",))))
    [row] = picture.below[0].blocks[0].rows
    assert [row[1], row[2], row[3].words, row[5]] == ["33.0", "31.0", "a toolkit", "fp16"]


def test_numbers_are_told_as_they_were_stated_to_two_decimals():
    [quantity] = quantities(report("33.0301", PERCENT), report("33.10", PERCENT))
    assert [format_percent(entry.value) for entry in quantity.entries] == ["33.03", "33.10"]
    assert [format_difference(value) for value in (-0.004, 0.25, -1.0)] == ["0.00", "+0.25", "−1.00"]
