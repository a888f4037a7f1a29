"""Wikipedia in passages of 100 words and Natural Questions over them, as DPR gives them out."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.standins.files import packed, plain, rows
from tests.standins.sizes import Sizes
from tests.standins.text import Text


def make(home: Path, data: Path, sizes: Sizes) -> None:
    """psgs_w100.tsv.gz and biencoder-nq-*.json.gz under ir_datasets' names; nq-test.csv as a user lays it."""
    text, folder = Text(sizes.seed, "wiki"), home / "dpr-w100"
    passages = [text.passage(9) for _ in range(sizes.wiki)]
    titles = [text.title() for _ in passages]
    quoted = (f'"{passage.replace(chr(34), chr(34) * 2)}"' for passage in passages)
    lines = rows((number, *row) for number, row in enumerate(zip(quoted, titles, strict=True), 1))
    packed(folder / "docs.tsv.gz", ["id\ttext\ttitle\n", *lines])
    for split, count in (("train", sizes.questions), ("dev", 5)):
        records = [_record(text, passages, titles) for _ in range(count)]
        packed(folder / f"nq-{split}.json.gz", [json.dumps(records, indent=4)])
    asked = [_question(text, passages) for _ in range(sizes.evaluated)]
    lines = [f"{question}\t{answers!r}\n" for _, question, answers in asked]
    plain(data / "topics/topics.dpr.nq.test.txt", lines)


def _question(text: Text, passages: Sequence[str]) -> tuple[int, str, list[str]]:
    """The row of a passage, a question about it and two spellings of an answer in it."""
    row = text.draw.randrange(len(passages))
    inside = [word for word in passages[row].split() if word.isalpha()]
    answer = " ".join(inside[10:12])
    return row, text.query(passages[row]), [answer, answer.upper()]


def _record(text: Text, passages: Sequence[str], titles: Sequence[str]) -> dict:
    row, question, answers = _question(text, passages)

    def contexts(chosen: Sequence[int], score: float) -> list[dict]:
        return [
            {
                "title": titles[n],
                "text": passages[n],
                "score": score,
                "title_score": 0,
                "passage_id": str(n + 1),
            }
            for n in chosen
        ]

    some = text.draw.sample(range(len(passages)), 84)
    return {
        "dataset": "nq_train_psgs_w100",
        "question": question,
        "answers": answers,
        "positive_ctxs": contexts([row], 1000) + contexts(some[:4], 12.5),
        "negative_ctxs": contexts(some[4:54], 1.1),
        "hard_negative_ctxs": contexts(some[54:], 9.1),
    }
