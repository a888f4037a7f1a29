"""Define the embedded world: words, people, deeds, and their description in English.

Each mention of a concept draws its own synonym, e.g. river, stream or brook.
"""

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from repro.machine.bounded_reading import read_facts

T = TypeVar("T")
SENTENCES = read_facts(Path(__file__).with_name("sentences.yaml"))
PARTICIPLES = {"stole": "stolen", "hid": "hidden", "broke": "broken"}


class Draw:
    def __init__(self, seed: str):
        self._next = random.Random(seed).random

    def below(self, n: int) -> int:
        return int(self._next() * n)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def chance(self, probability: float) -> bool:
        return self._next() < probability

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        pool = list(items)
        for i in range(k):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:k]


@dataclass(frozen=True)
class Concept:
    """A property of a deed, with synonymous ``forms``."""

    slot: str
    key: str
    forms: tuple[str, ...]


@functools.cache
def slots() -> dict[str, tuple[Concept, ...]]:
    raw = read_facts(Path(__file__).with_name("words.yaml"))
    return {
        slot: tuple(Concept(slot, f"{slot}:{name}", tuple(forms)) for name, forms in concepts.items())
        for slot, concepts in raw.items()
    }


def with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@functools.cache
def names() -> tuple[tuple[str, str], ...]:
    """Return all pairs of 50 given and 50 family names, shuffled."""
    draw = Draw("tiny/names")
    given_names = _invent_names(draw, "given", 50)
    family_names = _invent_names(draw, "family", 50)
    pairs = [(first, last) for first in given_names for last in family_names]
    return tuple(draw.sample(pairs, len(pairs)))


@functools.cache
def towns() -> tuple[str, ...]:
    return tuple(_invent_names(Draw("tiny/towns"), "town", 24))


def _invent_names(draw: Draw, kind: str, n: int) -> list[str]:
    parts = read_facts(Path(__file__).with_name("names.yaml"))
    choices = [parts[name].split() for name in ("onsets", "vowels", "codas", kind)]
    unique_names: dict[str, None] = {}
    while len(unique_names) < n:
        unique_names["".join(map(draw.pick, choices)).capitalize()] = None
    return list(unique_names)


PERSONAL = ("trait", "trade")
DEED = ("act", "quality", "object", "place", "time", "occasion", "helper")
TOLD_ONLY = 1400  # pairs for pre-training alone
SHORT_DEED = DEED[:5]  # what one sentence can hold


@dataclass(frozen=True)
class Person:
    """An invented person. All deeds of a person share trait and trade."""

    name: str
    town: str
    concepts: Mapping[str, Concept]


@dataclass(frozen=True)
class Deed:
    """A deed of a person: a concept for each filled slot of words.yaml, and the concepts' keys."""

    person: Person
    year: int
    concepts: Mapping[str, Concept]
    keys: frozenset[str]


def people(draw: Draw, n: int, *, asked: bool = True) -> list[Person]:
    """Draw ``n`` people. Names of people in questions (``asked``) differ from those of all others."""
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
    """Draw ``each`` deeds of every person. ``of`` lists the slots that a deed fills."""
    return [_deed(draw, person, of) for person in persons for _ in range(each)]


def _deed(draw: Draw, person: Person, slot_names: Sequence[str]) -> Deed:
    concepts = {**person.concepts, **{slot: draw.pick(slots()[slot]) for slot in slot_names}}
    return Deed(person, 1100 + draw.below(700), concepts, frozenset(c.key for c in concepts.values()))


def deeds_by_key(world: Sequence[Deed]) -> dict[str, set[int]]:
    """Return, for each concept's key, the ``id`` of every deed that has it."""
    identities: dict[str, set[int]] = {}
    for deed in world:
        for key in deed.keys:
            identities.setdefault(key, set()).add(id(deed))
    return identities


def question(
    draw: Draw, deed: Deed, world: Mapping[str, set[int]], *, sizes: Sequence[int]
) -> dict[str, Concept]:
    """Draw concepts of ``deed``, by slot, that no other deed combines, including its act or object.

    Their number is one of ``sizes``, e.g. (4, 5, 6). ``world`` comes from ``deeds_by_key``.
    """
    while True:
        chosen_slots = set(draw.sample(list(deed.concepts), draw.pick(sizes)))
        if not chosen_slots & {"act", "object"}:
            continue
        concepts = {slot: concept for slot, concept in deed.concepts.items() if slot in chosen_slots}
        if set.intersection(*(world[concept.key] for concept in concepts.values())) == {id(deed)}:
            return concepts


def tell(deed: Deed, draw: Draw, *, asides: float, stories: str = "stories") -> str:
    """Describe a deed by a sentence of ``stories``, and an aside with probability ``asides``."""
    text = fill(draw.pick(SENTENCES[stories]), deed, draw)
    if draw.chance(asides):
        aside, concepts = draw.pick(SENTENCES["asides"]), {s: draw.pick(c) for s, c in slots().items()}
        text += " " + fill(aside, deed, draw, concepts=concepts)
    return text


def fill(template: str, deed: Deed, draw: Draw, *, concepts: Mapping[str, Concept] | None = None) -> str:
    """Fill a template with concepts, by default the deed's. Sentences begin with a capital."""
    forms = {slot: draw.pick(concept.forms) for slot, concept in (concepts or deed.concepts).items()}
    base, past = forms["act"].split()
    thing = f"{forms['quality']} {forms['object']}"
    text = template.format(
        **{"occasion": "", "helper": "", **forms},
        name=deed.person.name,
        town=deed.person.town,
        year=deed.year,
        a_trait=with_article(forms["trait"]),
        base=base,
        past=past,
        participle=PARTICIPLES.get(past, past),
        thing=thing,
        a_thing=with_article(thing),
        a_helper=with_article(forms["helper"]) if "helper" in forms else "",
    )
    return ". ".join(sentence[:1].upper() + sentence[1:] for sentence in text.split(". "))


def ask(concepts: Mapping[str, Concept], draw: Draw, *, keywords: float) -> str:
    """Return a question, e.g. "who hid a …", or, with probability ``keywords``, only its keywords."""
    forms = _draw_forms(concepts, draw)
    if draw.chance(keywords):
        words = [forms[slot].removeprefix("a ").removeprefix("an ") for slot in forms]
        return " ".join(draw.sample(words, len(words)))
    person = _person(forms)
    return " ".join([f"which {person}" if person else "who", *_predicate(forms)])


def ask_for(frame: str, concepts: Mapping[str, Concept], draw: Draw) -> str:
    """Return a question: ``frame`` with {person} and {predicate} filled from ``concepts``."""
    forms = _draw_forms(concepts, draw)
    return frame.format(person=_person(forms) or "person", predicate=" ".join(_predicate(forms)))


def _draw_forms(concepts: Mapping[str, Concept], draw: Draw) -> dict[str, str]:
    forms = {slot: draw.pick(concept.forms) for slot, concept in concepts.items()}
    if "act" in forms:
        forms["act"] = forms["act"].split()[1]
    return forms


def _person(forms: Mapping[str, str]) -> str:
    if "trait" in forms:
        return f"{forms['trait']} {forms.get('trade', 'person')}"
    return forms.get("trade", "")


def _predicate(forms: Mapping[str, str]) -> list[str]:
    phrases = {"place": "near the {}", "time": "{}", "occasion": "after {}"}
    described = [phrase.format(forms[slot]) for slot, phrase in phrases.items() if slot in forms]
    helper = [f"with {with_article(forms['helper'])}"] if "helper" in forms else []
    return [forms.get("act", "had to do with"), _thing(forms), *described, *helper]


def _thing(forms: Mapping[str, str]) -> str:
    words = [forms[slot] for slot in ("quality", "object") if slot in forms]
    return with_article(" ".join(words)) if "object" in forms else " ".join(["something", *words])
