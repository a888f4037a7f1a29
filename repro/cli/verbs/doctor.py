"""``repro doctor``, e.g. ``repro doctor smoke``. Plugin ``yours`` replaces ``smoke``."""

import json
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from repro import graph, locations, progress
from repro.api import select
from repro.cli import groups, options, verdicts
from repro.cli.printing import emit_json, say, table
from repro.machine import INSTALL, PACKAGES, absent, system, versions
from repro.manifest.cells import Cell
from repro.retrieval.datasets.fetching import amount
from repro.running.cost import estimate
from repro.running.workspace import Workspace
from repro.store import Store, disk, make_writable, translated_errors

command = groups.views(
    "doctor",
    {
        "smoke": "run two steps of every stage, e.g. in your CI",
        "calibrate": "measure the speed of this machine for estimates of hours",
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
@options.json_option
def machine(as_json):
    """List the components of this machine and the missing requirements of scale full."""
    workspace = Workspace.open()
    full = _full_scale(workspace)
    components = survey(workspace.locations.store, workspace.data)
    missing = [c.name for c in components if c.state == "missing"]
    if as_json:
        emit_json([asdict(component) for component in (*components, full)])
    else:
        rows = [[c.state, c.name, c.detail, c.remedy] for c in components]
        table("this machine", ["", "component", "found", "remedy"], rows)
        summary = f"Missing: {', '.join(missing)}" if missing else _tiny_scale()
        say(". ".join(filter(None, [summary, f"Scale full {full.detail}", full.remedy])))
    return 4 if missing else 0


def _tiny_scale():
    lacking = [f"[{extra}]" for extra in PACKAGES if absent(extra)]
    return f"Scale tiny lacks {', '.join(lacking)}" if lacking else "Scale tiny can run"


def _full_scale(workspace):
    plan = select(workspace=workspace).plan()
    plan.look(workspace.store)
    obstacles = plan.lacking
    parts = [o.short for o in obstacles.of_machine]
    if obstacles.fetch:
        parts.append(amount(obstacles.fetch))
    if names := sorted(s.partition(": ")[0] for s in obstacles.otherwise):
        parts.append(f"{len(names)} manual downloads ({', '.join(names)})")
    if not parts:
        return Component("full scale", "ok", "lacks nothing here")
    remedy = "`repro data fetch --for PAPER/TABLE` downloads data. `repro plan PAPER` lists the remedies."
    return Component("full scale", "note", f"lacks {', '.join(parts)}", remedy)


SCALE = "smoke"


@command.command(
    "smoke",
    epilog="""\b
Examples:
  repro doctor smoke                  one trained row and BM25
  repro doctor smoke PAPER --table 1  every row of a table""",
)
@options.PAPERS
@options.TABLE
@options.ROW
def smoke(names, tables, rows):
    """Run two steps of every stage on toy data and print a Markdown summary, e.g. for $GITHUB_STEP_SUMMARY.

    The default is the cheapest trained row and BM25. Nothing is stored. Exit status 3: a stage failed. 4: a
    requirement is missing.
    """
    return in_empty_workspace(lambda workspace: run_rows(names, tables, rows, workspace))


def in_empty_workspace(run: Callable[[Workspace], tuple[list[str], int]]) -> int:
    """Call ``run`` with an empty workspace, print the lines it returns, and return its exit status."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="repro-smoke-") as folder:
        lines, status = run(Workspace.open(f"{folder}/store", f"{folder}/results"))
    outcome = "NOT everything ran" if status else "everything ran"
    print(*(f"- {line}" for line in (*lines, f"{outcome} in {time.monotonic() - start:.0f} s")), sep="\n")
    return status


def run_rows(names, tables, rows, workspace: Workspace) -> tuple[list[str], int]:
    from repro.api.measurement import measure

    cell_names = names or _cheapest_cells(workspace)
    selection = select(*cell_names, tables=tables, rows=rows, scale=SCALE, workspace=workspace)
    cells = measure(selection, progress=progress.TerminalProgress())
    stages = Counter(n.stage for n in cells.outcome.run) if cells.outcome else Counter()
    row_names = dict.fromkeys(c.cell.row_path for c in cells if c.measured is not None)
    lines = [f"stages: {', '.join(f'{number} {stage}' for stage, number in stages.items())}"]
    problems, status = verdicts.problems(cells)
    return [*lines, *(f"scored: {row}" for row in row_names), *problems], status


def _cheapest_cells(workspace) -> list[str]:
    bm25 = bm25_cells()[0]
    table = select(f"{bm25.paper.name}/{bm25.table.id}", scale=SCALE, workspace=workspace)
    own = [m for m in table.plan().measurements if m.cell.column.dataset == bm25.column.dataset]
    stages = {m.cell.id: [n.stage for n in graph.walk(m.parts)] for m in own if m.cell.role != "reference"}
    trained = [c for c in stages if "finetune" in stages[c]]
    return [bm25.id, min(trained, key=lambda cell: len(stages[cell]))]


def bm25_cells() -> list[Cell]:
    from repro.api.papers import papers

    cells = (cell for paper in papers().values() for cell in paper.cells)
    return [c for c in cells if c.row.system == "bm25" and c.recipe]


@command.command("calibrate", epilog="\b\nExamples:\n  repro doctor calibrate")
def calibrate():
    """Measure the speed of training and encoding on this machine (about ten seconds).

    `repro plan` then estimates hours, and `repro run --max-gpu-hours` keeps to a budget.
    """
    store = Store(locations.Locations.resolve().store)
    make_writable(store.root)
    rates = estimate.calibrate()
    path = estimate.calibration_file(store)
    with translated_errors(store.root):
        disk.write_whole(path, json.dumps(rates, indent=1) + "\n")
    model, peak = rates["model"], rates["matrix_product_flops_per_second"]
    shape = "BERT of {layers} layers, width {hidden_size}, texts of {length} tokens".format(**model)
    print(f"{rates['name']}, {rates['precision']}; {shape}")
    for kind in ("training", "encoding"):
        tokens, rate = rates[kind]["tokens_per_second"], rates[kind]["flops_per_second"]
        share = f"{rate / peak:.0%} of the matrix product's"
        print(f"{kind}: {tokens:,.0f} tokens/s, {rate / 1e9:,.0f} GFLOP/s, {share}")
    print(f"matrix product: {peak / 1e9:,.0f} GFLOP/s")
    print(f"saved in {path}")


@dataclass(frozen=True)
class Component:
    """A part of the machine. Its state is ``ok``, ``missing`` or ``note``."""

    name: str
    state: str
    detail: str
    remedy: str = ""


def survey(store: Path, data_root: Path | None) -> list[Component]:
    return [
        Component("python", "ok", f"{platform.python_version()} at {sys.executable}"),
        *([] if absent("bm25") else [java()]),
        *([] if absent("train") else [torch_info(), _gpu()]),
        *map(_extra, PACKAGES),
        Component("cores", "ok", str(system.cores())),
        Component("memory", "ok", f"{system.memory() / system.GIB:.0f} GiB"),
        _disk(store),
        _data(data_root),
    ]


def java() -> Component:
    if missing := system.missing_java():
        return Component("java", "missing", *missing)
    runtime = system.java()
    assert runtime, "nothing is missing"
    return Component("java", "ok", f"{runtime.version} of {runtime.source} at {runtime.home}")


def torch_info() -> Component:
    version, cuda = versions.version("torch"), versions.torch_cuda()
    if cuda is None and system.gpu():
        remedy = "install the build of torch for your CUDA"
        return Component("torch", "note", f"{version}, a build that leaves the GPU idle", remedy)
    return Component("torch", "ok", f"{version}, {f'CUDA {cuda}' if cuda else 'CPU only'}")


def _gpu() -> Component:
    if names := system.gpu():
        return Component("gpu", "ok", "; ".join(names))
    remedy = "use a machine with a GPU for scale full"
    return Component("gpu", "note", "none (scales small and tiny need none)", remedy)


def _extra(extra: str) -> Component:
    names, remedy = absent(extra), INSTALL.format(extra)
    if not names:
        return Component(f"[{extra}]", "ok", "all installed")
    if len(names) > len(PACKAGES[extra]) / 2:
        return Component(f"[{extra}]", "note", "not installed", remedy)
    verb = "are" if names[1:] else "is"
    return Component(f"[{extra}]", "missing", f"{', '.join(names)} {verb} not installed", remedy)


def _disk(store: Path) -> Component:
    free = system.disk_free(store) / system.GIB
    detail = f"{free:.0f} GiB free for {store}"
    if free < 1:
        return Component("disk", "note", detail, "free some or use another disk with --store")
    return Component("disk", "ok", detail)


def _data(root: Path | None) -> Component:
    if root is None:
        detail, remedy = (
            f"nothing yet in {locations.data_folder()}",
            "run `repro data fetch` or set REPRO_DATA",
        )
    elif root.is_dir():
        return Component("data", "ok", str(root))
    else:
        detail, remedy = f"{root} is not a folder", "set REPRO_DATA to a folder of collections"
    return Component("data", "note", detail, remedy)
