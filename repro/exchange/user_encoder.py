"""An encoder of a user: a directory, or a name of the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from repro.datasets.hub_models import cached_folder
from repro.errors import BlockedError, UsageError
from repro.graph import Node
from repro.nn.encoder_conventions import Conventions
from repro.recipe.released import released_encoder
from repro.running.requirements import checkpoint
from repro.store import check_where_stored


@dataclass(frozen=True)
class UserEncoder:
    """The files of an encoder, and the name under which it goes.

    Attributes:
        folder: its files, which may say how it reads texts.
        name: on the hub; ``local`` for a directory, which is known by its bytes alone.
        source: where the stage ``released`` reads it.
    """

    folder: Path
    name: str
    source: dict

    @classmethod
    def find(cls, name: str, data: Path | None) -> UserEncoder:
        """A directory, or the encoder of that name in the data folder or the hub's cache.

        Raises:
            UsageError: a directory that is no model.
            StoreError: it is of a store's artefact, which is damaged.
            BlockedError: it is nowhere.
        """
        folder = Path(name).expanduser()
        if (folder / "config.json").exists() or (folder / "modules.json").exists():
            check_where_stored(folder)
            return cls(folder.resolve(), "local", {"kind": "folder", "path": str(folder.resolve())})
        if name and folder.exists():
            problem = "holds neither config.json nor modules.json, so it is no model directory"
            raise UsageError(f"{name}: {problem}")
        try:
            source = None if folder.is_absolute() else checkpoint(name, "main", data)
        except ValueError:  # the hub's, for what cannot be a name there
            source = None
        if source is None:
            remedy = f"name a model directory, or run `repro data fetch model:{name}`"
            raise BlockedError(f"the encoder {name!r} is neither a directory nor on this machine", remedy)
        if source["kind"] == "folder":
            return cls(Path(source["path"]), name, source)
        return cls(cached_folder(name, source["commit"]), name, source)

    def node(self, conventions: Conventions) -> Node:
        """The encoder as an artefact of the store."""
        options = {"kind": conventions.kind, "pooling": conventions.pooling}
        return released_encoder(self.name, revision="main", source=self.source, **options)
