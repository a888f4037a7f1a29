"""Stage ``lucene_index``: index a corpus with Lucene for BM25."""

import json
from pathlib import Path

from repro.machine import system
from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.stages.lucene import call
from repro.store.disk import BLOCKS

COMMIT = 1_000_000  # documents


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write the index ``lucene/`` and ``fields.json``. With ``multifield`` titles are a separate field.

    Threads and commits may change the index's bytes, but no score.
    """
    fields, corpus, blocks = {"multifield": params["multifield"]}, inputs["corpus"], out / BLOCKS
    blocks.mkdir(exist_ok=True)
    arguments = {"corpus": str(corpus / "arrow"), "index": str(out / "lucene"), "commit": COMMIT}
    arguments |= {"note": str(blocks / "commit.json"), "threads": system.cores(), **fields}
    total = len(read_rows(corpus))
    facts = call("index", arguments, folder=out, task="index", total=total, progress=progress)
    (out / "fields.json").write_text(json.dumps(fields) + "\n")
    return facts
