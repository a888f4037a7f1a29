"""The expected duration of encoding, measured on some texts, e.g. "about 6 minutes"."""

import time
from collections.abc import Sequence

from repro.graph import Node
from repro.progress import Progress
from repro.running.engines.inline import ensure
from repro.running.requirements import Machine
from repro.store import Store

FEW = 500  # texts, which are encoded without notice
SAMPLE = 64  # texts
UNITS = (("hour", 3600), ("minute", 60), ("second", 1))


def announce_duration(
    label: str, rankings: Sequence[Node], store: Store, progress: Progress, *, machine: Machine
) -> None:
    """Print the expected duration of the encodings that the store lacks, from a sample of their passages."""
    encodings = {ranking.input("passages") for ranking in rankings}
    lacking = [node for node in encodings if store.state(node) != "stored"]
    texts = [node.input("texts") for node in lacking]
    ensure(dict.fromkeys(texts), store, progress, machine=machine, quiet=True).raise_first()
    counts = [store.record(node)["facts"]["documents"] for node in texts]
    if sum(counts) < FEW:
        return
    seconds = sum(
        _seconds(node, count, SAMPLE // len(lacking) or 1, store)
        for node, count in zip(lacking, counts, strict=True)
    )
    progress.note(f"{label}: encoding {sum(counts):,} passages takes {about(seconds)}")


def _seconds(node: Node, count: int, sample: int, store: Store) -> float:
    """Return the expected seconds of one encoding. Texts of all parts of the collection are tried."""
    from repro.retrieval.datasets.hub_models import planned_checkpoint
    from repro.retrieval.nn import library_encoder
    from repro.retrieval.nn.precision import threads_for
    from repro.retrieval.stages.encode import Texts
    from repro.retrieval.stages.encode_by_library import joined

    params = dict(node.params)
    texts = Texts.read(store.path(node.input("texts")), {"kind": params["kind"], "separator": ""})
    titled = [pair for n in range(0, count, max(1, count // sample)) for pair in texts.titled(n, n + 1)]
    strings, prompt = joined(titled, params)
    options = {"kind": params["kind"], "prompt": prompt, "precision": params["precision"]}
    with planned_checkpoint(params) as checkpoint:
        model = library_encoder.load(checkpoint, params | {"kind": params["kind_of_encoder"]})
    with threads_for(model):
        library_encoder.encode(model, strings[:8], **options)  # the first call is slower
        start = time.monotonic()
        library_encoder.encode(model, strings, **options)
    return (time.monotonic() - start) / len(strings) * count


def about(seconds: float) -> str:
    """Return a rounded duration, e.g. "about 6 minutes"."""
    unit, length = next((u for u in UNITS if seconds >= 1.5 * u[1]), UNITS[-1])
    number = max(1, round(seconds / length))
    number = round(number, -1) if unit == "second" and number > 10 else number
    return f"about {number} {unit}{'s' * (number != 1)}"
