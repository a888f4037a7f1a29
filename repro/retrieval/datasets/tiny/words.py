"""The concepts of words.yaml, and names that exist nowhere."""

import functools
from dataclasses import dataclass
from pathlib import Path

from repro.machine.bounded_reading import read_facts
from repro.retrieval.datasets.tiny.draw import Draw

ONSETS = ("b", "br", "d", "dr", "f", "gr", *"hjklmnprs", "sk", "t", "th", "v", "z")
VOWELS = ("a", "e", "i", "o", "u", "ae", "oa")
CODAS = ("l", "n", "r", "th", "nd", "rk", "lm", "st", "v", "ld")
GIVEN_ENDINGS = ("a", "en", "is", "o", "un", "ya")
FAMILY_ENDINGS = ("ovar", "esh", "imel", "undo", "arrik", "ithe", "ogan", "ulla")
TOWN_ENDINGS = ("avon", "esk", "umbra", "oril", "atha", "ynde", "orno", "eshi")


@dataclass(frozen=True)
class Concept:
    """A thing that can be said of a deed, with the two or three ``forms`` that mean it."""

    slot: str
    key: str
    forms: tuple[str, ...]


@functools.cache
def slots() -> dict[str, tuple[Concept, ...]]:
    """Every concept by slot, in the order of words.yaml."""
    raw = read_facts(Path(__file__).with_name("words.yaml"))
    return {
        slot: tuple(Concept(slot, f"{slot}:{name}", tuple(forms)) for name, forms in concepts.items())
        for slot, concepts in raw.items()
    }


def with_article(noun: str) -> str:
    """``noun`` behind "a" or "an"."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@functools.cache
def names() -> tuple[tuple[str, str], ...]:
    """All pairs of 50 given and 50 family names, in an order of their own: few enough to be whole words of a
    small vocabulary, and shared by all collections."""
    draw = Draw("tiny/names")
    given_names, family_names = (
        _invent_names(draw, GIVEN_ENDINGS, 50),
        _invent_names(draw, FAMILY_ENDINGS, 50),
    )
    pairs = [(first, last) for first in given_names for last in family_names]
    return tuple(draw.sample(pairs, len(pairs)))


@functools.cache
def towns() -> tuple[str, ...]:
    """The names of 24 towns, shared by all collections."""
    return tuple(_invent_names(Draw("tiny/towns"), TOWN_ENDINGS, 24))


def _invent_names(draw: Draw, endings: tuple[str, ...], n: int) -> list[str]:
    """``n`` different names that end in one of ``endings``."""
    unique_names: dict[str, None] = {}
    while len(unique_names) < n:
        unique_names[_syllable(draw).capitalize() + draw.pick(endings)] = None
    return list(unique_names)


def _syllable(draw: Draw) -> str:
    return draw.pick(ONSETS) + draw.pick(VOWELS) + draw.pick(CODAS)
