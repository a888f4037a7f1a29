"""How large the stand-ins are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Rows of each kind, and the width of the checkpoints; each is an option of the command.

    Attributes:
        passages: of MS MARCO. Rankings of 1,000 need more than that.
        queries: of MS MARCO's training sets.
        evaluated: queries of each set that is evaluated on.
        triples: official negatives a training query.
        documents: of MS MARCO's documents.
        wiki: passages of Wikipedia as DPR cut it.
        questions: of Natural Questions' training set.
        beir: documents of each BEIR set, and of each forum of CQADupStack.
        articles, books: texts of pre-training.
        hidden: width of the checkpoints, a multiple of 12.
        seed: of everything that is drawn.
    """

    passages: int = 2000
    queries: int = 96
    evaluated: int = 30
    triples: int = 240
    documents: int = 300
    wiki: int = 2000
    questions: int = 48
    beir: int = 150
    articles: int = 300
    books: int = 30
    hidden: int = 48
    seed: int = 7
