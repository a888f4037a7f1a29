"""Estimate the hours, disk space and downloads of stages, on this machine or e.g. ``h100``."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Literal

from repro.errors import UsageError, unknown
from repro.graph import Node
from repro.machine import bounded_reading, system, versions
from repro.manifest import papers, yaml_file
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.datasets.fetching import archives
from repro.running.cost.rehearsals import Rehearsals, kind_of
from repro.running.cost.shapes import BASE, Shape
from repro.running.cost.work import Batching, Work, forward, work
from repro.running.discarding import Consumers, MemoryLevel, fullest_level, levels, readers_first
from repro.running.plan import Plan
from repro.running.requirements import PIECES, Obstacle
from repro.store import Store
from repro.store.disk import size_on_disk

SMALL = Shape(4, 256, 1024, 2000)
LENGTH = {"cpu": 128, "cuda": 144}
BATCH = {"cpu": 16, "cuda": 256}
MATRIX = {"cpu": 1024, "cuda": 8192}
SECONDS = 2.0


@dataclass(frozen=True)
class Throughput:
    """Operations per second of one device, a "GPU" or "CPU".

    Attributes:
        search: in single precision. None if equal to inference.
        memory: bytes of the GPU.
        layer: minimum seconds per layer of a training step.
        fastest: the optimistic estimate of a GPU.
        packs: whether it reads texts without padding.
        recorded: operations per second by kind of work, from records.
    """

    unit: str
    training: float
    inference: float
    basis: str
    search: float | None = None
    memory: float | None = None
    layer: float = 0.0
    fastest: "Throughput | None" = None
    packs: bool = True
    recorded: Mapping[str, float] = field(default_factory=dict)
    shares: str = ""

    def hours(self, work: Work) -> float | None:
        if not work.is_known:
            return None
        training, inference, search = work.parts
        rate = self.recorded.get(work.kind)
        seconds = max(training / (rate or self.training), work.launched * self.layer) + (work.waited or 0)
        seconds += inference / (rate or self.inference) + search / (self.search or self.inference)
        return seconds / 3600


def throughput(store: Store, gpu: str | None = None) -> Throughput | None:
    """Return the throughput of ``gpu``, e.g. "h100", or calibrated here, or None. Raises UsageError."""
    if gpu is not None:
        return assumed_throughput(gpu)
    path = calibration_file(store)
    return _read_calibration(path) if path.exists() else None


@cache
def gpus() -> dict:
    return bounded_reading.read_facts(Path(__file__).with_name("gpus.yaml"))


class Share(yaml_file.StrictMapping):
    """A share of a GPU's peak, documented in ``shares.yaml``."""

    share: float
    operations: float
    record: str
    notes: tuple[str, ...] = ()
    work: str
    tool: str

    def __str__(self) -> str:
        facts = [self.record, *self.notes]
        if self.operations != 1:
            facts.append(f"a plan counts {self.operations:g} times its operations")
        return f"{self.share:.1%} ({', '.join(facts)})"


Shares = dict[Literal["training", "encoding"], dict[str, Share]]


def recorded_shares(gpu: str) -> Shares:
    """Return "training" and "encoding" -> kind of work -> share of a GPU's peak. Raises ManifestError."""
    shares: Shares = {"training": {}, "encoding": {}}
    for folder in (Path(__file__).parent, *papers.folders_with("shares.yaml")):
        for sort, kinds in yaml_file.read(folder / "shares.yaml", dict[str, Shares]).get(gpu, {}).items():
            shares[sort] |= kinds
    return shares


def assumed_throughput(gpu: str) -> Throughput:
    """Return a GPU's throughput by recorded shares of its peak, otherwise by a range. Raises UsageError."""
    name, facts = gpu.lower(), gpus()
    if name not in facts["sheets"]:
        raise unknown("GPU", gpu, facts["sheets"], hint="`repro doctor calibrate` measures this machine.")
    sheet, ends = facts["sheets"][name], [facts["least"], facts["greatest"]]
    peak, chip = sheet["half"], sheet.get("chip", name)
    recorded = recorded_shares(chip)
    known, rest = recorded["training"] | recorded["encoding"], [end["share"] for end in ends]
    trained = sorted(one.share for one in recorded["training"].values()) or rest
    words = [f"{kind} {one}" for kind, one in known.items()]
    words += [f"other trainings {_range(trained)}", f"the rest {_range(rest)}"]
    shares = f"recorded {f'{chip} ' * (chip != name)}shares" if known else _range(rest)
    basis = f"{name}, {shares} of {peak / 1e12:.0f} TFLOP/s"
    slow, fast = (
        Throughput(
            unit="GPU",
            training=trained[end] * peak,
            inference=rest[end] * peak,
            basis=basis if known else f"{basis}, not measured",
            search=rest[end] * sheet["single"],
            memory=sheet["memory"],
            layer=ends[end - 1]["layer"],
            packs=sheet.get("packs", True),
            recorded={kind: one.share * one.operations * peak for kind, one in known.items()},
            shares=", ".join(words) if known else "",
        )
        for end in (0, -1)
    )
    return replace(slow, fastest=fast)


def rounded(value: float, digits: int = 2) -> str:
    """Return e.g. "1,200" for 1234.5."""
    return "<0.01" if 0 < value < 0.01 else f"{float(f'{value:.{digits}g}'):,.15g}"


def _range(shares: Sequence[float]) -> str:
    return f"{100 * shares[0]:.3g}% to {100 * shares[-1]:.3g}%"


def calibration_file(store: Store) -> Path:
    return store.root / "calibration.json"


def _read_calibration(path: Path) -> Throughput:
    try:
        calibration = bounded_reading.read_json_file(path)
        training, inference = (float(calibration[k]["flops_per_second"]) for k in ("training", "encoding"))
        unit = "GPU" if calibration["device"] == "cuda" else "CPU"
        single = calibration.get("single_precision_flops_per_second")
        search = None if single is None else float(single)
        device, day = str(calibration["name"]), str(calibration["recorded"])[:10]
        if not (training > 0 and inference > 0):
            raise ValueError("a throughput is not positive")
    except (OSError, ValueError, LookupError, TypeError) as error:
        remedy = "`repro doctor calibrate` writes it again"
        raise UsageError(f"{path} cannot be read ({error}), {remedy}") from None
    rates = f"{training / 1e12:.3g} TFLOP/s training, {inference / 1e12:.3g} encoding"
    basis = f"{device}, calibrated {day}: {rates}"
    layer = calibration.get("seconds_per_layer", gpus()["greatest"]["layer"]) if unit == "GPU" else 0.0
    packs = (calibration.get("capability") or [8]) >= [8]
    return Throughput(unit, training, inference, basis, search, system.gpu_memory(), layer, packs=packs)


def calibrate() -> dict:
    """Measure this machine and return the content of calibration.json."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = torch.bfloat16 if device == "cuda" else torch.float32
    sizes = BASE if device == "cuda" else SMALL
    machine = system.hardware()
    name = torch.cuda.get_device_name() if device == "cuda" else f"{machine['cpu']}, {machine['cores']} cores"
    tokens, operations = BATCH[device] * LENGTH[device], forward(sizes, LENGTH[device])

    def rates(step: Callable[[], object], passes: int) -> dict[str, float]:
        rate = tokens / _time_step(step)
        return {"tokens_per_second": rate, "flops_per_second": rate * passes * operations}

    train, encode, train_token = _steps(device, precision, sizes)
    return {
        "device": device,
        "name": name,
        "precision": str(precision).removeprefix("torch."),
        "model": {"layers": sizes.layers, "hidden_size": sizes.hidden, "length": LENGTH[device]},
        "training": rates(train, 3),
        "encoding": rates(encode, 1),
        "seconds_per_layer": _time_step(train_token) / sizes.layers,
        "capability": torch.cuda.get_device_capability() if device == "cuda" else None,
        "matrix_product_flops_per_second": _matrix_product(device, precision),
        "single_precision_flops_per_second": _matrix_product(device, torch.float32),
        "hardware": machine,
        "software": versions.software(),
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _matrix_product(device: str, precision) -> float:
    import torch

    side = MATRIX[device]
    left, right = (torch.randn(side, side, device=device, dtype=precision) for _ in range(2))
    return 2 * side**3 / _time_step(lambda: left @ right)


def _steps(device: str, precision, sizes: Shape) -> list[Callable[[], object]]:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.hidden // 64,
        intermediate_size=sizes.intermediate,
    )
    with torch.device(device):
        model = BertModel(config, add_pooling_layer=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    tokens = torch.randint(sizes.vocabulary, (BATCH[device], LENGTH[device]), device=device)
    autocast = torch.autocast(device, precision, enabled=device == "cuda")

    def train(ids=tokens):
        with autocast:
            loss = model(ids).last_hidden_state.float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def encode():
        with torch.inference_mode(), autocast:
            model(tokens)

    return [train, encode, partial(train, tokens[:1, :1])]


def _time_step(step: Callable[[], object]) -> float:
    import torch
    from torch.utils.benchmark import Timer

    timer = Timer("step()", globals={"step": step}, num_threads=torch.get_num_threads())
    return timer.blocked_autorange(min_run_time=SECONDS).median


@dataclass(frozen=True)
class Estimate:
    """The cost of the nodes to run, ``works`` by fingerprint. Rehearsed hours need no throughput."""

    plan: Plan
    nodes: list[Node]
    works: Mapping[str, Work]
    throughput: Throughput | None
    rehearsals: Rehearsals = field(default_factory=dict)

    def hours(self, nodes: Iterable[Node]) -> float | None:
        """Return the known hours of ``nodes``, or None if none is known."""
        parts = [self.hours_of(n) for n in nodes if n.fingerprint in self.works]
        return None if self.throughput is None and not any(parts) else sum(hours or 0 for hours in parts)

    def hours_of(self, node: Node) -> float | None:
        rehearsed_hours = self.rehearsed(node)
        if rehearsed_hours is not None or self.throughput is None:
            return rehearsed_hours
        return self.throughput.hours(self.work_of(node))

    def hours_in_words(self, nodes: Sequence[Node], *, price: float = 1.0) -> str:
        """Return hours times a price, e.g. "3.1 to 4.6", with "+" if a stage has unknown work."""
        rates = (self.throughput and self.throughput.fastest) or self.throughput, self.throughput
        ends = (price * (replace(self, throughput=rate).hours(nodes) or 0.0) for rate in rates)
        is_part = any(self.hours_of(n) is None for n in nodes if n.fingerprint in self.works)
        return " to ".join(dict.fromkeys(map(rounded, ends))) + "+" * is_part

    def rehearsed(self, node: Node) -> float | None:
        measured = self.rehearsals.get(kind_of(node)) if self.rehearsals else None
        return measured.hours(node) if measured else None

    @cached_property
    def operations(self) -> float:
        return sum(w.operations for w in self.works.values())

    @cached_property
    def uncounted(self) -> list[Node]:
        """Nodes of unknown work, e.g. of a missing dataset."""
        return [n for n in self.nodes if not self.works[n.fingerprint].is_known]

    @cached_property
    def stored(self) -> float:
        """Bytes of all artefacts to make, as far as they are known."""
        return sum(w.stored or 0 for w in self.works.values())

    def core_hours(self, nodes: Iterable[Node]) -> float:
        """Return the known core hours of work without models. Omits rehearsed nodes."""
        unrehearsed = (n for n in nodes if n.fingerprint in self.works and self.rehearsed(n) is None)
        return sum(self.works[n.fingerprint].core_seconds or 0 for n in unrehearsed) / 3600

    def disk(self, stages: frozenset[str] = frozenset(), *, before: float = 0.0) -> list[MemoryLevel]:
        """Return the store's bytes at each node, starting from ``before``.

        Artefacts of ``stages`` are removed after their last use.
        """

        def sizes(node: Node) -> tuple[float, float]:
            cost = self.work_of(node)
            return cost.stored or 0.0, cost.beside

        stored_ids = {fingerprint for fingerprint, state in self.plan.states.items() if state == "stored"}
        consumers = Consumers(self.plan.ends, self.plan.nodes, self.nodes, stored_ids, stages)
        return levels(readers_first(self.nodes, stages), consumers, sizes, before=before)

    def fullest(self, stages: frozenset[str] = frozenset(), *, before: float = 0.0) -> MemoryLevel | None:
        """Return the highest disk use if ``stages`` are discarded after use, or None without nodes."""
        return fullest_level(self.disk(stages, before=before))

    def bytes_stored(self, root: Path) -> float:
        stored_nodes = (n for n in self.plan.nodes if self.plan.states.get(n.fingerprint) == "stored")
        return float(sum(size_on_disk(root / node.stage / node.fingerprint) for node in stored_nodes))

    def work_of(self, node: Node) -> Work:
        return self.works.get(node.fingerprint) or work(node)

    @cached_property
    def downloads(self) -> dict[int | str, int | None]:
        """Archive to download -> its bytes, or None if unknown."""
        names = (n.params["dataset"] for n in self._missing() if n.stage in PIECES)
        return archives(id for id in dict.fromkeys(names) if id in catalog())

    @cached_property
    def checkpoints(self) -> list[str]:
        return sorted({n.params["name"] for n in self._missing() if n.stage in ("backbone", "released")})

    def _missing(self) -> list[Node]:
        return [n for n in self.nodes if n.fingerprint in self.plan.machine.obstacles]


def estimate(plan: Plan, throughput: Throughput | None, rehearsals: Rehearsals | None = None) -> Estimate:
    """Return the cost of the nodes to run under the current REPRO_ variables."""
    memory, packs = (throughput.memory, throughput.packs) if throughput else (None, True)
    nodes, batching = plan.needed(), Batching.of(os.environ, memory, packs=packs)
    works = {n.fingerprint: work(n, batching) for n in nodes}
    return Estimate(plan, nodes, works, throughput, rehearsals or {})


def keep_within(cost: Estimate, hours: float, *, other_machine: bool = False) -> float:
    """Block the first node beyond a budget of hours and all later ones. Return the hours of those before.

    Nodes that cannot run cost nothing. ``other_machine`` ignores obstacles of this one. Raises UsageError.
    """
    if not hours >= 0:
        raise UsageError(f"--max-gpu-hours is {hours}, but must be 0 or more, e.g. 8")
    if cost.throughput is None:
        remedy = "`repro doctor calibrate` measures this machine, --gpu names another"
        raise UsageError(f"a budget needs a throughput: {remedy}")
    spent, is_over, plan = 0.0, False, cost.plan
    cause = f"the budget of {hours:g} {cost.throughput.unit} hours is spent"
    for node in cost.nodes:
        node_hours, obstacles = cost.hours_of(node), plan.obstacles(node)
        if node_hours == 0 or any(not (other_machine and o.of_machine) for o in obstacles):
            continue
        if is_over or node_hours is None or spent + node_hours > hours:
            is_over = True
            plan.machine.obstacles[node.fingerprint] = Obstacle(cause, "give more with --max-gpu-hours")
        else:
            spent += node_hours
    return spent
