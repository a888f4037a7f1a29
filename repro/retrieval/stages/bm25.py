"""Stage ``bm25``: rank documents for queries with Lucene's BM25 (through pyserini)."""

import json
from pathlib import Path

from repro.machine import system
from repro.progress import Progress
from repro.retrieval.datasets.arrow import read_queries
from repro.retrieval.evaluation.run_writer import write_run
from repro.retrieval.stages import lucene


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write the run of each query's ``depth`` best documents by BM25(``k1``, ``b``), e.g. BM25(0.9, 0.4).

    As in Lucene 9, score(q, d) = sum over terms t of q of idf(t) tf / (tf + k1 (1 - b + b |d| / avgdl)),
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)), with |d| in one byte (exact up to 40 terms). With
    ``multifield`` this is summed over title and contents. Anserini rounds to four decimals and separates ties
    by 1e-6 in the order of ids.
    """
    hits, total = out / "hits.jsonl", len(read_queries(inputs["queries"]))
    arguments = {
        **{name: params[name] for name in ("k1", "b", "depth", "multifield")},
        "index": str(inputs["index"] / "lucene"),
        "queries": str(inputs["queries"] / "queries.jsonl"),
        "output": str(hits),
        "threads": system.cores(),
    }
    facts = lucene.call("search", arguments, folder=out, task="bm25", total=total, progress=progress)
    with open(hits) as lines:
        write_run(out, (tuple(json.loads(line)) for line in lines), "bm25", method=_method(params, facts))
    hits.unlink()
    return {"queries": total, **facts}


def _method(params: dict, facts: dict) -> dict:
    fields = ["title", "contents"] if params["multifield"] else ["contents"]
    bm25 = {"k1": params["k1"], "b": params["b"], "fields": fields, "depth": params["depth"]}
    return {
        "indexing": {"tokenizer": "Lucene standard", "stemmer": "Porter", "stopwords": "Lucene English"},
        "retrieval": [{"name": "bm25", "method": f"Lucene BM25Similarity in {facts['jar']}", "params": bm25}],
    }
