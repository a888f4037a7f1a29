"""tiny/beir and the two forums of tiny/cqadupstack: evaluation without training, other kinds of text."""

from repro.retrieval.datasets.records import Document, Judgement, Query
from repro.retrieval.datasets.tiny.collection import (
    Collection,
    Topics,
    graded_judgements,
    in_id_order,
    shuffled_ids,
)
from repro.retrieval.datasets.tiny.draw import Draw
from repro.retrieval.datasets.tiny.telling import HEADLINE, POST, TITLES, ask, fill, tell
from repro.retrieval.datasets.tiny.world import deeds, people, question


def beir() -> Collection:
    """285 titled documents; 45 graded questions (0-2) and 15 that are documents, whose ids they bear.

    For those the document itself comes back first and must be ignored; the relevant one tells the deed anew.
    """
    draw = Draw("tiny/beir")
    world = deeds(draw, people(draw, 90), each=3)
    ids = shuffled_ids(draw, len(world) + 15, first=1)
    deeds_by_id = dict(zip(ids, world + world[:15], strict=True))
    documents = {
        id: Document(id, fill(draw.pick(TITLES), deed, draw), tell(deed, draw, asides=0.2))
        for id, deed in deeds_by_id.items()
    }
    queries, judgements = [], []
    for number, deed in enumerate(draw.sample(world[15:], 45), 5001):
        concepts = question(draw, deed, world, sizes=(3, 4))
        queries.append(Query(str(number), ask(concepts, draw, keywords=0.2)))
        judgements += graded_judgements(
            str(number), concepts, {id: (d,) for id, d in deeds_by_id.items()}, draw, top=2, others=6
        )
    for copy_id, original_id in zip(ids[len(world) :], ids[:15], strict=True):
        queries.append(Query(copy_id, documents[copy_id].text))
        judgements.append(Judgement(copy_id, original_id, 2))
    return Collection(
        in_id_order(list(documents.values())), {"test": Topics(tuple(queries), tuple(judgements))}
    )


def forum(name: str) -> Collection:
    """120 posts, of which 24 ask again what another one asks; 36 questions with one or two relevant posts."""
    draw = Draw(f"tiny/cqadupstack/{name}")
    world = deeds(draw, people(draw, 96), each=1)
    ids = shuffled_ids(draw, 120, first=1)
    posts = list(zip(ids, world + world[:24], strict=True))
    documents = [
        Document(id, fill(draw.pick(HEADLINE), deed, draw), fill(draw.pick(POST), deed, draw))
        for id, deed in posts
    ]
    queries, judgements = [], []
    for number, deed in enumerate(world[12:48], 9001):
        queries.append(
            Query(str(number), fill("How to {base} {a_thing} near the {place} after {occasion}", deed, draw))
        )
        judgements += [Judgement(str(number), id, 1) for id, post_deed in posts if post_deed is deed]
    return Collection(in_id_order(documents), {"test": Topics(tuple(queries), tuple(judgements))})
