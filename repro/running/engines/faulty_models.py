"""Names the models that make a stage fail because a weight of theirs is NaN or infinite."""

from collections.abc import Iterator
from pathlib import Path

from repro.graph import Node
from repro.stage_table import STAGES
from repro.store import Store


def faulty_models(node: Node, store: Store) -> Iterator[str]:
    """Yield a sentence on each of a node's input models that has a weight that is not finite."""
    for model in node.parents():
        if STAGES[model.stage].output == "model" and (weight := _faulty_weight(store.path(model))):
            facts = store.record(model)["facts"]
            made = f"made {facts.get('finished', 'at no known time')}, commit {facts.get('commit', 'none')}"
            remedy = f"remove {store.path(model)} and `repro run` makes it again"
            yield f"its model {model} ({made}) is not finite in {weight!r}; {remedy}"


def _faulty_weight(folder: Path) -> str:
    """Return the name of a weight that is not finite, e.g. "embeddings.word_embeddings.weight"; else ""."""
    from safetensors import safe_open

    for path in sorted(folder.rglob("*.safetensors")):
        with safe_open(path, framework="pt") as weights:
            for name in weights.keys():  # noqa: SIM118 - it is no mapping
                if not weights.get_tensor(name).isfinite().all():
                    return name
    return ""
