"""Write docs/howto/one-gpu.md again, from a plan of everything and from rehearsals.

``python docs/one_gpu.py`` plans for a machine with one H100 and nothing else: no data, no checkpoint.
``python docs/one_gpu.py ROW.json...`` first takes over what ``repro run --rehearse
--format json`` printed of some rows.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/howto/one-gpu.md"
MEASURED = ROOT / "docs/howto/rehearsals.csv"
GPU, DISK, DISCARD = "h100", 2e12, ["vectors", "runs"]
DEVICES, SEEDS = ("h100", "rtx4090"), (1, 2, 3, 4, 5)
GB, DAY = 1e9, 24

HEAD = """\
# The whole suite on one GPU with 2 TB

This page shows the plan of `repro plan --all --gpu {gpu} --discard {discard}` on a machine without any data.
`python docs/one_gpu.py` writes it. Hours are estimates by the shares of the peak in `benchmarks/records`:
{shares}. A single number is for the lowest share.
Texts are read without padding where a run does so. With `REPRO_PADDING_FREE=0` the estimate is {padded}.
`repro doctor calibrate` measures your GPU instead, and `repro run --rehearse` measures the stages themselves.

## In total

{totals}

The store needs at most {peak:,.0f} GB, and downloads of known size need {downloads:,.0f} GB. A disk of
{disk:,.0f} GB leaves {left:,.0f} GB for data derived from the downloads. With `--discard vectors` alone
the store would need {vectors:,.0f} GB, and without it {whole:,.0f} GB.

## The head-to-head study

```bash
repro run head_to_head --table 1 --scale small --seeds {seeds}
repro run head_to_head --scale medium --seeds {seeds} --discard {discard}
```

The [study](../explained/head-to-head/index.md) with five seeds, by the same estimates. Scale `small`
uses real text and a backbone trained from scratch, and `medium` uses BERT-base and MS MARCO. The hours
include encoding, mining and fine-tuning, and exclude evaluation (seconds per row). A training step
takes at least {layers} ms per layer, to launch its kernels, which limits small models. CPU cores tokenise
in parallel with the GPU. Steps that exceed the memory are halved. At `medium`, Table 2 keeps the multiples
of two layers of 128, so its FLOPs are not equal.

{study}

`repro run --rehearse head_to_head --table 1 --scale FILE` tests it on the first rows. The file's scale is
`like: medium` with [`first`](../explained/scales.md#a-scale-of-your-own).

## Rehearse first

```bash
repro run --rehearse costa --table 1
```

runs every stage of full scale on the first rows, in the real formats and with the real checkpoints, and
extrapolates the cost of each ([scales](../explained/scales.md#the-rehearsal)). Every night the main row of
each paper is rehearsed on generated rows in the collections' formats with small models, on two CPU cores:

{rehearsed}

## Downloads

```bash
repro data fetch --for costa --for cpdae --for cotmae_v2 --for simlm
```

{fetched}

{by_hand}

## Order and duration

```bash
repro run --all --discard {discard} --max-disk 1700GB
```

runs shared stages once, and deletes the vectors of a model after the last table that ranks with it, and
rankings that no table scores. If it is killed, the same command
continues. A table can be compared once its last stage is done:

{order}

Hours of CPU cores (text, rankings and negatives) run in parallel with those of the GPU. One paper or one
table alone (`repro run simlm --table 2 --discard {discard}`) needs:

{alone}
"""


def page() -> str:
    """The page in Markdown."""
    import repro
    from repro.running.cost.estimate import assumed_throughput, estimate
    from repro.running.discarding import discarded_stages

    selection = repro.select(*repro.papers())
    plan = selection.plan()
    plan.machine.leave()
    plan.look(selection.workspace.store)
    cost, stages = estimate(plan, assumed_throughput(GPU)), discarded_stages(DISCARD)
    course = cost.disk(stages)
    peak = max(level.during for level in course) / GB
    downloads = sum(size or 0 for size in cost.downloads.values()) / GB
    return HEAD.format(
        gpu=GPU,
        shares=cost.throughput.shares,
        discard=",".join(DISCARD),
        vectors=cost.fullest(discarded_stages(["vectors"])).during / GB,
        padded=_padded(cost),
        totals=_totals(cost),
        peak=peak,
        disk=DISK / GB,
        downloads=downloads,
        left=DISK / GB - peak - downloads,
        whole=cost.stored / GB,
        seeds=",".join(map(str, SEEDS)),
        layers=f"{1000 * cost.throughput.fastest.layer:.1f} to {1000 * cost.throughput.layer:.1f}",
        study=_study(),
        rehearsed=_rehearsed(),
        fetched=_fetched(cost),
        by_hand=_by_hand(plan),
        order=_order(cost, course),
        alone=_alone(cost, stages),
    )


def _padded(cost) -> str:
    """The hours where batches are padded to their longest text."""
    from repro.running.cost.work import Batching, work

    batching = Batching(packed=False, memory=cost.throughput.memory)
    works = {node.fingerprint: work(node, batching) for node in cost.nodes}
    return f"{replace(cost, works=works).hours_in_words(cost.nodes)} GPU hours"


def _study() -> str:
    """A line for the first table and for all of them at each scale of one GPU."""
    import repro
    from repro.running.cost.estimate import assumed_throughput, estimate
    from repro.running.discarding import discarded_stages

    rows = []
    for scale in ("small", "medium"):
        plan = repro.select("head_to_head", scale=scale, seeds=SEEDS).plan()
        plan.machine.leave()
        for name, part in {"Table 1": plan.of_table("head_to_head", "1"), "all tables": plan}.items():
            part.look(repro.select("head_to_head").workspace.store)
            costs = [estimate(part, assumed_throughput(gpu)) for gpu in DEVICES]
            hours = [cost.hours_in_words(cost.nodes) for cost in costs]
            peak = costs[0].fullest(discarded_stages(DISCARD)).during / GB
            core = costs[0].core_hours(costs[0].nodes)
            rows.append([scale, name, *hours, f"{core:,.1f}", f"{peak:,.0f}"])
    return _table(
        ["scale", "tables", *(f"hours, {gpu}" for gpu in DEVICES), "core hours", "GB at most"], rows
    )


def _totals(cost) -> str:
    downloads = [size or 0 for size in cost.downloads.values()]
    rows = [
        ["cells to measure", f"{len({m.cell.id for m in cost.plan.measurements}):,}"],
        ["stages to run", f"{len(cost.nodes):,}"],
        ["GPU hours", f"{cost.hours_in_words(cost.nodes)}: {cost.hours(cost.nodes) / DAY:,.0f} days at most"],
        ["hours of one core in parallel", f"{cost.core_hours(cost.nodes):,.0f}"],
        ["downloads of known size", f"{sum(downloads) / GB:,.1f} GB"],
    ]
    return _table(["", "in all"], rows)


def _order(cost, course: Sequence) -> str:
    """A line a table, by the hours after which its last stage is done."""
    waiting = {
        place: {node.fingerprint for node in part.nodes} for place, part in cost.plan.split("table").items()
    }
    hours, rows, peak = 0.0, [], 0.0
    for level in course:
        hours += cost.hours_of(level.node) or 0.0
        peak = max(peak, level.during)
        for place, left in waiting.items():
            if level.node.fingerprint in left:
                left.discard(level.node.fingerprint)
                if not left:
                    rows.append([_title(place), f"{hours:,.0f}", f"{hours / DAY:,.1f}", f"{peak / GB:,.0f}"])
                    peak = level.after
    return _table(["table", "done after GPU hours at most", "days", "GB at most since the one above"], rows)


def _alone(cost, stages: frozenset[str]) -> str:
    from repro.running.cost.estimate import estimate

    rows = []
    for place, part in cost.plan.split("table").items():
        alone = estimate(part, cost.throughput)
        peak, hours = alone.fullest(stages).during / GB, alone.hours(alone.nodes)
        core = alone.core_hours(alone.nodes)
        rows.append([_title(place), f"{len(alone.nodes):,}", f"{hours:,.1f}", f"{core:,.1f}", f"{peak:,.0f}"])
    return _table(["table", "stages", "GPU hours at most", "core hours", "GB at most"], rows)


def _fetched(cost) -> str:
    from repro.retrieval.datasets.catalog import catalog
    from repro.retrieval.datasets.fetching import archives
    from repro.running.requirements import PIECES

    missing = [node for node in cost.nodes if node.fingerprint in cost.plan.machine.obstacles]
    names = {node.params["dataset"]: None for node in missing if node.stage in PIECES}
    sizes: dict[int | str, str] = {}
    for name in names:
        for key in archives([name]) if name in catalog() else ():
            sizes.setdefault(key, name)
    rows = [
        [name, f"{key / GB:,.2f}" if isinstance(key, int) else "not known"] for key, name in sizes.items()
    ]
    checkpoints = ", ".join(f"`{name}`" for name in cost.checkpoints)
    return f"{_table(['collection', 'GB'], rows)}\n\nand {len(cost.checkpoints)} checkpoints: {checkpoints}."


def _by_hand(plan) -> str:
    """A line for each thing that no command fetches."""
    alone = [o for o in plan.machine.obstacles.values() if not o.fetch]
    folder = os.environ["REPRO_DATA"]
    remedies = {o.short: o.remedy.replace(folder, "$REPRO_DATA") for o in alone}
    lines = [f"- {name}: {remedy}" for name, remedy in sorted(remedies.items())]
    return "\n".join(["No command fetches these:", "", *lines]) if lines else "Commands fetch everything."


def take_over(files: Sequence[Path]) -> None:
    """Write the table of rehearsals: a line for each row and stage, from files named by the rows."""
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "stage", "nodes", "seconds", "peak bytes", "disk bytes"])
        for path in files:
            nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
            for stage in dict.fromkeys(node["stage"] for node in nodes):
                of_stage = [node for node in nodes if node["stage"] == stage]
                seconds, peak = sum(n["seconds"] for n in of_stage), max(n["peak_bytes"] for n in of_stage)
                disk = sum(node["disk_bytes"] for node in of_stage)
                writer.writerow([path.stem, stage, len(of_stage), f"{seconds:.1f}", int(peak), int(disk)])


def _rehearsed() -> str:
    """A line a row, then a line a stage."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    of_rows = [_summed(name, "row", lines) for name in dict.fromkeys(line["row"] for line in lines)]
    of_stages = [_summed(name, "stage", lines) for name in dict.fromkeys(line["stage"] for line in lines)]
    head = ["nodes", "seconds", "GB of memory at most", "MB of disk"]
    return f"{_table(['row', *head], of_rows)}\n\n{_table(['stage', *head], of_stages)}"


def _summed(name: str, by: str, lines: Sequence[dict]) -> list[str]:
    some = [line for line in lines if line[by] == name]
    nodes, seconds = sum(int(line["nodes"]) for line in some), sum(float(line["seconds"]) for line in some)
    peak, disk = max(int(x["peak bytes"]) for x in some), sum(int(x["disk bytes"]) for x in some)
    return [name, f"{nodes:,}", f"{seconds:,.0f}", f"{peak / GB:,.1f}", f"{disk / 1e6:,.0f}"]


def _title(place: str) -> str:
    paper, _, table = place.partition("/")
    figure = table.startswith("figure-")
    return f"{paper}, Figure {table.removeprefix('figure-')}" if figure else f"{paper}, Table {table}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, marks, *rows))


def on_an_empty_machine() -> tempfile.TemporaryDirectory:
    """A folder in which data, models and artefacts are looked for; the page is the same on every machine."""
    empty = tempfile.TemporaryDirectory()
    for name in ("REPRO_DATA", "REPRO_STORE", "REPRO_RESULTS", "HF_HOME", "IR_DATASETS_HOME"):
        os.environ[name] = os.path.join(empty.name, name.lower())
        os.mkdir(os.environ[name])
    os.environ["HF_HUB_OFFLINE"] = "1"
    return empty


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_over([Path(name) for name in sys.argv[1:]])
    with on_an_empty_machine():
        sys.path.insert(0, str(ROOT))
        PAGE.write_text(page(), encoding="utf-8")
