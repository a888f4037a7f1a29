"""Generate the embedded collections, e.g. ``tiny/passage``, on which a CPU trains in minutes.

Texts describe the deeds of invented people. Questions use synonyms, which a model can learn and BM25 cannot.
"""

import functools
from collections.abc import Callable, Mapping, Sequence

from repro.retrieval.datasets.catalog import Document, Judgement, Query
from repro.retrieval.datasets.tiny import passages
from repro.retrieval.datasets.tiny.passages import (
    Collection,
    Topics,
    graded_judgements,
    in_id_order,
    shuffled_ids,
)
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

SIZES = (4, 5, 6)
TOWN = "which town was home to the {person} who {predicate}"
YEAR = "which year is named in the tale of the {person} who {predicate}"


def wiki() -> Collection:
    """Return 360 passages titled by 24 towns, 7 hard passages, 160 train, 60 dev and 67 test questions."""
    draw = Draw("tiny/wiki")
    world = deeds(draw, people(draw, 120), each=3)
    ids = shuffled_ids(draw, len(world), first=1)
    texts = [tell(deed, draw, asides=0.2) for deed in world]
    documents = [
        Document(id, deed.person.town, text) for id, deed, text in zip(ids, world, texts, strict=True)
    ]
    hard_documents = [
        Document(str(len(world) + n), title, text)
        for n, (title, text, _, _) in enumerate(SENTENCES["hard"], 1)
    ]
    document_deeds = list(zip(documents, world, strict=True))
    train = _topics(draw.sample(document_deeds[:180], 160), world, draw)
    test = _topics(draw.sample(document_deeds[270:], 60), world, draw).queries
    test += tuple(
        Query(str(len(test) + n), text, tuple(answers))
        for n, (_, _, text, answers) in enumerate(SENTENCES["hard"])
    )
    dev = _topics(draw.sample(document_deeds[180:270], 60), world, draw)
    topics = {"train": train, "dev": dev, "test": Topics(test)}
    return Collection(in_id_order(documents + hard_documents), topics)


def _topics(targets: Sequence[tuple[Document, Deed]], world: Sequence[Deed], draw: Draw) -> Topics:
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
    """Return 120 posts, 24 of them on another's subject, and 36 questions with one or two relevant posts."""
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
    """Return 1,200 articles titled by a person's name, which one of three sentences contains."""
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
    "tiny/passage": passages.passages,
    "tiny/passage-many": passages.many_passages,
    "tiny/document": passages.documents,
    "tiny/wiki": wiki,
    "tiny/beir": beir,
    "tiny/cqadupstack/mending": functools.partial(forum, "mending"),
    "tiny/cqadupstack/travel": functools.partial(forum, "travel"),
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
