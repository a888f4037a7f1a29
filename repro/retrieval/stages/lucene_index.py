"""Stage ``lucene_index``: index a corpus with Lucene for BM25 (Anserini's analysis, through pyserini)."""

import json
from pathlib import Path

from repro.machine import system
from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.datasets.digests import stamps
from repro.retrieval.stages.lucene import call
from repro.store.disk import BLOCKS

FIELDS = "fields.json"
COMMIT = 1_000_000  # documents, which are lost at most when interrupted


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``lucene/`` and, for who searches it, ``fields.json``: whether titles are a field of their own.

    Scores are the same for every number of threads and of commits; the bytes of the index are not, even for
    one. Every million documents are committed, and an interrupted attempt goes on behind them.

    Raises:
        BlockedError: there is no Java 21.
        StageError: Lucene failed, or left documents out that have contents.
    """
    fields, corpus, blocks = {"multifield": params["multifield"]}, inputs["corpus"], out / BLOCKS
    blocks.mkdir(exist_ok=True)
    arguments = {"corpus": str(corpus / "arrow"), "index": str(out / "lucene"), "commit": COMMIT}
    arguments |= {"note": str(blocks / "commit.json"), "origin": [params, stamps(corpus)]}
    arguments |= {"threads": system.cores(), **fields}
    total = len(read_rows(corpus))
    facts = call("index", arguments, folder=out, task="index", total=total, progress=progress)
    (out / FIELDS).write_text(json.dumps(fields) + "\n")
    return facts
