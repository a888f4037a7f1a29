"""MS MARCO's passages: archives, topics, judgements and negatives of ir_datasets' home, RocketQA's titles."""

from collections.abc import Sequence
from pathlib import Path

from tests.standins.files import json_line, packed, plain, rows, tar
from tests.standins.sizes import Sizes
from tests.standins.text import Text

Queries = list[tuple[str, str]]
RETRIEVERS = (
    "bm25",
    "msmarco-distilbert-base-tas-b",
    "msmarco-MiniLM-L-6-v3",
    "distilbert-margin_mse-sym_mnrl-mean-v1",
)
JUDGED = {"2019": 43, "2020": 54}


def make(home: Path, data: Path, sizes: Sizes) -> None:
    """Everything of ``msmarco-passage`` below ``home``; para.txt and para.title.txt beside ``data``."""
    text, folder = Text(sizes.seed, "passages"), home / "msmarco-passage"
    passages = [text.between(2, 6) for _ in range(sizes.passages)]
    train, dev = (
        queries(text, passages, sizes.queries + 20, 100_000),
        queries(text, passages, sizes.evaluated, 5),
    )
    _archives(folder, passages, train, dev, text)
    _training(folder, train[: sizes.queries], sizes, text)
    numbers = [str(n) for n in range(len(passages))]
    deep_learning(folder, text, passages, numbers, {"2020": "queries.tsv.gz", "2019": "queries.tsv"}, JUDGED)
    plain(folder / "irds_version.txt", ["v2"])  # as ir_datasets marks texts whose encoding it has mended
    _rocketqa(data.parent / "rocketqa", passages, text)


def queries(text: Text, texts: Sequence[str], count: int, first: int) -> Queries:
    """Queries about some of ``texts``, with ids that leave gaps as the real ones do."""
    return [(str(first + 3 * n), text.query(text.draw.choice(texts))) for n in range(count)]


def deep_learning(folder, text: Text, texts, ids, names: dict[str, str], judged: dict[str, int]) -> None:
    """Two years of TREC Deep Learning: 200 queries each, some of them judged by four grades."""
    shared = Text(0, "deep learning")
    for year, name in sorted(names.items()):
        asked = queries(
            shared, [shared.passage(2) for _ in range(50)], 200, {"2019": 900_000, "2020": 1_100_000}[year]
        )
        write = packed if name.endswith(".gz") else plain
        write(folder / f"trec-dl-{year}" / name, rows(asked))
        grades = [
            (query, "Q0", id, text.draw.choice((0, 0, 0, 1, 2, 3)))
            for query, _ in asked[: judged[year]]
            for id in text.draw.sample(ids, min(60, len(ids)))
        ]
        plain(folder / f"trec-dl-{year}/qrels", rows(grades, " "))


def _archives(folder: Path, passages: Sequence[str], train: Queries, dev: Queries, text: Text) -> None:
    relevant = [(query, 0, text.draw.randrange(len(passages)), 1) for query, _ in dev]
    collection = {
        "collection.tsv": rows(enumerate(passages)),
        "qrels.dev.small.tsv": rows(relevant),
        "qrels.train.tsv": [],
        "queries.dev.small.tsv": rows(dev),
        "queries.dev.tsv": rows(dev),
        "queries.eval.small.tsv": [],
        "queries.train.tsv": rows(train),
    }
    tar(folder / "collectionandqueries.tar.gz", collection)
    every = {"queries.train.tsv": rows(train), "queries.dev.tsv": rows(dev), "queries.eval.tsv": []}
    tar(folder / "queries.tar.gz", every)


def _training(folder: Path, train: Queries, sizes: Sizes, text: Text) -> None:
    """Judgements of the training queries, official negatives, and sbert's negatives with scores."""
    numbers, draw = range(sizes.passages), text.draw
    positives = {query: draw.sample(numbers, draw.choice((1, 1, 1, 2))) for query, _ in train}
    plain(folder / "train/qrels", rows((q, 0, number, 1) for q, some in positives.items() for number in some))
    triples = [
        (q, draw.choice(some), draw.choice(numbers))
        for q, some in positives.items()
        for _ in range(sizes.triples)
    ]
    draw.shuffle(triples)
    packed(folder / "train/qidpidtriples.train.full.2.tsv.gz", rows(triples))

    def items(chosen: Sequence[int], lowest: float, highest: float) -> list[dict]:
        return [{"pid": str(n), "ce-score": draw.uniform(lowest, highest)} for n in chosen]

    listed = (
        {
            "qid": query,
            "pos": items(some, 4, 10),
            "neg": {name: items(draw.sample(numbers, 50), -11, 9) for name in RETRIEVERS},
        }
        for query, some in positives.items()
    )
    packed(folder / "msmarco-hard-negatives.jsonl.gz", map(json_line, listed))


def _rocketqa(folder: Path, passages: Sequence[str], text: Text) -> None:
    """Texts and titles by number; some passages have no title, others a dash."""
    plain(folder / "para.txt", rows(enumerate(passages)))
    titles = (
        (number, "-" if number % 13 == 0 else text.title()) for number in range(len(passages)) if number % 7
    )
    plain(folder / "para.title.txt", rows(titles))
