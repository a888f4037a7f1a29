"""An encoder that a user names: a directory, or a name of the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from repro.errors import BlockedError, UsageError
from repro.graph import Node
from repro.nn.encoder_conventions import Conventions
from repro.recipe.released import released
from repro.running.requirements import checkpoint


@dataclass(frozen=True)
class Weights:
    """Where an encoder lies.

    Attributes:
        folder: its files, to read what they say of it.
        name: on the hub; ``local`` for a directory, which is known by its bytes alone.
        source: what the stage ``released`` reads.
    """

    folder: Path
    name: str
    source: dict

    @classmethod
    def find(cls, given: str, data: Path | None) -> Weights:
        """A directory, or what the data folder or the hub's cache has of that name.

        Raises:
            UsageError: a directory that is no model.
            BlockedError: it is nowhere.
        """
        folder = Path(given).expanduser()
        if (folder / "config.json").exists() or (folder / "modules.json").exists():
            return cls(folder.resolve(), "local", {"kind": "folder", "path": str(folder.resolve())})
        if given and folder.exists():
            missing = "holds neither config.json nor modules.json, so it is no model directory"
            raise UsageError(f"{given}: {missing}")
        try:
            found = None if folder.is_absolute() else checkpoint(given, "main", data)
        except ValueError:  # the hub's, for what cannot be a name there
            found = None
        if found is None:
            remedy = f"name a model directory, or run `repro data fetch model:{given}`"
            raise BlockedError(f"the encoder {given!r} is neither a directory nor on this machine", remedy)
        if found["kind"] == "folder":
            return cls(Path(found["path"]), given, found)
        from huggingface_hub import try_to_load_from_cache

        place = try_to_load_from_cache(given, "config.json", revision="main")
        return cls(Path(place).parent, given, found)

    def node(self, conventions: Conventions) -> Node:
        """The encoder as an artefact of the store."""
        how = {"kind": conventions.kind, "pooling": conventions.pooling}
        return released(self.name, revision="main", source=self.source, **how)
