"""Generate the embedded collections, e.g. ``tiny/passage``.

Texts describe the deeds of invented people. Questions use synonyms, which a model can learn and BM25 cannot.
Train and evaluation questions of ``tiny/passage`` and ``tiny/document`` share people, but no deeds, so that
no model learns who is never relevant.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from repro.retrieval.datasets.catalog import Document, Judgement, Query
from repro.retrieval.datasets.tiny.world import (
    SENTENCES,
    SHORT_DEED,
    Concept,
    Deed,
    Draw,
    ask,
    ask_for,
    deeds,
    deeds_by_key,
    fill,
    people,
    question,
    slots,
    tell,
    with_article,
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
    """Grade the documents of ``world`` (id -> deeds) by how many ``concepts`` their best deed has.

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
    targets = list(zip(ids, world, strict=True))
    lives = {id: (deed,) for id, deed in targets}
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


def long_documents() -> Collection:
    """Return 150 documents, each a life in four sections: two for train, two for evaluation."""
    draw = Draw("tiny/document")
    persons = people(draw, 150)
    world = deeds(draw, persons, each=4)
    ids = shuffled_ids(draw, len(persons), first=1000)
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


TOWN = "which town was home to the {person} who {predicate}"
YEAR = "which year is named in the tale of the {person} who {predicate}"


def wiki() -> Collection:
    """Return 360 passages titled by 24 towns, 7 hard passages, 160 train, 60 dev and 67 test questions."""
    draw = Draw("tiny/wiki")
    world = deeds(draw, people(draw, 120), each=3)
    ids = shuffled_ids(draw, len(world), first=1)
    documents = [
        Document(id, deed.person.town, tell(deed, draw, asides=0.2))
        for id, deed in zip(ids, world, strict=True)
    ]
    hard_documents = [
        Document(str(len(world) + n), title, text)
        for n, (title, text, _, _) in enumerate(SENTENCES["hard"], 1)
    ]
    document_deeds = list(zip(documents, world, strict=True))
    train = _answered_topics(draw.sample(document_deeds[:180], 160), world, draw)
    test = _answered_topics(draw.sample(document_deeds[270:], 60), world, draw).queries
    test += tuple(
        Query(str(len(test) + n), text, tuple(answers))
        for n, (_, _, text, answers) in enumerate(SENTENCES["hard"])
    )
    dev = _answered_topics(draw.sample(document_deeds[180:270], 60), world, draw)
    topics = {"train": train, "dev": dev, "test": Topics(test)}
    return Collection(in_id_order(documents + hard_documents), topics)


def _answered_topics(targets: Sequence[tuple[Document, Deed]], world: Sequence[Deed], draw: Draw) -> Topics:
    queries, judgements, index = [], [], deeds_by_key(world)
    for number, (document, deed) in enumerate(targets):
        concepts = question(draw, deed, index, sizes=SIZES)
        text, answer = _question_and_answer(document, deed, concepts, draw)
        queries.append(Query(str(number), text, (answer,)))
        judgements.append(Judgement(str(number), document.id, 1))
    return Topics(tuple(queries), tuple(judgements))


def _question_and_answer(
    document: Document, deed: Deed, concepts: Mapping[str, Concept], draw: Draw
) -> tuple[str, str]:
    if str(deed.year) in document.text and draw.chance(0.5):
        return ask_for(YEAR, concepts, draw), str(deed.year)
    if draw.chance(0.3):
        return ask_for(TOWN, concepts, draw), deed.person.town
    return ask(concepts, draw, keywords=0.0), deed.person.name


def beir() -> Collection:
    """Return 285 titled documents, 45 questions with grades 0 to 2, and 15 queries that are documents."""
    draw = Draw("tiny/beir")
    world = deeds(draw, people(draw, 90), each=3)
    ids = shuffled_ids(draw, len(world) + 15, first=1)
    deeds_by_id = dict(zip(ids, world + world[:15], strict=True))
    documents = {
        id: Document(id, fill(draw.pick(SENTENCES["titles"]), deed, draw), tell(deed, draw, asides=0.2))
        for id, deed in deeds_by_id.items()
    }
    queries, judgements, index = [], [], deeds_by_key(world)
    for number, deed in enumerate(draw.sample(world[15:], 45), 5001):
        concepts = question(draw, deed, index, sizes=(3, 4))
        queries.append(Query(str(number), ask(concepts, draw, keywords=0.2)))
        lives = {id: (d,) for id, d in deeds_by_id.items()}
        judgements += graded_judgements(str(number), concepts, lives, draw, top=2, others=6)
    for copy_id, original_id in zip(ids[len(world) :], ids[:15], strict=True):
        queries.append(Query(copy_id, documents[copy_id].text))
        judgements.append(Judgement(copy_id, original_id, 2))
    topics = Topics(tuple(queries), tuple(judgements))
    return Collection(in_id_order(list(documents.values())), {"test": topics})


def forum(name: str) -> Collection:
    """Return 120 posts, 24 of which repeat others' subjects, and 36 questions with 1 or 2 relevant posts."""
    draw = Draw(f"tiny/cqadupstack/{name}")
    world = deeds(draw, people(draw, 96), each=1)
    ids = shuffled_ids(draw, 120, first=1)
    posts = list(zip(ids, world + world[:24], strict=True))
    documents = [
        Document(id, *(fill(draw.pick(SENTENCES[part]), deed, draw) for part in ("headline", "post")))
        for id, deed in posts
    ]
    queries, judgements = [], []
    for number, deed in enumerate(world[12:48], 9001):
        text = fill("How to {base} {a_thing} near the {place} after {occasion}", deed, draw)
        queries.append(Query(str(number), text))
        judgements += [Judgement(str(number), id, 1) for id, post_deed in posts if post_deed is deed]
    return Collection(in_id_order(documents), {"test": Topics(tuple(queries), tuple(judgements))})


NOUNS = ("object", "trade", "helper", "place", "occasion")


def articles() -> Collection:
    """Return 1,200 articles of three sentences, titled by a person, whom one sentence names."""
    draw = Draw("tiny/text")
    persons = people(draw, 1200, asked=False)
    all_deeds = deeds(draw, persons, each=1, of=SHORT_DEED)
    texts = ((deed.person.name, "\n".join(_article(deed, draw))) for deed in all_deeds)
    return Collection(tuple(Document(str(n), title, text) for n, (title, text) in enumerate(texts, 1)))


def books() -> Collection:
    """Return 40 untitled books, each with two reports of ten deeds by five people."""
    draw = Draw("tiny/text/books")
    persons = people(draw, 200, asked=False)
    books = []
    for n in range(40):
        book_deeds = deeds(draw, persons[5 * n : 5 * n + 5], each=2)
        lines = (
            f"{tell(deed, draw, asides=0.1)}{_note(deed, draw)}" for deed in book_deeds for _ in range(2)
        )
        books.append(Document(str(n + 1), "", "\n".join(lines)))
    return Collection(tuple(books))


def _article(deed: Deed, draw: Draw) -> list[str]:
    lines = [tell(deed, draw, asides=0.0, stories=name) for name in ("tales", "nameless", "nameless")]
    return [*lines[:-1], f"{lines[-1]}{_note(deed, draw)}"]


def _note(deed: Deed, draw: Draw) -> str:
    if draw.chance(0.9):
        return ""
    first, second = draw.sample(draw.pick(slots()[draw.pick(NOUNS)]).forms, 2)
    if not first.startswith("a "):
        first, second = with_article(first), with_article(second)
    note = draw.pick(SENTENCES["notes"]).format(town=deed.person.town, first=first, second=second)
    return f" {note[:1].upper()}{note[1:]}"


COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "tiny/passage": passages,
    "tiny/passage-many": many_passages,
    "tiny/document": long_documents,
    "tiny/wiki": wiki,
    "tiny/beir": beir,
    "tiny/cqadupstack/mending": partial(forum, "mending"),
    "tiny/cqadupstack/travel": partial(forum, "travel"),
    "tiny/text": articles,
    "tiny/text/books": books,
}


@functools.cache
def collection(id: str) -> Collection:
    """Return an embedded collection, e.g. ``tiny/wiki``. Raises KeyError for an unknown id."""
    return COLLECTIONS[id]()


def documents(corpus: str) -> tuple[Document, ...]:
    return collection(corpus).documents


def queries(corpus: str, split: str) -> tuple[Query, ...]:
    return collection(corpus).topics[split].queries


def judgements(corpus: str, split: str) -> tuple[Judgement, ...]:
    """Return the judgements of one split, or () if answers decide."""
    return collection(corpus).topics[split].judgements
