import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from repro.manifest.papers import ROOT, papers
from repro.plugins.settings.checked import checked_parameters
from repro.plugins.settings.schema import FILE, completed_step, read_settings

PUBLISHED = [
    name for name, source in papers().items() if any(t.kind != "study" for t in source.manifest.tables)
]
# words that tell a number; 80/10/10 are the shares of BERT's masking
IN_WORDS = {
    0.1: "tenth|80/10/10",
    0.5: "half",
    0.8: "four fifths|80/10/10",
    1: "one|all|equal|plain",
    2: "two|both",
}
IN_WORDS |= {3: "three", 4: "four", 5: "five", 10: "ten", 30: "thirty", 200: "two hundred", 1000: "thousand"}
checked_parameters = cache(checked_parameters)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_plan_follows_what_is_stated(name):
    found = checked_parameters(papers()[name])
    wrong = [
        f"{item.row} {item.step or item.stage} {item.parameter}: {item.says}" for item in found if item.fails
    ]
    assert found and not wrong, "\n".join(
        [f"{len(wrong)} failures; `repro show settings {name} --failing`", *wrong[:20]]
    )


def test_no_template_states_what_every_step_replaces():
    folders = {path.parent.name: path.parent for path in ROOT.glob(f"*/{FILE}")}
    own = [(name, step) for name, folder in folders.items() for step in read_settings(folder).steps]
    taken = {
        id(s)
        for name, step in own
        if step.rows
        for s in completed_step(folders, name, step).settings.values()
    }
    stated = [(name, step.id, path, s) for name, step in own for path, s in step.settings.items() if s]
    live = {(name, path, repr(s)) for name, _, path, s in stated if id(s) in taken}
    idle = [(name, step, path) for name, step, path, s in stated if (name, path, repr(s)) not in live]
    assert len(live) > 500 and idle == []


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_number_that_a_reading_alone_gives_is_told_in_its_words(name):
    source, missing = papers()[name], set()
    for item in checked_parameters(source):
        reading = source.readings.get(item.reading.partition(".")[0])
        if item.state != "unspecified" or reading is None:
            continue
        given = set(numbers(reading.choices[reading.default]))
        words = " ".join([reading.paper, reading.evidence, reading.note, reading.default.replace("-", " ")])
        for number in given.intersection(numbers(item.planned)):
            missing |= set() if told(number, words) else {(reading.id, number)}
    assert missing == set()


def numbers(value: Any) -> Iterator[float]:
    """The numbers within a value other than 0, which stands for nothing."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool) and value:
        yield value


def told(number: float, words: str) -> bool:
    """Whether words tell a number: as 0.15 or 15 %, 1,000, 50k, 2e-5, or by a word of its own."""
    scientific = re.sub("e-0", "e-", f"{number:.0e}")
    forms = {
        f"{number:g}",
        f"{number:,}",
        f"{number:.2f}",
        f"{100 * number:g} %",
        f"{number / 1000:g}k",
        scientific,
    }
    forms = {re.escape(form) for form in forms} | {IN_WORDS.get(number, "(?!)")}
    return re.search(rf"(?<![\w.,])({'|'.join(forms)})(?!\d|[.,]\d)", words) is not None
