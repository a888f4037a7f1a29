"""Reads collections in the forms of their makers, as ir_datasets keeps them, unpacking nothing to disk."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from repro.retrieval.datasets.libraries import quiet_ir_datasets
from repro.retrieval.datasets.lines import lines, malformed, open_unpacked
from repro.retrieval.datasets.records import Document, Judgement, Query


class _File:
    """A file as readers of ir_datasets take one; beside its path, which is none, they look for caches."""

    def __init__(self, path: Path):
        self._path = path

    @contextlib.contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        with open_unpacked(self._path) as file:
            yield file

    def path(self, force: bool = True) -> str:
        return "/dev/null"


def collection(path: Path) -> Iterator[Document]:
    """MS MARCO's passages: number and text by a tab; ir_datasets mends the encoding of the text."""
    quiet_ir_datasets()
    from ir_datasets.datasets.msmarco_passage import FixEncoding

    for number, line in enumerate(FixEncoding(_File(path)), 1):
        id, tab, text = line.decode().removesuffix("\n").partition("\t")
        if not tab:
            raise malformed(path, number, "is not a number and a text parted by a tab")
        yield Document(id, "", text)


def trec_documents(path: Path) -> Iterator[Document]:
    """MS MARCO's documents in TREC's form, with address and title on the first two lines of their text."""
    quiet_ir_datasets()
    from ir_datasets.datasets.msmarco_document import MsMarcoTrecDocs

    for row in MsMarcoTrecDocs(_File(path)).docs_iter():
        yield Document(row.doc_id, row.title, row.body, row.url)


def psgs(path: Path) -> Iterator[Document]:
    """DPR's passages: number, text and title by tabs below a line that says so."""
    rows = lines(path)
    next(rows)
    for number, line in rows:
        fields = line.split("\t")
        if len(fields) != 3:
            raise malformed(path, number, f"has {len(fields)} columns instead of 3 parted by tabs")
        yield Document(fields[0], fields[2], fields[1])


def questions(path: Path) -> Iterator[Query]:
    """Natural Questions with their answers, of DPR's training data; ids count from 0."""
    with _dpr_readers(path) as (queries, _):
        for row in queries.queries_iter():
            yield Query(row.query_id, row.text.strip(), tuple(row.answers))


def contexts(path: Path) -> Iterator[Judgement]:
    """The passages of DPR's training data as judgements, by the grades that ir_datasets gives them."""
    with _dpr_readers(path) as (_, qrels):
        for row in qrels.qrels_iter():
            yield Judgement(row.query_id, row.doc_id, int(row.relevance))


@contextlib.contextmanager
def _dpr_readers(path: Path) -> Iterator[tuple]:
    """ir_datasets' readers of questions and passages, which write both as tables; those go afterwards."""
    quiet_ir_datasets()
    from ir_datasets.datasets.dpr_w100 import QREL_DEFS, DprW100Manager, DprW100Queries
    from ir_datasets.formats import TrecQrels

    with tempfile.TemporaryDirectory() as folder:
        tables = DprW100Manager(_File(path), Path(folder))
        yield DprW100Queries(tables.file_ref("queries.tsv")), TrecQrels(tables.file_ref("qrels"), QREL_DEFS)


DOCUMENTS = {"collection": collection, "trec-documents": trec_documents, "psgs": psgs}
