"""People of an invented world, their deeds, and what a question about a deed asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from repro.datasets.tiny.draw import Draw
from repro.datasets.tiny.words import FAMILY_ENDINGS, TOWN_ENDINGS, Concept, given_names, names, slots

PERSONAL = ("trait", "trade")
DEED = ("act", "quality", "object", "place", "time", "occasion", "helper")


@dataclass(frozen=True)
class Person:
    """Somebody with a home; every deed of a person shares trait and trade."""

    name: str
    town: str
    concepts: Mapping[str, Concept]


@dataclass(frozen=True)
class Deed:
    """What a person once did: one concept for each slot of words.yaml."""

    person: Person
    year: int
    concepts: Mapping[str, Concept]


def people(draw: Draw, n: int, *, towns: int) -> list[Person]:
    """``n`` people, each in one of ``towns`` invented towns."""
    homes = names(draw, TOWN_ENDINGS, towns)
    families = names(draw, FAMILY_ENDINGS, n)
    return [
        Person(
            f"{given} {family}", draw.pick(homes), {slot: draw.pick(slots()[slot]) for slot in PERSONAL}
        )
        for given, family in zip(given_names(draw, n), families, strict=True)
    ]


def deeds(draw: Draw, person: Person, n: int) -> list[Deed]:
    """``n`` deeds of one person."""
    return [
        Deed(
            person,
            1100 + draw.below(700),
            {**person.concepts, **{slot: draw.pick(slots()[slot]) for slot in DEED}},
        )
        for _ in range(n)
    ]


def agreement(asked: Mapping[str, Concept], deed: Deed) -> int:
    """In how many slots a deed is as ``asked``."""
    return sum(deed.concepts[slot] is concept for slot, concept in asked.items())


def question(draw: Draw, deed: Deed, others: Iterable[Deed], *, sizes: Sequence[int]) -> dict[str, Concept]:
    """Concepts of ``deed``, as many as one of ``sizes``, that no other deed has all of.

    Always among them: the act or the object, so that a sentence can be made.
    """
    others = [other for other in others if other is not deed]
    while True:
        asked = draw.sample(list(deed.concepts), draw.pick(sizes))
        wanted = {slot: deed.concepts[slot] for slot in deed.concepts if slot in asked}
        if not {"act", "object"} & wanted.keys():
            continue
        if all(agreement(wanted, other) < len(wanted) for other in others):
            return wanted
