"""Stage ``lucene_index``: index a corpus with Lucene for BM25 (Anserini's analysis, through pyserini)."""

import json
import shutil
from pathlib import Path

from repro.datasets.arrow import read_rows
from repro.machine import system
from repro.progress import Progress
from repro.stages.lucene.process import call

FIELDS = "fields.json"


def run(params: dict, inputs: dict[str, Path | list[Path]], out: Path, progress: Progress) -> dict:
    """Write ``lucene/`` and, for who searches it, ``fields.json``: whether titles are a field of their own.

    Scores are the same for every number of threads; the bytes of the index are not, even for one.

    Raises:
        BlockedError: there is no Java 21.
        StageError: Lucene failed, or left documents out that have contents.
    """
    index = out / "lucene"
    if index.exists():
        shutil.rmtree(index)  # of an interrupted attempt: Lucene would call it locked, or add to it
    fields, corpus = {"multifield": params["multifield"]}, Path(inputs["corpus"])
    arguments = {"corpus": str(corpus / "arrow"), "index": str(index), "threads": system.cores(), **fields}
    total = len(read_rows(corpus))
    facts = call("index", arguments, folder=out, task="index", total=total, progress=progress)
    (out / FIELDS).write_text(json.dumps(fields) + "\n")
    return facts
