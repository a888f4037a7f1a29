"""``repro doctor same-code``: shows that edited code computes equal outputs.

results/outputs.json has digests of outputs at scale smoke, e.g. of ``PAPER/1/ROW pretrain``, that row's model
after two steps. No import here loads numpy.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import yaml

from repro import api, errors, stage_table
from repro.cli.printing import say
from repro.graph import Node, canonical, grouped, walk
from repro.locations import BUNDLED, PAPERS, committed_results
from repro.machine import kernels
from repro.machine.code_digest import code
from repro.manifest.papers import papers
from repro.progress import Progress, TerminalProgress
from repro.running import engines, provenance, records, runner
from repro.running.plan import Plan
from repro.store import Store, disk, results

SHOWN = 10
OUTPUTS = "outputs.json"
KEPT = 5  # digests of a line: the first and the newest
LEFT_OUT = ("seed", "dataset", "identity", "source")  # without effect on the code that runs


@dataclass(frozen=True)
class Output:
    """The content of one artefact at scale smoke.

    Attributes:
        stage: the stage and the objective or view, e.g. "pretrain papers.PAPER.module:Objective".
        planned: the fingerprint of its stage.
        content: a digest of its rows, numbers and texts. "" for Lucene's index, which differs each time.
    """

    stage: str
    planned: str
    code: str
    content: str


@dataclass(frozen=True)
class Comparison:
    """The outputs of the present code compared with the recorded ones.

    Attributes:
        differing: sentences on outputs with other content, and on cells with other numbers.
        planned_otherwise: sentences on outputs that are gone or have other parameters or inputs.
        cells: the number of cells measured from scratch at scale tiny.
    """

    recorded: Mapping[str, Output]
    now: Mapping[str, Output]
    differing: list[str]
    planned_otherwise: list[str]
    cells: int = 0


class SameCode:
    """Computes, compares and records outputs. Raises UsageError outside a checkout."""

    def __init__(self, store: Store, progress: Progress):
        folder = committed_results()
        if folder is None or BUNDLED.is_dir():
            raise errors.UsageError(
                "the recorded outputs are in a checkout of the suite, and this is an installed package"
            )
        self.folder, self.store, self.progress = folder, store, progress

    @cached_property
    def recorded(self) -> dict[str, Output]:
        path = self.folder / OUTPUTS
        content = json.loads(path.read_bytes()) if path.is_file() else {}
        return {name: Output(**fields) for name, fields in content.items()}

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """Name -> node, one for each distinct pair of code and parameters."""
        plan, seen, named, uses = _plan("smoke"), set(), dict[str, Node](), Counter[str]()
        ends = [(m.cell.row_path, m.parts) for m in plan.measurements]
        ends += [(item.id, (node,)) for item, node in plan.exhibits.items()]
        for place, parts in ends:
            for node in walk(parts):
                params = {name: value for name, value in node.params.items() if name not in LEFT_OUT}
                if (key := (provenance.entries(node), canonical(params))) not in seen:
                    seen.add(key)
                    name = f"{place} {node.stage}"
                    uses[name] += 1
                    named[name if uses[name] == 1 else f"{name} {uses[name]}"] = node
        return named

    def newest(self) -> list[str]:
        """Return the names of outputs of the stage with the newest line in code.yaml, and of their inputs."""
        lines = provenance.equal_code()
        behind: dict[str, set[str]] = {stage: set() for stage in lines}
        names = {node.fingerprint: name for name, node in self.nodes.items()}
        for name, output in self.recorded.items():
            if name in self.nodes and output.stage in lines:
                behind[output.stage] |= {n.fingerprint for n in walk([self.nodes[name]])}
        newest = max(lines, key=lambda stage: (str(lines[stage]["date"]), len(behind[stage])), default="")
        return sorted(names[f] for f in behind.get(newest, ()) if f in names)

    def compare(self, names: Iterable[str] | None = None) -> Comparison:
        """Compute and compare the named outputs, or by default all and a few cells. Raises StageError or
        BlockedError if one cannot be computed."""
        nodes = self.nodes if names is None else {n: self.nodes[n] for n in names if n in self.nodes}
        recorded = self.recorded if names is None else {n: self.recorded[n] for n in names}
        self._run(_plan("smoke"), nodes.values())
        now = {name: self._output(node) for name, node in nodes.items()}
        differing, otherwise = [], []
        for name, before in sorted(recorded.items()):
            if name not in now:
                otherwise.append(f"{name} is no longer planned")
            elif before.planned != now[name].planned:
                otherwise.append(f"{name} is planned with other parameters or inputs")
            elif before.content != now[name].content:
                differing.append(f"{name} differs")
        if names is not None or not (cells := _cheap_cells()):
            return Comparison(recorded, now, differing, otherwise)
        differing += self._other_cells(cells)
        return Comparison(recorded, now, differing, otherwise, len(cells.measurements))

    def write(self, comparison: Comparison) -> list[str]:
        """Write code.yaml and outputs.json. Returns the stages with a new line in code.yaml."""
        today, lines, new = datetime.now(UTC).date().isoformat(), {}, []
        of_digest = {digest: line for line in provenance.equal_code().values() for digest in line["same"]}
        for stage, outputs in _by_stage(comparison).items():
            before, here = outputs[0]
            line = of_digest.get(here.code) or of_digest.get(before.code if before else "") or {"same": []}
            if here.code not in line["same"]:
                same = [*line["same"][:1], *line["same"][1:][2 - KEPT :], here.code]
                equal = sum(before is not None for before, _ in outputs)
                evidence = f"{equal} outputs at smoke, {comparison.cells} cells at tiny"
                line = {"recorded": same[0], "same": same, "date": today, "evidence": evidence}
                new.append(stage)
            lines[stage] = line
        disk.write_whole(self.folder / provenance.EQUAL_CODE, _yaml(lines))
        contents = (f"{json.dumps(n)}: {json.dumps(asdict(o))}" for n, o in sorted(comparison.now.items()))
        disk.write_whole(self.folder / OUTPUTS, "{\n" + ",\n".join(contents) + "\n}\n")
        return new

    def _run(self, plan: Plan, nodes: Iterable[Node]) -> None:
        measurement = replace(plan.measurements[0], groups=(tuple(nodes),))
        plan = replace(plan, measurements=[measurement], exhibits={})
        plan.scale.pin_kernels(self.progress)
        outcome = engines.ENGINES["auto"](plan, self.store, self.progress, runner.Options())
        for fingerprint, error in outcome.failed.items():
            raise errors.StageError(f"{fingerprint[:12]} cannot be computed: {error}")
        for obstacle, *_ in outcome.blocked.values():
            raise errors.BlockedError(obstacle.cause, obstacle.remedy)

    def _output(self, node: Node) -> Output:
        from repro.running.recomputation import digest_of_contents

        stage = " ".join([node.stage, *provenance.entries(node)[1:]])
        content = "" if node.stage == "lucene_index" else digest_of_contents(self.store.path(node))
        return Output(stage, node.fingerprint, code(*provenance.entries(node)).digest, content)

    def _other_cells(self, plan: Plan) -> Iterator[str]:
        self._run(plan, plan.ends)
        plan.look(self.store)
        for record in records.stored_records(plan, self.store):
            on_record = results.Results(self.folder).read(record.scale, record.cell.partition("/")[0])
            before = next((r for r in on_record if r.key == record.key), None)
            if before is None:
                yield f"{record.cell} has no record at scale {record.scale}"
            elif before.result != record.result:
                yield f"{record.cell} is {record.measured!r}, and {before.measured!r} on record"


def _plan(scale: str) -> Plan:
    names = [name for name, paper in papers().items() if paper.folder.is_relative_to(PAPERS)]
    return api.select(*names, scale=scale).plan()


def _cheap_cells() -> Plan:
    plan = _plan("tiny")
    by_stages = grouped((frozenset(n.stage for n in walk(m.parts)), m) for m in plan.measurements)
    cheap = (
        stages for stages in by_stages if stages.isdisjoint(stage_table.TRAININGS) and "corpus" in stages
    )
    chosen = [by_stages[stages][0] for stages in cheap]
    return replace(plan, cells=[m.cell for m in chosen], measurements=chosen, exhibits={})


def _by_stage(comparison: Comparison) -> dict[str, list[tuple[Output | None, Output]]]:
    pairs = ((comparison.recorded.get(name), output) for name, output in comparison.now.items())
    stages = grouped(
        (now.stage, (before if before and before.planned == now.planned else None, now))
        for before, now in pairs
    )
    return {stage: sorted(pairs, key=lambda pair: pair[0] is None) for stage, pairs in stages.items()}


def _yaml(lines: Mapping[str, Mapping[str, Any]]) -> str:
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
@click.option("--renew", is_flag=True, help="Record the outputs of stages with other parameters or inputs.")
def command(check, renew):
    """Compute the recorded outputs with the code here, and note equal code in results/code.yaml.

    The outputs are those of every stage and objective at scale smoke. In addition, a few cells at scale tiny
    are measured from scratch. If a bit differs, the output is named, nothing is written, and the exit status
    is 1. It takes about two minutes on two cores.
    """
    kernels.pin()  # before numpy loads
    if check and renew:
        raise errors.UsageError("--check cannot be combined with --renew")
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
