"""What a plan costs, for people."""

from __future__ import annotations

from repro.graph import Node
from repro.running.cost.estimate import Estimate
from repro.stage_table import STAGES

GB = 1e9


def show_cost(cost: Estimate) -> None:
    """Downloads, disk and hours of what is missing, then a line a paper beside what it says itself."""
    if not cost.nodes:
        return
    print(_downloads(cost))
    print(f"disk: about {cost.stored / GB:,.1f} GB of artefacts to come")
    print(_work(cost))
    if cost.uncounted:
        stages = ", ".join(dict.fromkeys(node.stage for node in cost.uncounted))
        print(f"not estimated, for want of a count of their texts: {len(cost.uncounted)} of {stages}")
    if any(STAGES[node.stage].heavy for node in cost.nodes):
        _papers(cost)


def _downloads(cost: Estimate) -> str:
    known = [size for size in cost.downloads.values() if size]
    unknown = len(cost.downloads) - len(known)
    parts = [f"{sum(known) / GB:,.1f} GB in {len(known)} archives"] if known else []
    parts += [f"{unknown} collections of unknown size"] if unknown else []
    parts += [f"{len(cost.checkpoints)} checkpoints"] if cost.checkpoints else []
    return f"to download: {', '.join(parts) or 'nothing'}"


def _work(cost: Estimate) -> str:
    work, rates = f"work: about {cost.operations:.2g} FLOP", cost.throughput
    if rates is None:
        return f"{work}; for hours, `repro calibrate` measures this machine, or name a GPU with --gpu"
    return f"{work}, {cost.hours(cost.nodes):,.1f} {rates.unit} hours ({rates.basis})"


def _papers(cost: Estimate) -> None:
    from repro.cli.printing import table
    from repro.manifest.papers import paper
    from repro.running.cost.stated import stated

    rows = []
    for name, nodes in cost.by_paper.items():
        trained = [node for node in nodes if node.stage == "pretrain"]
        rows.append(
            [
                name,
                _amount(cost, trained),
                _amount(cost, _longest(cost, trained)),
                _amount(cost, [n for n in nodes if n.stage == "finetune"]),
                _amount(cost, nodes),
                "\n".join(map(str, stated(paper(name)))),
            ]
        )
    unit = f"{cost.throughput.unit} hours" if cost.throughput else "FLOP"
    head = ["paper", "pre-training", "longest of it", "fine-tuning", "all", "the paper on its own cost"]
    table(f"Estimated {unit} of what is to run; what papers share is in each", head, rows, right=(1, 2, 3, 4))


def _longest(cost: Estimate, nodes: list[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: cost.works[node.fingerprint].training or 0)[-1:]


def _amount(cost: Estimate, nodes: list[Node]) -> str:
    if cost.throughput:
        return f"{cost.hours(nodes):,.1f}"
    return f"{sum(cost.works[node.fingerprint].operations for node in nodes):.1e}"
