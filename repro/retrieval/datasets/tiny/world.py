"""People of an invented world, their deeds, and what a question about a deed asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter

from repro.retrieval.datasets.tiny.draw import Draw
from repro.retrieval.datasets.tiny.words import Concept, names, slots, towns

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
    """``n`` people of different names; ``asked`` for in questions or not, with names of their own."""
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
    """``each`` deeds of every person, person by person; ``of`` names the slots that are filled."""
    return [_deed(draw, person, of) for person in persons for _ in range(each)]


def _deed(draw: Draw, person: Person, slot_names: Sequence[str]) -> Deed:
    concepts = {**person.concepts, **{slot: draw.pick(slots()[slot]) for slot in slot_names}}
    return Deed(person, 1100 + draw.below(700), concepts, frozenset(c.key for c in concepts.values()))


def agreement(concepts: Mapping[str, Concept], deed: Deed) -> int:
    """The number of slots in which a deed has these ``concepts``."""
    return sum(concept.key in deed.keys for concept in concepts.values())


def question(draw: Draw, deed: Deed, world: Sequence[Deed], *, sizes: Sequence[int]) -> dict[str, Concept]:
    """Concepts of ``deed``, as many as one of ``sizes``, which no other deed of ``world`` has all of.

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
