"""Whether learning is visible: random initialisation, fine-tuning alone, and pre-training before it.

Runs at scale tiny-long on BM25 negatives and writes RESULTS/learning/tiny-long.json. About a minute a row and
seed on two cores; seeds are of fine-tuning, pre-training keeps its own. Artefacts are kept in the store,
so that it continues when interrupted.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path

from papers.baselines.encoders import BASELINES
from papers.baselines.ms_marco import FineTuning
from papers.costa.recipes import LENGTHS, SPANS, costa
from papers.cpdae.recipes import cpdae
from repro.graph import Node, rewrite, walk
from repro.locations import Locations
from repro.manifest.papers import papers
from repro.progress import TerminalProgress
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.recipe.request import Choices, Request
from repro.running.engines.inline import run_node
from repro.running.measurement import evaluation
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store, make_writable
from repro.store.seal import read_json

DEV, MEASURES = "msmarco-passage/dev/small", ("RR@10", "R@1000")
SCALE = "tiny-long"


def tuned(encoder: Callable[[Request], Node]) -> Callable[[Request], Node]:
    """A row: the encoder fine-tuned on BM25 negatives, as in COSTA's first group."""

    def row(request: Request) -> Node:
        tuning = FineTuning(request, LENGTHS, warm_up_epochs=3)
        return tuning.run(tuning.warm_up(encoder(request)))

    return row


def untuned(request: Request) -> Node:
    """BERT's own vectors."""
    return FineTuning(request, LENGTHS, warm_up_epochs=3).run(BASELINES["bert"](request))


ROWS = {
    "BERT as it is": ("costa", untuned),
    "BERT": ("costa", tuned(BASELINES["bert"])),
    "SEED": ("costa", tuned(BASELINES["seed"])),
    "COSTA": (
        "costa",
        tuned(lambda r: costa(r, spans=SPANS, temperature=0.1, projector="nonlinear", epochs=6)),
    ),
    "CPDAE": ("cpdae", tuned(cpdae)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rows", default=",".join(ROWS))
    chosen = parser.parse_args()
    seeds = [int(seed) for seed in chosen.seeds.split(",")]
    where = Locations.resolve()
    store = Store(where.store)
    make_writable(store.root)
    found = {"random initialisation": measured(untuned, "costa", seeds[:1], store, trained=False)}
    for name in chosen.rows.split(","):
        if name not in ROWS:
            parser.error(f"there is no row {name!r}; known: {', '.join(ROWS)}")
        paper, row = ROWS[name]
        found[name] = measured(row, paper, seeds[:1] if row is untuned else seeds, store)
    for name, scores in found.items():
        print(f"{name:24}", *(f"{m} {shown(scores[m])}" for m in MEASURES), sep="  ")
    path = Path(where.results) / "learning" / f"{SCALE}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"scale": SCALE, "dataset": DEV, "seeds": seeds, "rows": found}, indent=1) + "\n"
    )
    print(path)


def shown(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.3f}         "
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def blank(node: Node) -> Node:
    """The scale's model before its own training, in place of the trained one."""
    return node.inputs["model"] if node.stage == "pretrain" else node


def measured(row, paper: str, seeds: list[int], store: Store, *, trained=True) -> dict[str, list[float]]:
    """Means by measure, one for each seed; what is not stored is run."""
    found: dict[str, list[float]] = {m: [] for m in MEASURES}
    for seed in seeds:
        request = Request(DEV, Choices(papers()[paper].readings), seed)
        run = row(request)
        node = evaluation(run, dataset(DEV), MEASURES[0], {})
        node = scale(SCALE).rewriter()(node)
        node = Machine(None, None).resolve(node if trained else rewrite(node, blank, {}))
        for step in walk([node]):
            if store.state(step) != "stored":
                run_node(step, store, TerminalProgress())
        scores = read_json(store.path(node) / "scores.json")["measures"]
        for measure in MEASURES:
            found[measure].append(sum(scores[measure]) / len(scores[measure]))
    return found


if __name__ == "__main__":
    main()
