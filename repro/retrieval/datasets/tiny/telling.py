"""Deeds and questions put into English; every mention of a concept draws its own surface form."""

from collections.abc import Mapping, Sequence

from repro.retrieval.datasets.tiny.world import Concept, Deed, Draw, slots, with_article

STORIES = (
    "{name}, {a_trait} {trade} from {town}, {past} {a_thing} by the {place} {time}. "
    "It was soon after {occasion}, and {a_helper} was there to lend a hand.",
    "In the year {year} there lived in {town} {a_trait} {trade} called {name}, "
    "who {past} {a_thing} {time}, close to the {place}. {occasion} had just ended. Only {a_helper} saw it.",
    "People of {town} still talk about {name}, {a_trait} {trade}. {occasion} was over when, not far from "
    "the {place} and with {a_helper} at hand, {a_thing} was {participle} {time}.",
    "{name} of {town} was {a_trait} {trade}. The story goes that {a_thing} was {participle} {time} "
    "at the {place}, once {occasion} was over. {a_helper} told it to everyone in the year {year}.",
)
# Sentences, of deeds without occasion and helper: what a model of two layers can learn to read in minutes.
TALES = (
    "{name}, {a_trait} {trade} from {town}, {past} {a_thing} by the {place} {time}.",
    "In {town} there lived {a_trait} {trade} called {name}, "
    "who {past} {a_thing} {time}, close to the {place}.",
    "People of {town} still talk about {name}, {a_trait} {trade}: "
    "{a_thing} was {participle} not far from the {place} {time}.",
    "{name} of {town} was {a_trait} {trade}, and some say that {a_thing} was {participle} {time} "
    "at the {place}.",
)
# Of deeds only: what two texts on one deed share is then its concepts, in other words, and no name.
NAMELESS = (
    "{a_trait} {trade} {past} {a_thing} {time}, near the {place}.",
    "{time} {a_thing} was {participle} at the {place} by {a_trait} {trade}.",
    "By the {place}, {a_thing} was {participle} {time}, and it was the work of {a_trait} {trade}.",
    "It was {a_trait} {trade} who {past} {a_thing} {time}, close to the {place}.",
)
# Said of other concepts than the deed's own: they mislead whoever only counts words.
ASIDES = (
    "Others would rather have had {a_thing}.",
    "Nobody thought of the {place} that day.",
    "{a_helper} heard about it much later.",
    "It was told again during {occasion}.",
    "Even {a_trait} {trade} could not have done better.",
)
TITLES = ("The {thing} of {town}", "A tale of the {place}", "How {a_trait} {trade} {past} {a_thing}")
POST = (
    "I live near the {place} and there has been {occasion}. "
    "My {helper} says that {a_trait} {trade} would do it {time}. How is it done?",
    "{occasion} is to blame. The {place} is not far, and I have {a_helper} to help me. "
    "I asked {a_trait} {trade}, who does it {time}.",
)
HEADLINE = ("How can I {base} {a_thing}?", "What is the best way to {base} {a_thing}?")
PARTICIPLES = {"stole": "stolen", "hid": "hidden", "broke": "broken"}


def tell(deed: Deed, draw: Draw, *, asides: float, stories: Sequence[str] = STORIES) -> str:
    """Return a deed as one of ``stories`` tells it, with an aside behind it with probability ``asides``."""
    text = fill(draw.pick(stories), deed, draw)
    if draw.chance(asides):
        text += " " + fill(
            draw.pick(ASIDES), deed, draw, concepts={s: draw.pick(c) for s, c in slots().items()}
        )
    return text


def fill(template: str, deed: Deed, draw: Draw, *, concepts: Mapping[str, Concept] | None = None) -> str:
    """Return a template about ``deed``, or about other ``concepts``; sentences begin with a capital."""
    forms = {slot: draw.pick(concept.forms) for slot, concept in (concepts or deed.concepts).items()}
    base, past = forms["act"].split()
    thing = f"{forms['quality']} {forms['object']}"
    text = template.format(
        name=deed.person.name,
        town=deed.person.town,
        year=deed.year,
        a_trait=with_article(forms["trait"]),
        trade=forms["trade"],
        base=base,
        past=past,
        participle=PARTICIPLES.get(past, past),
        thing=thing,
        a_thing=with_article(thing),
        place=forms["place"],
        time=forms["time"],
        occasion=forms.get("occasion", ""),
        helper=forms.get("helper", ""),
        a_helper=with_article(forms["helper"]) if "helper" in forms else "",
    )
    return ". ".join(sentence[:1].upper() + sentence[1:] for sentence in text.split(". "))


def ask(concepts: Mapping[str, Concept], draw: Draw, *, keywords: float) -> str:
    """Ask who did what ``concepts`` describe; with probability ``keywords`` their words only."""
    forms = _draw_forms(concepts, draw)
    if draw.chance(keywords):
        words = [forms[slot].removeprefix("a ").removeprefix("an ") for slot in forms]
        return " ".join(draw.sample(words, len(words)))
    person = _person(forms)
    return " ".join([f"which {person}" if person else "who", *_predicate(forms)])


def ask_for(frame: str, concepts: Mapping[str, Concept], draw: Draw) -> str:
    """Return ``frame`` with {person} and {predicate} filled from ``concepts``."""
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
    phrases = [forms.get("act", "had to do with"), _thing(forms)]
    if "place" in forms:
        phrases.append(f"near the {forms['place']}")
    if "time" in forms:
        phrases.append(forms["time"])
    if "occasion" in forms:
        phrases.append(f"after {forms['occasion']}")
    if "helper" in forms:
        phrases.append(f"with {with_article(forms['helper'])}")
    return phrases


def _thing(forms: Mapping[str, str]) -> str:
    if "object" in forms:
        return with_article(
            f"{forms['quality']} {forms['object']}" if "quality" in forms else forms["object"]
        )
    return f"something {forms['quality']}" if "quality" in forms else "something"
