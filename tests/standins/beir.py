"""BEIR's archives: each set's splits and the metadata that its documents and queries carry."""

from collections.abc import Iterable
from pathlib import Path

from tests.standins.files import archive, json_line, rows
from tests.standins.sizes import Sizes
from tests.standins.text import Text

SPLITS = {
    "trec-covid": ("test",),
    "nq": ("test",),
    "arguana": ("test",),
    "webis-touche2020": ("test",),
    "scidocs": ("test",),
    "climate-fever": ("test",),
    "nfcorpus": ("train", "dev", "test"),
    "hotpotqa": ("train", "dev", "test"),
    "fiqa": ("train", "dev", "test"),
    "quora": ("dev", "test"),
    "dbpedia-entity": ("dev", "test"),
    "fever": ("train", "dev", "test"),
    "scifact": ("train", "test"),
}
FOLDERS = {"webis-touche2020": "webis-touche2020/v2"}  # ir_datasets has two versions of this archive
FORUMS = """
android english gaming gis mathematica physics programmers stats tex unix webmasters wordpress
""".split()  # noqa: SIM905
CITED = {"authors": ["1"], "year": 2000, "cited_by": [], "references": []}
# what a document and a query carry, where that is anything
METADATA = {
    "trec-covid": ({"url": "u", "pubmed_id": "1"}, {"query": "q", "narrative": "n"}),
    "webis-touche2020": ({"stance": "PRO", "url": "u"}, {"description": "d", "narrative": "n"}),
    "scidocs": (CITED, CITED),
    "nfcorpus": ({"url": "u"}, {"url": "u"}),
    "hotpotqa": ({"url": "u"}, {}),
    "dbpedia-entity": ({"url": "u"}, {}),
    "cqadupstack": ({"tags": ["t"]}, {"tags": ["t"]}),
}
UNTITLED = ("fiqa", "quora")
QUERIES = 8


def make(home: Path, sizes: Sizes) -> None:
    """Thirteen archives of a set each, and one of twelve forums, below ``home``."""
    text = Text(sizes.seed, "beir")
    for name, splits in SPLITS.items():
        path = home / "beir" / FOLDERS.get(name, name) / "source.zip"
        archive(path, dict(_members(name, name, splits, sizes.beir, text)))
    forums = (
        _members(f"cqadupstack/{forum}", "cqadupstack", ("test",), sizes.beir, text) for forum in FORUMS
    )
    archive(home / "beir/cqadupstack/source.zip", dict(file for files in forums for file in files))


def _members(
    folder: str, name: str, splits: Iterable[str], size: int, text: Text
) -> Iterable[tuple[str, list[str]]]:
    of_documents, of_queries = METADATA.get(name, ({}, {}))
    documents = [{"_id": f"d{n}", **_texts(n, name, text), "metadata": of_documents} for n in range(size)]
    yield f"{folder}/corpus.jsonl", [json_line(row) for row in documents]
    # a query of ArguAna is a document, by its id
    ids = [f"d{n}" if name == "arguana" else f"{split}-{n}" for split in splits for n in range(QUERIES)]
    asked = [{"_id": id, "text": text.query(), "metadata": of_queries} for id in ids]
    yield f"{folder}/queries.jsonl", [json_line(row) for row in asked]
    for split in splits:
        chosen = [id for id in ids if name == "arguana" or id.startswith(f"{split}-")]
        judged = [
            (id, f"d{n}", text.draw.choice((1, 1, 2)))
            for id in chosen
            for n in text.draw.sample(range(size), 3)
        ]
        yield f"{folder}/qrels/{split}.tsv", ["query-id\tcorpus-id\tscore\n", *rows(judged)]


def _texts(number: int, name: str, text: Text) -> dict[str, str]:
    """Title and text of a document; each is empty now and then, as in the real sets."""
    title = "" if number % 9 == 0 or name in UNTITLED else text.title()
    return {"title": title, "text": "" if number % 101 == 100 else text.between(1, 30)}
