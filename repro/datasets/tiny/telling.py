"""Deeds and questions put into English; every mention of a concept draws its own surface form."""

from __future__ import annotations

from collections.abc import Mapping

from repro.datasets.tiny.draw import Draw
from repro.datasets.tiny.words import Concept, slots, with_article
from repro.datasets.tiny.world import Deed

STORIES = (
    "{name}, {a_trait} {trade} from {town}, {past} {a_thing} by the {place} {time}. "
    "It was soon after {occasion}, and {a_helper} was there to lend a hand.",
    "In the year {year} there lived in {town} {a_trait} {trade} called {name}, "
    "who {past} {a_thing} {time}, close to the {place}. {occasion} had just ended. Only {a_helper} saw it.",
    "People of {town} still talk about {name}, {a_trait} {trade}. {occasion} was over when, not far from the {place} "
    "and with {a_helper} at hand, {a_thing} was {participle} {time}.",
    "{name} of {town} was {a_trait} {trade}. The story goes that {a_thing} was {participle} {time} at the {place}, "
    "once {occasion} was over. {a_helper} told it to everyone in the year {year}.",
)
ASIDES = (
    "Others would rather have had {a_thing}.",
    "Nobody thought of the {place} that day.",
    "{a_helper} heard about it much later.",
    "It was told again during {occasion}.",
    "In {town} they call it a tall tale.",
    "Even {a_trait} {trade} could not have done better.",
)
# Acts whose participle is not the past form.
PARTICIPLES = {"stole": "stolen", "hid": "hidden", "broke": "broken", "threw": "thrown"}


def tell(deed: Deed, draw: Draw, *, asides: float) -> str:
    """A deed in two or three sentences; with probability ``asides``, one more that misleads a word counter."""
    text = _fill(draw.pick(STORIES), deed, deed.concepts, draw)
    if draw.chance(asides):
        elsewhere = {slot: draw.pick(concepts) for slot, concepts in slots().items()}
        text += " " + _fill(draw.pick(ASIDES), deed, elsewhere, draw)
    return text


def ask(asked: Mapping[str, Concept], draw: Draw, *, keywords: float) -> str:
    """The question who did what ``asked`` describes; with probability ``keywords``, only its words."""
    said = {slot: concept.form(draw) for slot, concept in asked.items()}
    if "act" in said:
        said["act"] = said["act"].split()[1]
    if draw.chance(keywords):
        return " ".join(said[slot].removeprefix("a ").removeprefix("an ") for slot in draw.sample(list(said), len(said)))
    person = " ".join(said[slot] for slot in ("trait", "trade") if slot in said)
    if "trait" in said and "trade" not in said:
        person += " person"
    subject = f"which {person}" if person else "who"
    return " ".join([subject, said.get("act", "had to do with"), _thing(said), *_circumstances(said)])


def _thing(said: Mapping[str, str]) -> str:
    if "object" in said:
        return with_article(f"{said['quality']} {said['object']}" if "quality" in said else said["object"])
    return f"something {said['quality']}" if "quality" in said else "something"


def _circumstances(said: Mapping[str, str]) -> list[str]:
    phrases = []
    if "place" in said:
        phrases.append(f"near the {said['place']}")
    if "time" in said:
        phrases.append(said["time"])
    if "occasion" in said:
        phrases.append(f"after {said['occasion']}")
    if "helper" in said:
        phrases.append(f"with {with_article(said['helper'])}")
    return phrases


def _fill(template: str, deed: Deed, concepts: Mapping[str, Concept], draw: Draw) -> str:
    said = {slot: concept.form(draw) for slot, concept in concepts.items()}
    past = said["act"].split()[1]
    text = template.format(
        name=deed.person.name, town=deed.person.town, year=deed.year,
        a_trait=with_article(said["trait"]), trade=said["trade"], past=past, participle=PARTICIPLES.get(past, past),
        a_thing=with_article(f"{said['quality']} {said['object']}"), place=said["place"], time=said["time"],
        occasion=said["occasion"], a_helper=with_article(said["helper"]),
    )
    return _sentence_capitals(text)


def _sentence_capitals(text: str) -> str:
    return ". ".join(part[:1].upper() + part[1:] for part in text.split(". "))
