"""MS MARCO's documents in TREC's form, with topics and judgements, as ir_datasets keeps them."""

from pathlib import Path

from tests.standins.files import packed, rows
from tests.standins.passages import deep_learning, queries
from tests.standins.sizes import Sizes
from tests.standins.text import Text

JUDGED = {"2019": 43, "2020": 45}


def make(home: Path, sizes: Sizes) -> None:
    text, folder = Text(sizes.seed, "documents"), home / "msmarco-document"
    bodies = [f"{text.between(3, 100)}\n{text.between(3, 40)}" for _ in range(sizes.documents)]
    ids = [f"D{1000 + number}" for number in range(sizes.documents)]
    # ir_datasets keeps msmarco-docs.trec.gz by this name
    packed(folder / "collection.tsv.gz", [_document(*pair, text) for pair in zip(ids, bodies, strict=True)])
    for split, count, first in (("train", sizes.queries, 200_000), ("dev", sizes.evaluated, 400_000)):
        asked = queries(text, bodies, count, first)
        packed(folder / split / "queries.tsv.gz", rows(asked))
        packed(
            folder / split / "qrels.gz",
            rows([(query, 0, text.draw.choice(ids), 1) for query, _ in asked], " "),
        )
    names = {"2019": "queries.tsv.gz", "2020": "queries.tsv.gz"}
    deep_learning(folder, text, bodies, ids, names, JUDGED)


def _document(id: str, body: str, text: Text) -> str:
    """Address, title and text on lines of their own; some documents have no title."""
    title = "" if text.draw.random() < 0.02 else text.title()
    inner = f"http://www.{text.draw.choice(('bran', 'toufly', 'credoi'))}.example/{id}\n{title}\n{body}"
    return f"<DOC>\n<DOCNO>{id}</DOCNO>\n<TEXT>\n{inner}\n</TEXT>\n</DOC>\n"
