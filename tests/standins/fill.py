"""Fills a data folder by `repro data fetch` and `repro data make`, without a network."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from repro.cli import cli
from repro.cli.verbs.data import command
from repro.retrieval.datasets import catalog


def fetch(home: Path, data: Path, names: Sequence[str]) -> None:
    with _at(home, data), _without_counts():
        command.main(["fetch", *names, "--yes"], standalone_mode=False, **cli.context_settings)


def fill(home: Path, data: Path) -> None:
    """Fetch every collection that ir_datasets or an address gives, and make RocketQA's titled passages."""
    with _at(home, data), _without_counts():
        command.main(["fetch", *fetchable(), "--yes"], standalone_mode=False, **cli.context_settings)
        published = [str(data.parent / "rocketqa" / name) for name in ("para.txt", "para.title.txt")]
        command.main(
            ["make", "msmarco-passage/rocketqa", *published], standalone_mode=False, **cli.context_settings
        )


def fetchable() -> list[str]:
    """The ids that ir_datasets or an address gives. A split of BEIR comes with its corpus."""
    every = catalog.catalog().values()
    given = [one for one in every if one.source in ("ir_datasets", "web") and not one.members]
    given = [one for one in given if not one.id.startswith("nano-beir/")]
    return [one.id for one in given if one.id == one.corpus_id or one.topics or one.only_negatives]


@contextmanager
def _at(home: Path, data: Path) -> Iterator[None]:
    names = {"IR_DATASETS_HOME": str(home), "REPRO_DATA": str(data)}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


@contextmanager
def _without_counts() -> Iterator[None]:
    stated = catalog.catalog
    entries = {id: replace(entry, counts={}) for id, entry in stated().items()}
    catalog.catalog = lambda: entries
    try:
        yield
    finally:
        catalog.catalog = stated
