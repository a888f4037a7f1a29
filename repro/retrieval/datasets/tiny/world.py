"""The embedded world: its words, its people and what they did, and choices that stay the same everywhere."""

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from repro.machine.bounded_reading import read_facts

T = TypeVar("T")


class Draw:
    """A seeded source of choices; equal seeds give equal sequences."""

    def __init__(self, seed: str):
        self._next = random.Random(seed).random

    def below(self, n: int) -> int:
        """Return an integer in 0..n-1."""
        return int(self._next() * n)

    def pick(self, items: Sequence[T]) -> T:
        """Return one of ``items``."""
        return items[self.below(len(items))]

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._next() < probability

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """Return ``k`` of ``items`` without repetition, in random order (Fisher-Yates, stopped early)."""
        pool = list(items)
        for i in range(k):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:k]


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
    """Return every concept by slot, in the order of words.yaml."""
    raw = read_facts(Path(__file__).with_name("words.yaml"))
    return {
        slot: tuple(Concept(slot, f"{slot}:{name}", tuple(forms)) for name, forms in concepts.items())
        for slot, concepts in raw.items()
    }


def with_article(noun: str) -> str:
    """Return ``noun`` behind "a" or "an"."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@functools.cache
def names() -> tuple[tuple[str, str], ...]:
    """Return all pairs of 50 given and 50 family names, shared by all collections, in an order of their own.

    They are few enough to be whole words of a small vocabulary.
    """
    draw = Draw("tiny/names")
    given_names, family_names = (
        _invent_names(draw, GIVEN_ENDINGS, 50),
        _invent_names(draw, FAMILY_ENDINGS, 50),
    )
    pairs = [(first, last) for first in given_names for last in family_names]
    return tuple(draw.sample(pairs, len(pairs)))


@functools.cache
def towns() -> tuple[str, ...]:
    """Return the names of 24 towns, shared by all collections."""
    return tuple(_invent_names(Draw("tiny/towns"), TOWN_ENDINGS, 24))


def _invent_names(draw: Draw, endings: tuple[str, ...], n: int) -> list[str]:
    """Return ``n`` different names that end in one of ``endings``."""
    unique_names: dict[str, None] = {}
    while len(unique_names) < n:
        unique_names[_syllable(draw).capitalize() + draw.pick(endings)] = None
    return list(unique_names)


def _syllable(draw: Draw) -> str:
    return draw.pick(ONSETS) + draw.pick(VOWELS) + draw.pick(CODAS)


PERSONAL = ("trait", "trade")
DEED = ("act", "quality", "object", "place", "time", "occasion", "helper")
TOLD_ONLY = 1400  # pairs of names that occur in pre-training text alone
SHORT_DEED = DEED[:5]  # what one sentence can hold


@dataclass(frozen=True)
class Person:
    """Somebody with a home; all deeds of a person share trait and trade."""

    name: str
    town: str
    concepts: Mapping[str, Concept]


@dataclass(frozen=True)
class Deed:
    """A deed of a person: one concept for each of some slots of words.yaml, and the set of their keys."""

    person: Person
    year: int
    concepts: Mapping[str, Concept]
    keys: frozenset[str]


def people(draw: Draw, n: int, *, asked: bool = True) -> list[Person]:
    """Return ``n`` people of different names; ``asked`` for in questions or not, with names of their own."""
    pairs = names()[:TOLD_ONLY] if not asked else names()[TOLD_ONLY:]
    return [
        Person(
            f"{given_name} {family_name}",
            draw.pick(towns()),
            {slot: draw.pick(slots()[slot]) for slot in PERSONAL},
        )
        for given_name, family_name in draw.sample(pairs, n)
    ]


def deeds(draw: Draw, persons: Sequence[Person], *, each: int, of: Sequence[str] = DEED) -> list[Deed]:
    """Return ``each`` deeds of every person, person by person; ``of`` names the slots that are filled."""
    return [_deed(draw, person, of) for person in persons for _ in range(each)]


def _deed(draw: Draw, person: Person, slot_names: Sequence[str]) -> Deed:
    concepts = {**person.concepts, **{slot: draw.pick(slots()[slot]) for slot in slot_names}}
    return Deed(person, 1100 + draw.below(700), concepts, frozenset(c.key for c in concepts.values()))


def agreement(concepts: Mapping[str, Concept], deed: Deed) -> int:
    """Return the number of slots in which a deed has these ``concepts``."""
    return sum(concept.key in deed.keys for concept in concepts.values())


def question(draw: Draw, deed: Deed, world: Sequence[Deed], *, sizes: Sequence[int]) -> dict[str, Concept]:
    """Return concepts of ``deed``, as many as one of ``sizes``, which no other deed of ``world`` has all of.

    The act or the object is always among them, so that a sentence can be made of them.
    """
    while True:
        chosen_slots = set(draw.sample(list(deed.concepts), draw.pick(sizes)))
        if not chosen_slots & {"act", "object"}:
            continue
        concepts = {slot: concept for slot, concept in deed.concepts.items() if slot in chosen_slots}
        keys = {concept.key for concept in concepts.values()}
        matches = compress(world, map(keys.issubset, map(attrgetter("keys"), world)))
        if all(candidate is deed for candidate in matches):
            return concepts
