"""The form "I measured a cell": that it asks for what an entry needs, and what becomes of its answers."""

import itertools

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from repro.errors import DataError, UsageError
from repro.plugins.reports.report_form import (
    CHOICES,
    FIELDS,
    IN_HOW,
    IN_REPORT,
    LAST,
    answers,
    entry_of,
    in_words,
)
from repro.plugins.reports.reports import Report, ReportMethod, Reports, Source, reports
from tests.filled_form import ANSWERS, CELL, fields, filled

ISSUE = {"issue": "owner/name#12", "day": "2026-11-01"}
THREAD = "https://github.com/a/b/issues/5"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def refused(**changed: str) -> str:
    with pytest.raises(DataError) as caught:
        entry_of(filled(**changed), **ISSUE)
    assert str(caught.value).startswith("the form: ") and "\n" not in str(caught.value)
    return str(caught.value).removeprefix("the form: ")


def test_the_fields_of_the_form_are_those_that_are_read():
    assert [(field["id"], field["attributes"]["label"]) for field in fields()] == [
        (name, field.label) for name, field in FIELDS.items()
    ]
    required = [field["id"] for field in fields() if field.get("validations", {}).get("required")]
    assert required == [name for name, field in FIELDS.items() if field.required]
    assert list(FIELDS)[-1] == LAST, "what follows in other people's words must not be taken for a heading"


def test_every_choice_of_the_form_begins_with_a_word_of_the_schema_and_none_is_missing():
    options = {field["id"]: field["attributes"].get("options") for field in fields()}
    words = {name: sorted(option.split()[0] for option in of) for name, of in options.items() if of}
    assert words == {name: sorted(valid) for name, valid in CHOICES.items()}


def test_the_form_asks_for_all_that_an_entry_can_hold():
    assert set(Report.model_fields) == {*IN_REPORT, "cells", "source", "how"}
    assert set(ReportMethod.model_fields) == set(IN_HOW)
    of_place = {
        "repository",
        "path",
        "commit",
        "issue",
        "pull",
        "card",
        "arxiv",
        "doi",
    }  # read from the address
    assert set(Source.model_fields) - of_place == {"who", "name", "date", "title", "table"}
    assert {"place", "evidence", *IN_REPORT, *IN_HOW} < set(FIELDS)


def test_every_answer_is_read_by_its_heading():
    given, wrong = answers(filled())
    assert wrong == []
    assert given == ANSWERS | {"evidence": f"```text\n{ANSWERS['evidence']}\n```"}


def test_lines_end_as_they_may():
    assert answers(filled().replace("\n", "\r\n")) == answers(filled())


def test_a_filled_form_gives_an_entry_that_the_schema_reads():
    entry = entry_of(filled(), **ISSUE)
    read = Reports.model_validate(yaml.safe_load(entry.yaml))
    assert (read.values, read.sources) == ((entry.report,), {"ance-on-one-a100": entry.source})
    assert entry.source.place == "owner/name, issue 12, 2026-11-01"
    report = entry.report
    assert (report.cells, report.value, report.unit, report.match) == ((CELL,), "0.3287", "fraction", "close")
    assert report.how == ReportMethod(
        start="fine-tuned", seeds=2, hardware="one A100", differs=("other negatives", "half precision")
    )
    assert entry.yaml.startswith("# papers/baselines/others.yaml: ")


def test_an_entry_can_be_put_into_the_file_that_it_names():
    entry = entry_of(filled(note="it's: {odd} [text], #1 & *more* " + "of it " * 40), **ISSUE)
    source, report = entry.yaml.partition("sources:\n")[2].split("\nvalues:\n")
    text = (entry.folder / "others.yaml").read_text(encoding="utf-8")
    extended = _loaded(text.replace("\nvalues:\n", f"\n{source}\nvalues:\n{report}\n", 1))
    assert extended["values"][0]["note"].startswith("it's: {odd} [text], #1 & *more* of it")
    assert extended["sources"].keys() - _loaded(text)["sources"] == {"ance-on-one-a100"}


def _loaded(text: str) -> dict:
    return yaml.load(text, yaml.CSafeLoader)


@pytest.mark.parametrize(
    ("changed", "address"),
    [
        (
            {"place": f"https://github.com/a/b/blob/{COMMIT}/c%20d/e.md#L3"},
            f"https://github.com/a/b/blob/{COMMIT}/c%20d/e.md",
        ),
        (
            {"place": "https://github.com/a/b/issues/5#issuecomment-7", "date": "2024-02-29"},
            "https://github.com/a/b/issues/5",
        ),
        ({"place": "https://github.com/a/b/pull/6", "date": "2024-03-01"}, "https://github.com/a/b/pull/6"),
        ({"place": "https://huggingface.co/a/b", "date": "2024-03-01"}, "https://huggingface.co/a/b"),
        (
            {"place": f"https://huggingface.co/a/b/blob/{COMMIT}/README.md"},
            f"https://huggingface.co/a/b/tree/{COMMIT}",
        ),
        (
            {"place": "https://arxiv.org/abs/2104.08663v2", "title": "A paper", "table": "2"},
            "https://arxiv.org/abs/2104.08663v2",
        ),
        (
            {"place": "https://arxiv.org/pdf/2104.08663.pdf", "title": "A paper", "table": "2"},
            "https://arxiv.org/abs/2104.08663",
        ),
        (
            {"place": "https://doi.org/10.1007/978-3-031-88708-6_7", "title": "A paper", "table": "2"},
            "https://doi.org/10.1007/978-3-031-88708-6_7",
        ),
    ],
)
def test_a_place_is_taken_from_its_address(changed, address):
    entry = entry_of(filled(evidence="", **changed))
    assert entry.source.address == address and entry.source.place


def test_a_source_that_is_there_is_named_and_not_added():
    known = itertools.chain(*reports().values())
    there = next(made for made in known if made.source.who == "toolkit" and made.source.path)
    place = {"place": there.source.address, "who": "toolkit", "cells": there.cell.id}
    entry = entry_of(filled(value="0.2999", **place))
    assert entry.known and entry.report.source == there.report.source
    assert yaml.safe_load(entry.yaml).keys() == {"values"}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"cells": "simlm/2/dense.ance/dev.rr11"}, "Cells: there is no column of simlm/2 'dev.rr11'"),
        ({"cells": f"{CELL}, ance"}, "Cells: 'ance' names no cell"),
        ({"cells": ""}, "Cells is empty"),
        ({"cells": ","}, "Cells is ',' and names no cell; give at least one"),
        ({"cells": f"{CELL}, {CELL}"}, "the same cell is named twice"),
        ({"cells": f"{CELL}, simlm/2/dense.ance/dev.r1000"}, "these cells are of R@1000 and RR@10"),
        ({"place": "https://github.com/a/b/issues/5", "date": "2026-13-40"}, "is no day of the calendar"),
        ({"place": "https://github.com/a/b/issues/0", "date": "2024-02-03"}, "known to stay"),
        ({"value": "about 33"}, "Value is 'about 33' and no number such as 0.3412"),
        ({"value": "32.87"}, "mind the unit"),
        ({"value": "0.003287"}, "is less than 1/20 of the published 33.0; mind the unit"),
        ({"value": "0.330", "start": "unknown (nothing says it)"}, "repeats the published number"),
        ({"unit": "permille"}, "Unit begins with 'permille' and not with fraction or percent"),
        ({"start": "cited"}, "How it was made begins with 'cited' and not with checkpoint, run, "),
        ({"seeds": "one"}, "Seeds is 'one' and no number such as 1"),
        ({"note": "word " * 100}, "Note has more than 400 characters; restate it in few words"),
        ({"evidence": ""}, "Evidence is empty, and without a Place this issue is the only one"),
        ({"place": "https://example.org/x"}, "'https://example.org/x' is no address that is known to stay"),
        ({"place": "https://github.com/a/b/blob/main/c.md"}, "is a file at 'main', which moves: press y"),
        (
            {"place": "https://github.com/a/b/issues/5"},
            "Date is empty, and a comment or a model card needs one",
        ),
        ({"place": "https://github.com/a/b/issues/5", "date": "2024-02-30"}, "is no day of the calendar"),
        (
            {"place": "https://github.com/a/b/issues/5", "date": "2015-02-03"},
            "before 2016-11-28, when MS MARCO",
        ),
        (
            {"place": "https://github.com/a/b/issues/5", "date": "2999-01-01"},
            "Date 2999-01-01 is yet to come",
        ),
        ({"place": "https://arxiv.org/abs/2104.08663"}, "a paper needs both Title and Table"),
        (
            {"title": "A paper", "table": "2"},
            "a paper needs its address at arxiv.org or doi.org as its Place",
        ),
        (
            {
                "place": "https://github.com/a/b/pull/5",
                "date": "2024-02-03",
                "title": "A paper",
                "table": "1",
            },
            "Title and Table are filled in, but Place is no paper's",
        ),
    ],
)
def test_what_is_wrong_is_told(changed, says):
    assert says in refused(**changed)


def test_all_that_is_wrong_is_told_at_once():
    said = refused(value="x", seeds="y", unit="z", name="")
    assert all(
        word in said for word in ("Value is 'x'", "Seeds is 'y'", "Unit begins with 'z'", "Name is empty")
    )


def test_a_reason_of_the_schema_is_told_without_the_words_of_its_library():
    with pytest.raises(ValidationError) as caught:
        Source(who="toolkit", name="x", title="A paper")
    [error] = caught.value.errors()
    assert in_words(error).startswith("a source has one place: repository")
    assert in_words(error | {"loc": ("date",)}).startswith("date: a source has one place")


def test_an_issue_has_a_number_and_a_day_of_the_calendar():
    for issue, day, says in (("a/b#0", "2026-11-01", "OWNER/NAME#NUMBER"), ("a/b#1", "2026-13-40", "no day")):
        with pytest.raises((DataError, UsageError), match=says):
            entry_of(filled(), issue=issue, day=day)


def test_the_same_report_again_is_refused():
    there = next(m for made in reports().values() for m in made if m.source.path)
    same = {
        "place": there.source.address,
        "who": there.source.who,
        "cells": there.cell.id,
        "at": there.report.at,
    }
    same |= {"value": there.report.value, "unit": there.report.unit, "measure": there.report.measure}
    assert "the same value is there already" in refused(**same)


def test_without_a_place_the_issue_has_to_be_named():
    with pytest.raises(DataError, match="no --issue with its --date was named that could be it"):
        entry_of(filled())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "it is no filled form"),
        ("Hello", "it is no filled form"),
        (filled().replace("### Value\n", "### Values\n"), "the part '### Value' is missing"),
        (filled(differs="x\n### Note\ny"), "Note stands there twice"),
    ],
)
def test_what_is_not_the_form_is_refused(body, says):
    with pytest.raises(DataError, match=says):
        entry_of(body, **ISSUE)


@settings(max_examples=40)
@given(changed=st.dictionaries(st.sampled_from(sorted(ANSWERS)), st.text(max_size=30), min_size=1))
@example(changed={"name": "0"})
@example(changed={"name": "Yes"})
def test_any_answers_give_an_entry_or_a_sentence(changed):
    try:
        entry = entry_of(filled(**changed), **ISSUE)
    except DataError as error:
        assert str(error).startswith("the form: ")
    else:
        assert Reports.model_validate(yaml.safe_load(entry.yaml)).values == (entry.report,)
