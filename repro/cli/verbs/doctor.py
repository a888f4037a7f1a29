"""``repro doctor``: requirements, speed and self-tests of this machine, e.g. ``repro doctor smoke``.

Plugin ``yours`` replaces ``smoke``, reusing its help and ``run_rows``.
"""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repro.cli import completion
from repro.cli.groups import views
from repro.cli.options import json_option, table_and_row_options
from repro.locations import Locations, data_folder
from repro.machine import jvm, system, versions
from repro.machine.extras import INSTALL, PACKAGES, absent

if TYPE_CHECKING:
    from repro.manifest.cells import Cell
    from repro.running.workspace import Workspace

command = views(
    "doctor",
    {
        "smoke": "train and score a few steps from nothing, for a CI of yours",
        "calibrate": "measure this machine, for estimates of hours",
        "same-code": "show that an edit of the code changes no number",
    },
    default="machine",
    epilog="""\b
Examples:
  repro doctor
  repro --data /data doctor --format json
  repro doctor smoke
  repro doctor calibrate""",
)


@command.command("machine")
@json_option
def machine(as_json):
    """Say in one screen what this machine can run, and what to do about the rest.

    Below the components, all that the papers need at full scale and that is not here.
    """
    from dataclasses import asdict

    from repro.cli.printing import emit_json, say, table
    from repro.running.workspace import Workspace

    workspace = Workspace.open()
    full_scale = _full_scale(workspace)
    components = survey(workspace.locations.store, workspace.data)
    missing = [c.name for c in components if c.state == "missing"]
    if as_json:
        emit_json([asdict(component) for component in (*components, full_scale)])
    else:
        rows = [[c.state, c.name, c.detail, c.remedy] for c in components]
        table("this machine", ["", "component", "what there is", "what to do"], rows)
        say("; ".join(filter(None, [f"full scale {full_scale.detail}", full_scale.remedy])))
        summary = f"missing: {', '.join(missing)}" if missing else "nothing is missing for scale tiny"
        say(f"{summary}; full scale {'needs more, as said above' if full_scale.remedy else 'too'}")
    return 4 if missing else 0


def _full_scale(workspace):
    """Return a component with the missing requirements of all papers at full scale."""
    from repro.api.selection import select
    from repro.retrieval.datasets.fetching import amount

    plan = select(workspace=workspace).plan()
    plan.look(workspace.store)
    obstacles = plan.lacking
    parts = [o.short for o in obstacles.of_machine]
    parts += [amount(obstacles.fetch)] if obstacles.fetch else []
    parts += [_manual_data(obstacles.otherwise)] if obstacles.otherwise else []
    if not parts:
        return Component("full scale", "ok", "lacks nothing here")
    remedy = "`repro data fetch --for PAPER/TABLE` fetches, `repro plan PAPER` says what to do about the rest"
    return Component("full scale", "note", f"lacks {', '.join(parts)}", remedy)


def _manual_data(sentences):
    names = sorted(sentence.partition(": ")[0] for sentence in sentences)
    return f"{len(names)} to be got by hand ({', '.join(names)})"


SCALE = "smoke"
SHOWN = 10  # outputs that are named


@command.command(
    "smoke",
    epilog="""\b
Examples:
  repro doctor smoke                       one trained row and BM25: that this installation works
  repro doctor smoke PAPER --table 1       every row of a table, as of a paper of yours""",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@table_and_row_options
def smoke(names, tables, rows):
    """Run stages from nothing on the embedded collection, two steps of each training, and keep nothing.

    For continuous integration: exit status 0 says that everything ran, 3 that a stage failed, 4 that
    something is missing. The numbers say nothing. Without a PAPER the cheapest trained row and BM25 are run.
    What is printed is Markdown, for $GITHUB_STEP_SUMMARY.
    """
    return tell(lambda workspace: run_rows(names, tables, rows, workspace))


def tell(run: Callable[[Workspace], tuple[list[str], int]]) -> int:
    """Run in an empty workspace, print the returned lines and the duration, and return the exit status."""
    import tempfile
    import time

    from repro.running.workspace import Workspace

    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="repro-smoke-") as folder:
        lines, status = run(Workspace.open(f"{folder}/store", f"{folder}/results"))
    lines.append(
        f"{'everything ran' if status == 0 else 'NOT everything ran'} in {time.monotonic() - start:.0f} s"
    )
    print("\n".join(f"- {line}" for line in lines))
    return status


def run_rows(names, tables, rows, workspace: Workspace) -> tuple[list[str], int]:
    """Run rows. Returns lines on stages, scored rows and obstacles, and the exit status."""
    from repro.api.measurement import measure
    from repro.api.selection import select
    from repro.cli import verdicts
    from repro.progress import TerminalProgress

    cell_names = names or _cheapest_cells(workspace)
    selection = select(*cell_names, tables=tables, rows=rows, scale=SCALE, workspace=workspace)
    cells = measure(selection, progress=TerminalProgress())
    stages = Counter(node.stage for node in cells.outcome.run) if cells.outcome else Counter()
    row_names = dict.fromkeys(c.cell.id.rpartition("/")[0] for c in cells if c.measured is not None)
    lines = [f"stages: {', '.join(f'{number} {stage}' for stage, number in stages.items())}"]
    lines += [f"scored: {row}" for row in row_names]
    notices = verdicts.notices(cells.comparison, list(cells))
    lines += [notice for notice in notices if notice.startswith(("failed", "blocked"))]
    return lines, verdicts.status(cells.comparison, strict=False, outcome=cells.outcome)


def _cheapest_cells(workspace) -> list[str]:
    from repro.api.selection import select
    from repro.graph import walk

    bm25 = bm25_cell()
    table = select(f"{bm25.paper.name}/{bm25.table.id}", scale=SCALE, workspace=workspace)
    parts: dict[str, list] = {}
    for m in table.plan().measurements:
        if m.cell.column.dataset == bm25.column.dataset and m.cell.role != "reference":
            parts.setdefault(m.cell.id, []).extend(m.parts)
    stages = {cell: [node.stage for node in walk(nodes)] for cell, nodes in parts.items()}
    training_cells = [cell for cell in stages if "finetune" in stages[cell]]
    return [bm25.id, min(training_cells, key=lambda cell: len(stages[cell]))]


def bm25_cell() -> Cell:
    """Return the first BM25 cell with a recipe."""
    from repro.api.papers import papers

    cells = (cell for paper in papers().values() for cell in paper.cells)
    return next(cell for cell in cells if cell.row.system == "bm25" and cell.recipe)


@command.command("calibrate", epilog="\b\nExamples:\n  repro doctor calibrate")
def calibrate():
    """Measure how fast this machine trains and encodes, in ten seconds or so.

    `repro plan` then tells hours, and `repro run --max-gpu-hours` can keep to a budget. Nothing else should
    run meanwhile. A GPU is measured if there is one.
    """
    from repro.running.cost.estimate import calibrate, calibration_file
    from repro.store import Store, make_writable, translated_errors
    from repro.store.disk import write_whole

    artefact_store = Store(Locations.resolve().store)
    make_writable(artefact_store.root)
    rates = calibrate()
    path = calibration_file(artefact_store)
    with translated_errors(artefact_store.root):
        write_whole(path, json.dumps(rates, indent=1) + "\n")
    model, peak = rates["model"], rates["matrix_product_flops_per_second"]
    print(
        f"{rates['name']}, {rates['precision']}; BERT of {model['layers']} layers, "
        f"width {model['hidden_size']}, texts of {model['length']} tokens"
    )
    for kind in ("training", "encoding"):
        rate = rates[kind]["flops_per_second"]
        print(
            f"{kind}: {rates[kind]['tokens_per_second']:,.0f} tokens/s, {rate / 1e9:,.0f} GFLOP/s, "
            f"{rate / peak:.0%} of the matrix product's"
        )
    print(f"matrix product: {peak / 1e9:,.0f} GFLOP/s")
    print(f"kept in {path}")


@command.command(
    "same-code",
    epilog="""\b
Examples:
  repro doctor same-code           after an edit: compute the recorded outputs, then write results/code.yaml
  repro doctor same-code --check   compute the outputs of the newest line again, and write nothing
  repro doctor same-code --renew   after a raised version or a changed recipe: record their outputs anew""",
)
@click.option("--check", is_flag=True, help="Check the newest line of results/code.yaml. Write nothing.")
@click.option("--renew", is_flag=True, help="Record the outputs of stages that are planned otherwise.")
def same_code(check, renew):
    """Compute the recorded outputs with the code here, and note equal code in results/code.yaml.

    The outputs are those of every stage and objective at scale smoke. In addition, a few cells at scale tiny
    are measured from scratch. If every bit is equal, numbers on record stay without doubt. If a bit differs,
    the output is named and nothing is written. It takes about two minutes on two cores.

    Exit status 1 means that something differs.
    """
    import tempfile

    from repro.machine import kernels

    kernels.pin()  # before numpy loads
    from repro.api.same_code import SameCode
    from repro.cli.printing import say
    from repro.errors import UsageError
    from repro.progress import TerminalProgress
    from repro.store import Store

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


@dataclass(frozen=True)
class Component:
    """A part of the machine as shown by ``repro doctor``, e.g. "java".

    Attributes:
        state: ``ok``, ``missing`` (a requirement) or ``note`` (useful information).
        remedy: an instruction, e.g. "pip install torch", or "".
    """

    name: str
    state: str
    detail: str
    remedy: str = ""


def survey(store: Path, data_root: Path | None) -> list[Component]:
    """List the components of this machine in the order of ``repro doctor``."""
    return [
        Component("python", "ok", f"{platform.python_version()} at {sys.executable}"),
        *([] if absent("bm25") else [java()]),
        *([] if absent("train") else [torch_info(), _gpu()]),
        *map(_extra, PACKAGES),
        Component("cores", "ok", str(system.cores())),
        _memory(),
        _disk(store),
        _data(data_root),
    ]


def java() -> Component:
    """Return the Java of :func:`repro.machine.jvm.runtime`, or a remedy if it is missing."""
    if missing := jvm.missing_requirement():
        return Component("java", "missing", *missing)
    runtime = jvm.runtime()
    assert runtime, "nothing is missing"
    return Component("java", "ok", f"{runtime.version} of {runtime.source} at {runtime.home}")


def torch_info() -> Component:
    """Return the installed torch and whether it can use a GPU, determined from its files."""
    version, cuda = versions.version("torch"), versions.torch_cuda()
    if cuda is None and system.gpu():
        remedy = "install the build of torch for your CUDA"
        return Component("torch", "note", f"{version}, a build that leaves the GPU idle", remedy)
    return Component("torch", "ok", f"{version}, {f'CUDA {cuda}' if cuda else 'CPU only'}")


def _gpu() -> Component:
    names = system.gpu()
    if names is None:
        remedy = "use a machine with one for the scale full"
        return Component("gpu", "note", "none, which scales small and tiny can do without", remedy)
    return Component("gpu", "ok", "; ".join(names))


def _extra(extra: str) -> Component:
    """Return the state of an extra. It counts as partly installed if most of its packages are there."""
    names, remedy = absent(extra), INSTALL.format(extra)
    if not names:
        return Component(f"[{extra}]", "ok", "all installed")
    if len(names) > len(PACKAGES[extra]) / 2:
        return Component(f"[{extra}]", "note", "not installed", remedy)
    verb = "are" if names[1:] else "is"
    return Component(f"[{extra}]", "missing", f"{', '.join(names)} {verb} not installed", remedy)


def _memory() -> Component:
    return Component("memory", "ok", f"{system.memory() / system.GIB:.0f} GiB")


def _disk(store: Path) -> Component:
    free = system.disk_free(store) / system.GIB
    detail = f"{free:.0f} GiB free for {store}"
    if free < 1:
        return Component("disk", "note", detail, "free some, or name another store with --store")
    return Component("disk", "ok", detail)


def _data(root: Path | None) -> Component:
    if root is None:
        detail = f"nothing yet in {data_folder()}"  # which is looked in without REPRO_DATA
        return Component("data", "note", detail, "run `repro data fetch`, or set REPRO_DATA")
    if not root.is_dir():
        return Component("data", "note", f"{root} is no folder", "set REPRO_DATA to a folder of collections")
    return Component("data", "ok", str(root))
