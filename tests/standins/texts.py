"""What a user lays into the data folder: Wikipedia, BookCorpus and a model of Punkt."""

from pathlib import Path

from tests.standins.files import json_line, plain, rows
from tests.standins.sizes import Sizes
from tests.standins.text import Text

PUNKT = "nltk_data/tokenizers/punkt_tab/english"


def make(data: Path, sizes: Sizes) -> None:
    """text/wikipedia.jsonl, text/bookcorpus.jsonl, and files that nltk reads as a model of sentences."""
    text = Text(sizes.seed, "texts")
    articles = (
        {
            "_id": str(number),
            "title": text.title(),
            "text": "\n\n".join(text.between(1, 25) for _ in range(text.draw.randint(1, 4))),
            "url": f"https://en.wikipedia.org/wiki/{number}",
        }
        for number in range(sizes.articles)
    )
    plain(data / "text/wikipedia.jsonl", map(json_line, articles))
    books = (
        {"_id": str(number), "title": "", "text": text.between(50, 600)} for number in range(sizes.books)
    )
    plain(data / "text/bookcorpus.jsonl", map(json_line, books))
    plain(data / PUNKT / "abbrev_types.txt", rows([["dr"], ["mr"], ["vs"]]))
    plain(data / PUNKT / "sent_starters.txt", rows([["the"], ["what"]]))
    plain(data / PUNKT / "collocations.tab", rows([["##number##", "the"]]))
    plain(data / PUNKT / "ortho_context.tab", rows([["the", 46], ["of", 32]]))
