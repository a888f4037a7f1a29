"""``repro doctor same-code``: show that edited code computes the recorded outputs to the last bit.

It is a tool for maintainers, and writes results/code.yaml. No import here loads numpy.

results/outputs.json records the content at scale smoke of every stage and objective, with each set of
parameters in the recipes of the suite's papers. For example, ``PAPER/1/ROW pretrain`` is the model after
two steps of that row's pre-training.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from repro.api import select
from repro.cli.printing import say
from repro.errors import BlockedError, StageError, UsageError
from repro.graph import Node, canonical, walk
from repro.locations import BUNDLED, PAPERS, committed_results
from repro.machine import kernels
from repro.machine.code_digest import code
from repro.manifest.papers import papers
from repro.progress import Progress, TerminalProgress
from repro.running import provenance
from repro.running.engines import ENGINES
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.running.provenance import entries
from repro.running.records import stored_records
from repro.running.runner import Options
from repro.stage_table import TRAININGS
from repro.store import Store
from repro.store.disk import write_whole
from repro.store.results import Results

SHOWN = 10  # outputs that are named
OUTPUTS = "outputs.json"
KEPT = 5  # digests of one line, the first and the newest, so that the file does not grow with every edit
# what does not change the code that runs, so that one node stands for all that differ in these alone
LEFT_OUT = ("seed", "dataset", "identity", "source")


@dataclass(frozen=True)
class Output:
    """The content of one artefact at scale smoke.

    Attributes:
        stage: the stage and the objective or view, e.g. "pretrain papers.PAPER.module:Objective".
        planned: the node's fingerprint, which changes with its parameters and inputs.
        code: digest of the code that computed it.
        content: digest of its rows, numbers and texts. "" for Lucene's index, which differs each time.
    """

    stage: str
    planned: str
    code: str
    content: str


@dataclass(frozen=True)
class Comparison:
    """The outputs of the present code compared with the recorded ones.

    Attributes:
        now: by name, e.g. "PAPER/1/ROW pretrain".
        differing: a sentence per output with other content, and per cell with another number.
        planned_otherwise: a sentence per recorded output that is gone or has other parameters or inputs.
        cells: number of cells at scale tiny that were measured from scratch and equal their records.
    """

    recorded: Mapping[str, Output]
    now: Mapping[str, Output]
    differing: list[str]
    planned_otherwise: list[str]
    cells: int = 0


class SameCode:
    """The files and plans of ``repro doctor same-code``.

    Raises UsageError outside a checkout, because only a checkout has the recorded outputs.
    """

    def __init__(self, store: Store, progress: Progress):
        folder = committed_results()
        if folder is None or BUNDLED.is_dir():
            raise UsageError(
                "the recorded outputs are in a checkout of the suite, and this is an installed package"
            )
        self.folder, self.store, self.progress = folder, store, progress

    @cached_property
    def recorded(self) -> dict[str, Output]:
        """The recorded outputs by name."""
        path = self.folder / OUTPUTS
        content = json.loads(path.read_bytes()) if path.is_file() else {}
        return {name: Output(**fields) for name, fields in content.items()}

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """The nodes with recorded outputs by name, one per stage, objective and set of parameters."""
        plan, seen = _plan("smoke"), set()
        named: dict[str, Node] = {}
        ends = [(m.cell.id.rpartition("/")[0], m.parts) for m in plan.measurements]
        ends += [(item.id, (node,)) for item, node in plan.exhibits.items()]
        for place, parts in ends:
            for node in walk(parts):
                params = {name: value for name, value in node.params.items() if name not in LEFT_OUT}
                if (key := (entries(node), canonical(params))) not in seen:
                    seen.add(key)
                    named[_free_name(f"{place} {node.stage}", named)] = node
        return named

    def newest(self) -> list[str]:
        """Return the outputs of the newest line and their dependencies.

        Of several lines with one date, the one with the most dependencies counts.
        """
        lines = provenance.equal_code()
        behind: dict[str, set[str]] = {stage: set() for stage in lines}
        names = {node.fingerprint: name for name, node in self.nodes.items()}
        for name, output in self.recorded.items():
            if name in self.nodes and output.stage in lines:
                behind[output.stage] |= {node.fingerprint for node in walk([self.nodes[name]])}
        newest = max(lines, key=lambda stage: (str(lines[stage]["date"]), len(behind[stage])), default="")
        return sorted(names[f] for f in behind.get(newest, ()) if f in names)

    def compare(self, names: Iterable[str] | None = None) -> Comparison:
        """Compute the named outputs, or all of them and a few cells from scratch."""
        nodes = self.nodes if names is None else {n: self.nodes[n] for n in names if n in self.nodes}
        recorded = self.recorded if names is None else {n: self.recorded[n] for n in names}
        self._run(_plan("smoke"), nodes.values())
        now = {name: self._output(node) for name, node in nodes.items()}
        both = [(name, recorded[name], now[name]) for name in recorded if name in now]
        otherwise = [f"{name} is no longer planned" for name in recorded.keys() - now.keys()]
        otherwise += [
            f"{name} is planned with other parameters or inputs"
            for name, before, here in both
            if before.planned != here.planned
        ]
        differing = [
            f"{name} differs"
            for name, before, here in both
            if before.planned == here.planned and before.content != here.content
        ]
        cells = _cheap_cells() if names is None else None
        other_cells = list(self._other_cells(cells)) if cells else []
        count = len(cells.measurements) if cells else 0
        return Comparison(recorded, now, sorted(differing) + other_cells, sorted(otherwise), count)

    def write(self, comparison: Comparison) -> list[str]:
        """Write the lines of equal code and the outputs. Returns the stages with a new line."""
        today, new_lines = datetime.now(UTC).date().isoformat(), {}
        of_digest = {digest: line for line in provenance.equal_code().values() for digest in line["same"]}
        for stage, outputs in _by_stage(comparison).items():
            before, here = outputs[0]
            line = of_digest.get(here.code) or of_digest.get(before.code if before else "")
            same = line["same"] if line else []
            if here.code not in same:
                same = [*same[:1], *same[1:][2 - KEPT :], here.code] if same else [here.code]
                count = sum(before is not None for before, _ in outputs)
                evidence = f"{count} outputs at smoke, {comparison.cells} cells at tiny"
                line = {"recorded": same[0], "same": same, "date": today, "evidence": evidence}
                new_lines[stage] = line
        kept = {s: of_digest[o[0][1].code] for s, o in _by_stage(comparison).items() if s not in new_lines}
        self._write(provenance.EQUAL_CODE, _yaml(kept | new_lines))
        contents = (f"{json.dumps(n)}: {json.dumps(asdict(o))}" for n, o in sorted(comparison.now.items()))
        self._write(OUTPUTS, "{\n" + ",\n".join(contents) + "\n}\n")
        return list(new_lines)

    def _write(self, name: str, text: str) -> None:
        write_whole(self.folder / name, text)

    def _run(self, plan: Plan, nodes: Iterable[Node]) -> None:
        """Compute nodes in the store, several at a time. Raises StageError if one fails or is blocked."""
        plan = replace(
            plan, measurements=[replace(plan.measurements[0], groups=(tuple(nodes),))], exhibits={}
        )
        plan.scale.pin_kernels(self.progress)
        outcome = ENGINES["auto"](plan, self.store, self.progress, Options())
        for fingerprint, error in outcome.failed.items():
            raise StageError(f"{fingerprint[:12]} cannot be computed: {error}")
        for obstacle, *_ in outcome.blocked.values():
            raise BlockedError(obstacle.cause, obstacle.remedy)

    def _output(self, node: Node) -> Output:
        from repro.running.recomputation import digest_of_contents

        stage = " ".join([node.stage, *entries(node)[1:]])
        content = "" if node.stage == "lucene_index" else digest_of_contents(self.store.path(node))
        return Output(stage, node.fingerprint, code(*entries(node)).digest, content)

    def _other_cells(self, plan: Plan) -> Iterator[str]:
        self._run(plan, plan.ends)
        plan.look(self.store)
        results = Results(self.folder)
        for record in stored_records(plan, self.store):
            on_record = results.read(record.scale, record.cell.partition("/")[0])
            before = {r.key: r for r in on_record}.get(record.key)
            if before is None:
                yield f"{record.cell} has no record at scale {record.scale}"
            elif before.result != record.result:
                yield f"{record.cell} is {record.measured!r}, and {before.measured!r} on record"


def _plan(scale: str) -> Plan:
    names = [name for name, paper in papers().items() if paper.folder.is_relative_to(PAPERS)]
    return select(*names, scale=scale).plan()


def _free_name(name: str, taken: Iterable[str]) -> str:
    numbers = (f"{name} {number}" if number else name for number in (0, *range(2, 10_000)))
    return next(each for each in numbers if each not in taken)


def _cheap_cells() -> Plan:
    plan = _plan("tiny")
    chosen: dict[frozenset[str], Measurement] = {}
    for m in plan.measurements:
        stages = frozenset(node.stage for node in walk(m.parts))
        if stages.isdisjoint(TRAININGS) and "corpus" in stages:
            chosen.setdefault(stages, m)
    return replace(
        plan, cells=[m.cell for m in chosen.values()], measurements=list(chosen.values()), exhibits={}
    )


def _by_stage(comparison: Comparison) -> dict[str, list[tuple[Output | None, Output]]]:
    stages: dict[str, list[tuple[Output | None, Output]]] = {}
    for name, output in comparison.now.items():
        before = comparison.recorded.get(name)
        is_comparable = before is not None and before.planned == output.planned
        stages.setdefault(output.stage, []).append((before if is_comparable else None, output))
    return {stage: sorted(pairs, key=lambda pair: pair[0] is None) for stage, pairs in stages.items()}


def _yaml(lines: Mapping[str, Mapping[str, Any]]) -> str:
    import yaml

    head = "# Written by `repro doctor same-code`: digests of code that computed equal outputs.\n"
    ordered = dict(sorted(lines.items(), key=lambda item: (str(item[1]["date"]), item[0])))
    return head + yaml.safe_dump(ordered, sort_keys=False, width=1000)


@click.command(
    "same-code",
    epilog="""\b
Examples:
  repro doctor same-code           after an edit: compute the recorded outputs, then write results/code.yaml
  repro doctor same-code --check   compute the outputs of the newest line again, and write nothing
  repro doctor same-code --renew   after a raised version or a changed recipe: record their outputs anew""",
)
@click.option("--check", is_flag=True, help="Check the newest line of results/code.yaml. Write nothing.")
@click.option("--renew", is_flag=True, help="Record the outputs of stages that are planned otherwise.")
def command(check, renew):
    """Compute the recorded outputs with the code here, and note equal code in results/code.yaml.

    The outputs are those of every stage and objective at scale smoke. In addition, a few cells at scale tiny
    are measured from scratch. If every bit is equal, numbers on record stay without doubt. If a bit differs,
    the output is named and nothing is written. It takes about two minutes on two cores.

    Exit status 1 means that something differs.
    """
    kernels.pin()  # before numpy loads
    if check and renew:
        raise UsageError("--check cannot be combined with --renew")
    with tempfile.TemporaryDirectory(prefix="repro-same-code-") as folder:
        checked = SameCode(Store(Path(folder)), TerminalProgress())
        comparison = checked.compare(checked.newest() if check else None)
        refused = comparison.differing + ([] if renew else comparison.planned_otherwise)
        for sentence in refused[:SHOWN]:
            say(sentence)
        if refused:
            say(f"{len(refused)} outputs or cells are not as recorded. Nothing was written.")
            return 1
        stages = [] if check else checked.write(comparison)
    say(f"{len(comparison.now)} outputs and {comparison.cells} cells are equal to the last bit.")
    say(f"{len(stages)} lines of results/code.yaml are new." if stages else "No line was written.")
    return 0
