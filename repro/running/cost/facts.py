"""Reads facts.yaml: seconds and bytes of a stage for each thing it counts, and space while it writes."""

import functools
from pathlib import Path

from repro.graph import Node
from repro.manifest import yaml_file
from repro.manifest.yaml_file import StrictMapping


class Fact(StrictMapping):
    """The facts of a stage.

    Attributes:
        of: what is counted.
        seconds: of one core, for each.
        bytes: of the artefact, for each; None where a formula tells them.
        copies: of the artefact on the disk while it is written, itself among them.
        further: bytes that lie beside the artefact while it is written, or as many as it has if that is less.
        beside: bytes that lie beside the artefact while it is made, for each.
        source: where the numbers are from.
    """

    of: str
    seconds: float = 0.0
    bytes: float | None = None
    copies: float = 1.0
    further: float = 0.0
    beside: float = 0.0
    source: str


@functools.cache
def facts() -> dict[str, Fact]:
    """The facts by stage; of a variation of a stage under a name of its own."""
    return yaml_file.read(Path(__file__).with_name("facts.yaml"), dict[str, Fact])


def facts_of(node: Node) -> dict[str, Fact]:
    """The facts of a node's stage by name; none where its work is a model's alone, or too small to count."""
    spans = node.stage == "tokenize" and node.params.get("policy") == "spans"
    names = {"tokenize": ["tokenize-spans" if spans else "tokenize"], "bm25": ["bm25", "bm25-hits"]}
    return {name: facts()[name] for name in names.get(node.stage, [node.stage]) if name in facts()}
