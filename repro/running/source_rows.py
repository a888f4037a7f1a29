"""Rebuild stored rows from their source, to verify them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from repro.graph import Node
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.arrow import read_rows
from repro.retrieval.datasets.catalog import catalog, dataset, key_of, published
from repro.retrieval.datasets.digests import ContentDigest, RowDigest, files, identity, planned_source
from repro.retrieval.datasets.sources import Source, locate
from repro.retrieval.evaluation.text_lines import numbered_lines
from repro.retrieval.stages.corpus import as_written
from repro.running.requirements import PIECES

FORMS = ("text", "untitled")  # these change a corpus
READ = ("corpus", "queries", "qrels")


def is_whole(node: Node) -> bool:
    """Return whether a node reads all rows of a source."""
    is_known = node.params.get("dataset") in catalog()
    return node.stage in READ and is_known and "first" not in node.params and not node.inputs


def source_at_hand(node: Node, data: Path | None, home: Path | None) -> Source | None:
    """Return a node's source if it is here with the planned bytes, otherwise None."""
    source = locate(node.params["dataset"], PIECES[node.stage], data, home=home)
    if isinstance(source, Source) and identity(source) == node.params.get("identity"):
        return source
    return None


def fault(node: Node, folder: Path, facts: Mapping[str, Any], source: Source | None) -> str:
    """Return how stored rows differ from their source or recorded digests, or "". Raises DataError."""
    try:
        stored, content = _digests(_stored_rows(node, folder))
    except Exception as error:
        return f"its rows cannot be read ({type(error).__name__})"
    if stored != facts.get("digest"):
        return "its rows do not match the digest in its record"
    if source is not None:
        with planned_source({**node.params, "source": source.to_json()}):
            made, content = _made(node, source)
        if made != stored:
            place = ", ".join(map(str, files(source))) or "the embedded collection"
            return f"its rows differ from those of {place}"
    is_as_read = source is not None or node.params.keys().isdisjoint(FORMS)
    if is_as_read and facts.get("rows", content) != content:
        return "its record has another digest of the contents of its rows"
    return ""


def is_published(node: Node, facts: Mapping[str, Any]) -> bool:
    """Return whether the recorded content has a digest that the data's makers published."""
    entry, piece = dataset(node.params["dataset"]), PIECES[node.stage]
    known = published().get(key_of(entry, piece), {})
    as_read = node.params.keys().isdisjoint(FORMS)
    return as_read and facts.get("rows") in known.get("digests", ())


def _digests(rows: Iterable[Any]) -> tuple[str, str]:
    digest, content = RowDigest(), ContentDigest()
    for row in rows:
        digest.add(row)
        content.add(row)
    return digest.hexdigest(), content.hexdigest()


def _stored_rows(node: Node, folder: Path) -> Iterator[Any]:
    if node.stage == "corpus":
        for batch in read_rows(folder).with_format("arrow").iter(batch_size=1000):
            yield from batch.to_pylist()
    elif node.stage == "queries":
        yield from (json.loads(line) for _, line in numbered_lines(folder / "queries.jsonl"))
    else:
        for _, line in numbered_lines(folder / "qrels.trec"):
            query, _, document, grade = line.split()
            yield query, document, int(grade)


def _made(node: Node, source: Source) -> tuple[str, str]:
    if node.stage != "corpus":
        return _digests(reading.rows(source))
    digest, content = RowDigest(), ContentDigest()
    for row in as_written(reading.documents(source), dict(node.params), content):
        digest.add(row)
    return digest.hexdigest(), content.hexdigest()
