"""Finds collections in the home of ir_datasets, where its downloads lie, and checks them by their md5."""

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repro.errors import DataError
from repro.machine.bounded_reading import read_facts
from repro.retrieval.datasets.catalog import Dataset
from repro.retrieval.datasets.lines import container
from repro.retrieval.datasets.source import Source

FILE = Path(__file__).with_name("homes.yaml")


@functools.cache
def layout() -> Mapping[str, Any]:
    """The content of homes.yaml: ``pieces`` by id, and the ``md5`` of downloads by their place."""
    return read_facts(FILE)


def in_home(entry: Dataset, piece: str, home: Path) -> Source | None:
    """The piece as it lies in the home; None where some of it does not. Nothing is read but file names."""
    places = layout()["pieces"].get(entry.id) or (_beir_places(entry) if entry.id.startswith("beir/") else {})
    if piece not in places:
        return None
    files = tuple(home / file for file in places[piece]["files"])
    if not all(container(file).is_file() for file in files):
        return None
    return Source(entry.id, piece, "home", places[piece]["form"], files, version=entry.version)


def check_home(source: Source) -> None:
    """Compare the md5 of every download that a source of kind "home" is read from.

    Raises DataError for a file that is not the one which ir_datasets downloads, or cannot be read.
    """
    for file in dict.fromkeys(map(container, source.files)):
        expected_md5 = next(
            (md5 for place, md5 in layout()["md5"].items() if file.as_posix().endswith(place)), None
        )
        if expected_md5 is not None and _md5(file) != expected_md5:
            problem = f"{file}: is not the file that ir_datasets downloads (its md5 is not {expected_md5})"
            raise DataError(f"{problem}; remove it, and `repro data fetch {source.dataset}`")


def _beir_places(entry: Dataset) -> dict[str, dict[str, Any]]:
    """The places of the pieces in BEIR's archives; the twelve forums share one."""
    name = entry.corpus_id.removeprefix("beir/")
    top, _, forum_name = name.partition("/")
    forum = f"{top}/{forum_name}" if top == "cqadupstack" else top
    prefix = f"beir/{top if top == 'cqadupstack' else name}/source.zip/{forum}"
    documents, queries, qrels = (f"{prefix}/{file}" for file in ("corpus.jsonl", "queries.jsonl", "qrels"))
    split_qrels = f"{qrels}/{entry.split}.tsv"
    return {
        "documents": {"form": "jsonl", "files": [documents]},
        "queries": {"form": "beir", "files": [queries, split_qrels]},
        "qrels": {"form": "beir", "files": [split_qrels]},
    }


def _md5(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "md5").hexdigest()
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
