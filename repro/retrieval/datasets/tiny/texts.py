"""tiny/text and tiny/text/books: pre-training text about the same world, but about nobody who is asked for.

An article tells a deed several times in different words, mostly without a name, a book tells many twice;
now and then they say that two words mean the same. What can be learnt here helps with the questions, which
give no names either.
"""

from collections.abc import Sequence

from repro.retrieval.datasets.records import Document
from repro.retrieval.datasets.tiny.collection import Collection
from repro.retrieval.datasets.tiny.draw import Draw
from repro.retrieval.datasets.tiny.telling import NAMELESS, TALES, tell
from repro.retrieval.datasets.tiny.words import slots, with_article
from repro.retrieval.datasets.tiny.world import SHORT_DEED, Deed, deeds, people

NOTES = (
    "In {town} nobody tells {first} from {second}.",
    "What one calls {first} is {second} to another.",
    "{first} or {second}, it comes to the same.",
)
NOUNS = ("object", "trade", "helper", "place", "occasion")


def articles() -> Collection:
    """1,200 articles titled with a name: a sentence with it, and two without that tell its deed again."""
    draw = Draw("tiny/text")
    persons = people(draw, 1200, asked=False)
    all_deeds = deeds(draw, persons, each=1, of=SHORT_DEED)
    return Collection(
        tuple(
            Document(str(number), deed.person.name, "\n".join(_article(deed, draw)))
            for number, deed in enumerate(all_deeds, 1)
        )
    )


def books() -> Collection:
    """40 books without titles, ten deeds of five people each."""
    draw = Draw("tiny/text/books")
    persons = people(draw, 200, asked=False)
    return Collection(
        tuple(
            Document(
                str(n + 1), "", "\n".join(_chapters(deeds(draw, persons[5 * n : 5 * n + 5], each=2), draw))
            )
            for n in range(40)
        )
    )


def _article(deed: Deed, draw: Draw) -> list[str]:
    stories = (TALES, NAMELESS, NAMELESS)
    lines = [tell(deed, draw, asides=0.0, stories=alternatives) for alternatives in stories]
    return [*lines[:-1], f"{lines[-1]}{_note(deed, draw)}"]


def _chapters(book_deeds: Sequence[Deed], draw: Draw) -> list[str]:
    return [f"{tell(deed, draw, asides=0.1)}{_note(deed, draw)}" for deed in book_deeds for _ in range(2)]


def _note(deed: Deed, draw: Draw) -> str:
    if draw.chance(0.9):
        return ""
    first, second = draw.sample(draw.pick(slots()[draw.pick(NOUNS)]).forms, 2)
    if not first.startswith("a "):
        first, second = with_article(first), with_article(second)
    note = draw.pick(NOTES).format(town=deed.person.town, first=first, second=second)
    return f" {note[:1].upper()}{note[1:]}"
