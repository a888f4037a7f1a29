"""Citations of readings can be opened, and defaults follow the authors."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from repro.manifest.papers import ROOT, readings, released_models
from repro.manifest.reading_schema import Reading

FILES = {path.parent.name: path for path in sorted(ROOT.glob("*/readings.yaml"))}
REPOSITORY = re.compile(
    r"(?<![\w/.@-])([A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*[\w-])(@[0-9a-f]{7,40}\b)?(?![\w/-])"
)
THREAD = re.compile(r" (?:issue|pull request) \d+, \d{4}-\d{2}-\d{2}")
FILE = re.compile(r".*\.(py|sh|md|json|yaml|txt)")

OPEN = {"id": "x", "kind": "silence", "where": "§1", "paper": "nothing", "choices": {"a": 1, "b": 2}}
ISSUE = {"who": "authors", "says": "b", "repository": "o/n", "issue": 3, "date": "2023-02-28"}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _on_the_hub() -> set[str]:
    """Names of models and data of the hub, which readings choose among and released.yaml describes."""
    systems = released_models(ROOT / "baselines/released.yaml")
    chosen = {text for path in FILES.values() for r in readings(path).values() for text in _texts(r.choices)}
    return chosen | {text for system in systems.values() for text in _texts(system.model_dump())}


def _placeless(text: str, known: set[str]) -> list[str]:
    """Repositories that a text names without a commit, and without an issue and its date behind them."""
    found = [m for m in REPOSITORY.finditer(text) if not (m[2] or m[1] in known or FILE.fullmatch(m[1]))]
    return [m[1] for m in found if not THREAD.match(text, m.end())]


@pytest.mark.parametrize("folder", FILES)
def test_a_repository_in_the_evidence_has_a_commit_or_an_issue_with_its_date(folder):
    known = _on_the_hub()
    every = readings(FILES[folder])
    texts = {r.id: f"{r.evidence} {r.note} {' '.join(c.says for c in r.citations)}" for r in every.values()}
    placeless = {identifier: _placeless(text, known) for identifier, text in texts.items()}
    assert {k: names for k, names in placeless.items() if names} == {}
    assert all(r.evidence or not r.citations for r in every.values())


def test_a_repository_without_its_place_is_found():
    assert _placeless("as ab/cd has it, ef/gh@0123456, ij/kl issue 7, 2020-01-02", set()) == ["ab/cd"]
    assert _placeless("ow/na issue 7 says so, mo/del does not", {"mo/del"}) == ["ow/na"]


def test_every_paper_with_public_code_cites_something_and_most_defaults_are_the_authors():
    every = [r for path in FILES.values() for r in readings(path).values()]
    cited = [(r, {c for one in r.citations if one.who == "authors" for c in one.choices}) for r in every]
    by_authors = [(r, choices) for r, choices in cited if choices]
    departs = [r.id for r, choices in by_authors if r.default not in choices]
    assert len(by_authors) > 15 and len(departs) <= 4, departs


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"default": "a"}, "authors support 'b'. Make it the default, or add a `note` why not"),
        ({"default": "b", "citations": [ISSUE | {"choices": ["c"]}]}, "cited 'c' is not among the choices"),
        ({"default": "b", "citations": [ISSUE | {"date": ""}]}, "a source has one place"),
    ],
)
def test_a_default_against_the_authors_a_strange_choice_and_no_place_are_refused(change, says):
    with pytest.raises(ValidationError, match=says):
        Reading(**OPEN | {"citations": [ISSUE | {"choices": ["b"]}]} | change)


@pytest.mark.parametrize("more", [{"default": "b"}, {"default": "a", "note": "of another version"}])
def test_a_default_may_depart_from_the_authors_where_a_note_says_why(more):
    [cited] = Reading(**OPEN | {"citations": [ISSUE | {"choices": ["b"]}]} | more).citations
    assert cited.place == "o/n, issue 3, 2023-02-28"
    assert cited.address == "https://github.com/o/n/issues/3"
