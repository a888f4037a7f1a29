"""Artefacts of a plan without the work, whose evaluations hold scores that a test makes up."""

import json

from repro.graph import Node
from repro.store import Store


def build(node: Node, store: Store, value: float, spread: float = 0.0) -> None:
    """The artefact of a node, without the work: of an evaluation the scores of two queries around a value."""

    def work(folder):
        if node.stage == "evaluate":
            measures = {name: [value - spread, value + spread] for name in node.params["measures"]}
            scores = {"queries": ["1", "2"], "missing": [], "measures": measures}
            (folder / "scores.json").write_text(json.dumps(scores))

    store.build(node, work)
