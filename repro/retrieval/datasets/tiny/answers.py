"""tiny/wiki: questions with answer strings over passages of town articles, and cases that trip a matcher."""

from collections.abc import Mapping, Sequence

from repro.retrieval.datasets.records import Document, Judgement, Query
from repro.retrieval.datasets.tiny.collection import Collection, Topics, in_id_order, shuffled_ids
from repro.retrieval.datasets.tiny.draw import Draw
from repro.retrieval.datasets.tiny.telling import ask, ask_for, tell
from repro.retrieval.datasets.tiny.words import Concept
from repro.retrieval.datasets.tiny.world import Deed, deeds, people, question

SIZES = (4, 5, 6)
TOWN = "which town was home to the {person} who {predicate}"
YEAR = "which year is named in the tale of the {person} who {predicate}"
# title, text, question, accepted answers. A matcher must fold accents and case, keep numbers and names with
# punctuation whole, match whole tokens only, look at the text alone, and accept any one of several answers.
HARD = (
    (
        "Velloume",
        "The tower of Velloume was drawn up by R\u00e9nel \u00c2stor, who never saw it.",
        "who drew up the tower of velloume",
        ("Re\u0301nel A\u0302stor",),
    ),
    (
        "Quarreth",
        "Quarreth paid 1,204 copper coins for its clock.",
        "how many coins did quarreth pay for its clock",
        ("1,204",),
    ),
    (
        "Inverlath",
        "The ferry at Inverlath belongs to Del O'Varn and to nobody else.",
        "who owns the ferry at inverlath",
        ("DEL O'VARN",),
    ),
    (
        "Skarnholt",
        "Ormsel, they say in Skarnholt, could lift an ox; but the well was dug by Orm.",
        "who dug the well of skarnholt",
        ("Orm",),
    ),
    (
        "Ormsel Hill",
        "Ormsel Hill lies behind Skarnholt. Nobody has ever dug a well there.",
        "which hill lies behind skarnholt",
        ("Ormsel Hill", "the hill of Ormsel"),
    ),
    (
        "Thessoly",
        "The council meets every fifth year and speaks of little but taxes.",
        "how often does the council of thessoly meet",
        ("every fifth year", "once in five years"),
    ),
    (
        "Marrowby",
        "Thessoly and Marrowby quarrelled about the mill until Thessoly gave in.",
        "which town gave in about the mill of marrowby",
        ("Thessoly",),
    ),
)


def wiki() -> Collection:
    """360 passages of 60 towns and 7 hard cases; 160 train, 60 dev and 67 test questions."""
    draw = Draw("tiny/wiki")
    world = deeds(draw, people(draw, 120), each=3)
    ids = shuffled_ids(draw, len(world), first=1)
    texts = [tell(deed, draw, asides=0.2) for deed in world]
    documents = [
        Document(id, deed.person.town, text) for id, deed, text in zip(ids, world, texts, strict=True)
    ]
    hard_documents = [
        Document(str(len(world) + n), title, text) for n, (title, text, _, _) in enumerate(HARD, 1)
    ]
    document_deeds = list(zip(documents, world, strict=True))
    train = _topics(draw.sample(document_deeds[:180], 160), world, draw)
    test = _topics(draw.sample(document_deeds[270:], 60), world, draw).queries
    test += tuple(Query(str(len(test) + n), text, answers) for n, (_, _, text, answers) in enumerate(HARD))
    return Collection(
        in_id_order(documents + hard_documents),
        {
            "train": train,
            "dev": _topics(draw.sample(document_deeds[180:270], 60), world, draw),
            "test": Topics(test),
        },
    )


def _topics(targets: Sequence[tuple[Document, Deed]], world: Sequence[Deed], draw: Draw) -> Topics:
    queries, judgements = [], []
    for number, (document, deed) in enumerate(targets):
        concepts = question(draw, deed, world, sizes=SIZES)
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
