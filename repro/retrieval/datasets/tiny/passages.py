"""Generate tiny/passage and tiny/document, web passages and documents in miniature.

Train and evaluation questions share people, but no deeds, so that no model learns who is never relevant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from repro.retrieval.datasets.catalog import Document, Judgement, Query
from repro.retrieval.datasets.tiny.world import (
    SHORT_DEED,
    Concept,
    Deed,
    Draw,
    ask,
    deeds,
    deeds_by_key,
    people,
    question,
    tell,
)


@dataclass(frozen=True)
class Topics:
    """The questions of a split, e.g. ``dev``, with judgements unless answers decide."""

    queries: tuple[Query, ...]
    judgements: tuple[Judgement, ...] = ()


@dataclass(frozen=True)
class Collection:
    """An embedded collection. The documents' order does not reveal the splits."""

    documents: tuple[Document, ...]
    topics: Mapping[str, Topics] = field(default_factory=dict)


def shuffled_ids(draw: Draw, n: int, *, first: int) -> list[str]:
    """Return ``n`` consecutive numbers, the lowest ``first``, in random order, e.g. ["102", "100", "101"]."""
    return [str(first + i) for i in draw.sample(range(n), n)]


def in_id_order(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Sort documents by number, which hides the order of splits."""
    return tuple(sorted(documents, key=lambda document: int(document.id)))


def graded_judgements(
    query: str,
    concepts: Mapping[str, Concept],
    world: Mapping[str, Sequence[Deed]],
    draw: Draw,
    *,
    top: int,
    others: int,
) -> list[Judgement]:
    """Grade the documents of ``world`` by how many ``concepts`` their best deed has.

    The grade is ``top`` for all concepts and one less per missing one, but not below 0. Documents with no
    concept are left out. At most ``others`` random documents get grade 1, and as many grade 0.
    """
    grades: dict[int, list[str]] = {}
    keys = {concept.key for concept in concepts.values()}
    for document, life in world.items():
        best = max([len(keys & deed.keys) for deed in life])
        if best:
            grades.setdefault(max(0, top - (len(concepts) - best)), []).append(document)
    rows = []
    for grade, documents in sorted(grades.items(), reverse=True):
        sample = documents if grade > 1 else draw.sample(documents, min(others, len(documents)))
        rows += [Judgement(query, document, grade) for document in sorted(sample, key=int)]
    return rows


SIZES = (4, 5, 6)  # concepts in a question
GRADED_SIZES = (3, 4)  # fewer, so that several documents answer a part
KEYWORDS = 0.2
ASIDES = 0.2
MANY = 16_000  # training questions, of 2,175 deeds
SECTIONS = ("Early years", "On the road", "At home again", "Later days")


def passages() -> Collection:
    """Return 900 passages about 300 people, each with two deeds for train and one for evaluation."""
    draw = Draw("tiny/passage")
    world = deeds(draw, people(draw, 300), each=3, of=SHORT_DEED)
    documents, ids = _tales(world, draw)
    lives = {id: (deed,) for id, deed in zip(ids, world, strict=True)}
    targets = list(zip(ids, world, strict=True))
    training_targets = [target for place, target in enumerate(targets) if place % 3 != 2]
    evaluation_targets = targets[2::3]
    topics = partial(_topics, world=world, draw=draw)
    graded = partial(topics, lives=lives, sizes=GRADED_SIZES)
    splits = {
        "train": topics([training_targets[i % 600] for i in range(2000)], first=10_000),
        "dev": topics(evaluation_targets[:150], first=20_000),
        "dl19": graded(draw.sample(evaluation_targets[150:225], 40), first=30_000),
        "dl20": graded(draw.sample(evaluation_targets[225:], 40), first=40_000),
    }
    return Collection(documents, splits)


def many_passages() -> Collection:
    """Return 2,400 passages about 800 people and 16,000 training questions."""
    draw = Draw("tiny/passage-many")
    deeds_by_keys = {deed.keys: deed for deed in deeds(draw, people(draw, 805), each=3, of=SHORT_DEED)}
    world = list(deeds_by_keys.values())[:2400]  # each with a question of its own
    documents, ids = _tales(world, draw)
    lives = {id: (deed,) for id, deed in zip(ids, world, strict=True)}
    targets = draw.sample(list(zip(ids, world, strict=True)), len(world))
    evaluation_targets, training_targets = targets[:225], targets[225:]
    topics = partial(_topics, world=world, draw=draw)
    repeated_targets = [training_targets[i % len(training_targets)] for i in range(MANY)]
    splits = {
        "train": topics(repeated_targets, first=100_000),
        "dev": topics(evaluation_targets[:150], first=20_000),
        "dl19": topics(evaluation_targets[150:185], first=30_000, lives=lives),
        "dl20": topics(evaluation_targets[185:], first=40_000, lives=lives),
    }
    return Collection(documents, splits)


def documents() -> Collection:
    """Return 150 documents, each a life in four sections: two for train, two for evaluation."""
    draw = Draw("tiny/document")
    persons = people(draw, 150)
    world = deeds(draw, persons, each=4)
    ids = [f"{number}" for number in shuffled_ids(draw, len(persons), first=1000)]
    lives = {id: world[4 * i : 4 * i + 4] for i, id in enumerate(ids)}
    training_targets, evaluation_targets = (
        [(id, deed) for id, life in lives.items() for deed in life[half]] for half in (slice(2), slice(2, 4))
    )
    documents = in_id_order([_life(id, life, draw) for id, life in lives.items()])
    topics = partial(_topics, world=world, draw=draw)
    graded = partial(topics, lives=lives, sizes=GRADED_SIZES)
    splits = {
        "train": topics(draw.sample(training_targets, 200), first=50_000),
        "dev": topics(draw.sample(evaluation_targets[:160], 80), first=60_000),
        "dl19": graded(draw.sample(evaluation_targets[160:232], 20), first=70_000),
        "dl20": graded(draw.sample(evaluation_targets[232:], 20), first=80_000),
    }
    return Collection(documents, splits)


def _tales(world: Sequence[Deed], draw: Draw) -> tuple[tuple[Document, ...], list[str]]:
    ids = shuffled_ids(draw, len(world), first=100)
    documents = [
        Document(id, "", tell(deed, draw, asides=0, stories="tales"))
        for id, deed in zip(ids, world, strict=True)
    ]
    return in_id_order(documents), ids


def _life(id: str, life: Sequence[Deed], draw: Draw) -> Document:
    person = life[0].person
    sections = [
        f"{heading}\n{tell(deed, draw, asides=ASIDES)}" for heading, deed in zip(SECTIONS, life, strict=True)
    ]
    address = f"https://{person.town.lower()}.example/{person.name.lower().replace(' ', '-')}"
    return Document(id, f"{person.name} of {person.town}", "\n".join(sections), address)


def _topics(
    targets: Sequence[tuple[str, Deed]],
    *,
    world: Sequence[Deed],
    draw: Draw,
    first: int,
    sizes: Sequence[int] = SIZES,
    lives: Mapping[str, Sequence[Deed]] | None = None,
) -> Topics:
    queries, judgements, index = [], [], deeds_by_key(world)
    for number, (document, deed) in enumerate(targets, first):
        concepts = question(draw, deed, index, sizes=sizes)
        queries.append(Query(str(number), ask(concepts, draw, keywords=KEYWORDS)))
        if lives is None:
            judgements.append(Judgement(str(number), document, 1))
        else:
            judgements += graded_judgements(str(number), concepts, lives, draw, top=3, others=8)
    return Topics(tuple(queries), tuple(judgements))
