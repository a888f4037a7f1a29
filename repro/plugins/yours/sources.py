"""Users name runs and encoders of their own, as files, folders, names or descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import UsageError

if TYPE_CHECKING:
    from repro.plugins.yours.encoders import UserEncoder
    from repro.plugins.yours.runs import OwnRun

DESCRIPTIONS = (".yaml", ".yml")  # of a file that describes an encoder
SUFFIXES = (".gz", ".trec", ".run", ".res", ".txt", ".tsv", ".json", ".parquet")  # of a run
Yours = str | Path | Mapping[str, Any]


def is_encoder(source: Yours) -> bool:
    """Return whether something means an encoder: a folder, a description of one, or a model of the hub."""
    if isinstance(source, Mapping):
        return True
    path = Path(source).expanduser()
    is_of_hub = not path.exists() and str(source).count("/") == 1 and path.suffix not in SUFFIXES
    return path.suffix in DESCRIPTIONS or path.is_dir() or is_of_hub


def own_runs(given: Sequence[Yours]) -> list[OwnRun]:
    """Return the run files. Raises UsageError for an encoder, which judgements alone cannot score."""
    from repro.plugins.yours.runs import OwnRun

    if encoder := next(filter(is_encoder, given), None):
        raise UsageError(f"{encoder} is an encoder, which needs texts: name a table, as PAPER --table 1")
    return [OwnRun(source) for source in given if not isinstance(source, Mapping)]


def sources(given: Sequence[Yours], data: Path | None) -> list[OwnRun | UserEncoder]:
    """Return the runs and encoders that are meant. Raises UsageError for no such file or a wrong description,
    BlockedError for no encoder."""
    from repro.plugins.yours.runs import OwnRun

    return [
        _encoder(source, data) if isinstance(source, Mapping) or is_encoder(source) else OwnRun(source)
        for source in given
    ]


def _encoder(source: Yours, data: Path | None) -> UserEncoder:
    from repro.manifest.yaml_file import read
    from repro.plugins.yours.encoders import UserEncoder

    if isinstance(source, Mapping):
        facts = dict(source)
    elif Path(source).suffix in DESCRIPTIONS:
        facts = dict(read(Path(source), dict[str, str | int]))
    else:
        return UserEncoder.find(str(source), data, {})
    if not (name := facts.pop("model", None)):
        raise UsageError(f"{source} names no model; write `model: DIR` and how it reads texts")
    try:
        return UserEncoder.find(str(name), data, facts)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
