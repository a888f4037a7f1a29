"""What facts.yaml says of a stage: seconds and bytes for each thing it counts, and space while it writes."""

import functools
from pathlib import Path

from repro.graph import Node
from repro.manifest import yaml_file
from repro.manifest.yaml_file import Strict


class Fact(Strict):
    """The facts of a stage.

    Attributes:
        of: what is counted.
        seconds: of one core, for each.
        bytes: of the artefact, for each; None where a formula tells them.
        copies: of the artefact on the disk while it is written, itself among them.
        checkpoint: bytes that lie beside the artefact while it is made, for each.
        source: where the numbers are from.
    """

    of: str
    seconds: float = 0.0
    bytes: float | None = None
    copies: float = 1.0
    checkpoint: float = 0.0
    source: str


@functools.cache
def facts() -> dict[str, Fact]:
    """The facts by stage; of a variation of a stage under a name of its own."""
    return yaml_file.read(Path(__file__).with_name("facts.yaml"), dict[str, Fact])


def fact(node: Node) -> Fact | None:
    """The facts of a node's stage; None where its work is a model's alone, or too small to count."""
    spans = node.stage == "tokenize" and node.params.get("policy") == "spans"
    return facts().get("tokenize-spans" if spans else node.stage)
