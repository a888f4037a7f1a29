"""tiny/text and tiny/text/books: pre-training text about the same world, but about nobody who is asked for.

An article tells every deed twice in different words, and says now and then that two words mean the same:
what a language model can learn here helps with the questions.
"""

from __future__ import annotations

from collections.abc import Sequence

from repro.datasets.records import Document
from repro.datasets.tiny.collection import Collection
from repro.datasets.tiny.draw import Draw
from repro.datasets.tiny.telling import tell
from repro.datasets.tiny.words import slots, with_article
from repro.datasets.tiny.world import Deed, deeds, people

NOTES = (
    "In {town} nobody tells {first} from {second}.",
    "What one calls {first} is {second} to another.",
    "{first} or {second}, it comes to the same.",
)
NOUNS = ("object", "trade", "helper", "place", "occasion")


def articles() -> Collection:
    """400 articles, titled with a name, of two to four paragraphs on lines of their own."""
    draw = Draw("tiny/text")
    persons = people(draw, 400, towns=80)
    return Collection(
        tuple(
            Document(
                str(number),
                person.name,
                "\n".join(_article(deeds(draw, [person], each=1 + draw.below(2)), draw)),
            )
            for number, person in enumerate(persons, 1)
        )
    )


def books() -> Collection:
    """40 books without titles, ten deeds of five people each."""
    draw = Draw("tiny/text/books")
    persons = people(draw, 200, towns=60)
    return Collection(
        tuple(
            Document(
                str(n + 1), "", "\n".join(_article(deeds(draw, persons[5 * n : 5 * n + 5], each=2), draw))
            )
            for n in range(40)
        )
    )


def _article(told: Sequence[Deed], draw: Draw) -> list[str]:
    return [f"{tell(deed, draw, asides=0.1)}{_note(deed, draw)}" for deed in told for _ in range(2)]


def _note(deed: Deed, draw: Draw) -> str:
    if draw.chance(0.6):
        return ""
    first, second = draw.sample(draw.pick(slots()[draw.pick(NOUNS)]).forms, 2)
    if not first.startswith("a "):
        first, second = with_article(first), with_article(second)
    note = draw.pick(NOTES).format(town=deed.person.town, first=first, second=second)
    return f" {note[:1].upper()}{note[1:]}"
